# SPDX-License-Identifier: Apache-2.0
"""The state of a sampler that says itself what it delivers, as of the beginning of an epoch.

A sampler with ``state_dict`` and ``load_state_dict`` is asked for its state. Of any other the
state is that of the generator it draws from: its own, or torch's default one, from which
torch's samplers draw when their first index is asked for.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterable, Iterator
from typing import Any

import torch

STATE_DICT, GENERATOR, DEFAULT_GENERATOR = "state_dict", "generator", "default_generator"


class SamplerState:
    """Reads and sets the state of a sampler, and of those it draws from.

    Args:
        sampler: A sampler or batch sampler.
    """

    def __init__(self, sampler: Any) -> None:
        # A batch sampler of torch's draws from another sampler.
        self._chain = [sampler]
        while (inner := getattr(self._chain[-1], "sampler", None)) is not None and len(self._chain) < 9:
            self._chain.append(inner)

    def now(self) -> dict[str, Any]:
        """The state as it is now: plain values, but for what the sampler's own state_dict holds."""
        kind, owner = self._owner()
        if kind == STATE_DICT:
            state: Any = copy.deepcopy(owner.state_dict())
        else:
            state = base64.b64encode(owner.get_state().numpy().tobytes()).decode()
        return {"type": self.type_name, "kind": kind, "state": state, "epoch": self._epoch()}

    @property
    def type_name(self) -> str:
        """The class of the sampler, and of those it draws from."""
        return " of ".join(type(sampler).__qualname__ for sampler in self._chain)

    def problem(self, state: Any) -> str | None:
        """What is wrong with a state for this sampler; None: nothing."""
        if not isinstance(state, dict) or set(state) != {"type", "kind", "state", "epoch"}:
            return f"the sampler's state is {_short(state)}, expected that of a {self.type_name}"
        if state["type"] != self.type_name:
            return f"the sampler is a {self.type_name}, in the state a {_short(state['type'])}"
        kind, owner = self._owner()
        if state["kind"] != kind:
            return f"the sampler's state is of kind {_short(state['kind'])}, expected {kind!r}"
        if state["epoch"] is not None and not isinstance(state["epoch"], int):
            return f"the sampler's epoch is {_short(state['epoch'])}, expected an int or None"
        if kind == STATE_DICT:
            return None
        try:
            torch.Generator(owner.device).set_state(_decoded(state["state"]))
        except (RuntimeError, TypeError, ValueError) as error:
            return f"the generator's state is {_short(state['state'])}: {error}"
        return None

    def load(self, state: dict[str, Any]) -> None:
        """Sets what a sampler keeps itself: its own state, its epoch. Generators are set by `replay`."""
        kind, owner = self._owner()
        if kind == STATE_DICT:
            owner.load_state_dict(copy.deepcopy(state["state"]))
        if state["epoch"] is not None and state["epoch"] != self._epoch():
            for sampler in self._with_epoch():
                sampler.set_epoch(state["epoch"])

    def replay(self, state: dict[str, Any], batches: Iterable[Any], num_skipped: int) -> Iterator[Any]:
        """Iterates over `batches` as an epoch that began with `state`.

        torch's default generator is as before after each step; what the sampler draws from it
        after the first ``num_skipped + 1`` steps is new.
        """
        kind, owner = self._owner()
        if kind != DEFAULT_GENERATOR:
            if kind == GENERATOR:
                owner.set_state(_decoded(state["state"]))
            return iter(batches)
        return _Lent(batches, _decoded(state["state"]), num_skipped + 1)

    def _owner(self) -> tuple[str, Any]:
        for sampler in self._chain:
            if callable(getattr(sampler, "state_dict", None)) and callable(
                getattr(sampler, "load_state_dict", None)
            ):
                return STATE_DICT, sampler
        for sampler in self._chain:
            generator = getattr(sampler, "generator", None)
            if isinstance(generator, torch.Generator):
                return GENERATOR, generator
        return DEFAULT_GENERATOR, torch.default_generator

    def _with_epoch(self) -> list[Any]:
        return [
            sampler
            for sampler in self._chain
            if isinstance(getattr(sampler, "epoch", None), int)
            and callable(getattr(sampler, "set_epoch", None))
        ]

    def _epoch(self) -> int | None:
        found = self._with_epoch()
        return int(found[0].epoch) if found else None


class Recorded:
    """Iterates over a sampler and notes the state that it had before its first index.

    Args:
        sampler: Whose state is noted.
        batches: What is iterated over.
        saved: An epoch that began with this state is continued; None: a new one begins.
        num_skipped: Of an epoch continued, what was delivered before.
    """

    def __init__(
        self, sampler: Any, batches: Iterable[Any], saved: dict[str, Any] | None = None, num_skipped: int = 0
    ) -> None:
        self._sampler = SamplerState(sampler)
        self._noted = saved
        self._drawn: list[Any] = []
        self._error: Exception | None = None
        if saved is not None:
            self._iterator = self._sampler.replay(saved, batches, num_skipped)
            return
        before = self._sampler.now()
        self._iterator = iter(batches)
        # One that has drawn already began here, and so does one that keeps its state itself. torch's
        # begin with their first index, before which the caller may draw.
        if before["kind"] == STATE_DICT or self._sampler.now() != before:
            self._noted = before

    def __iter__(self) -> Recorded:
        return self

    def __next__(self) -> Any:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._drawn:
            return self._drawn.pop()
        if self._noted is None:
            self._noted = self._sampler.now()
        return next(self._iterator)

    def state(self) -> dict[str, Any]:
        """The state that the epoch began with; it begins now if it hasn't."""
        if self._noted is None:
            self._noted = self._sampler.now()
            try:
                self._drawn.append(next(self._iterator))
            except StopIteration:
                pass
            except Exception as error:  # it comes in its place
                self._error = error
        return self._noted


class _Lent:
    """An iterator whose first steps draw from torch's default generator in a state of their own."""

    def __init__(self, batches: Iterable[Any], state: torch.Tensor, num_steps: int) -> None:
        self._state = state
        self._num_steps = num_steps
        self._batches = batches
        self._iterator: Iterator[Any] | None = None

    def __iter__(self) -> _Lent:
        return self

    def __next__(self) -> Any:
        if self._num_steps == 0 and self._iterator is not None:
            return next(self._iterator)
        self._num_steps -= 1
        callers = torch.default_generator.get_state()
        torch.default_generator.set_state(self._state)
        try:
            if self._iterator is None:
                self._iterator = iter(self._batches)
            return next(self._iterator)
        finally:
            self._state = torch.default_generator.get_state()
            torch.default_generator.set_state(callers)


def _decoded(state: Any) -> torch.Tensor:
    if not isinstance(state, str):
        raise TypeError(f"expected text in base64, not {type(state).__name__}")
    return torch.frombuffer(bytearray(base64.b64decode(state, validate=True)), dtype=torch.uint8)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
