# SPDX-License-Identifier: Apache-2.0
"""The state of a loader as plain values, written and checked (docs/order.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from torch_dts.datasets._rest import MOST_REPLICAS, Part

VERSION = 1
_KEYS = (
    "version",
    "epoch",
    "seed",
    "choice_seed",
    "parts",
    "num_batches",
    "num_repeated",
    "sampler",
    "batch_size",
    "order",
    "fingerprint",
)
_MOST = 1 << 62


class Place(NamedTuple):
    """Where a loader is: the same on all ranks.

    Attributes:
        epoch: Its number.
        seed: Of the order; None: there is none.
        choice_seed: Of the random choices about samples.
        parts: What numbers of ranks have done of the epoch, where its order is known.
        num_batches: Batches delivered, where a sampler says the order.
        sampler: That sampler's state when the epoch began.
        num_repeated: Batches delivered beyond these of those with the same samples (``repeat=``).
    """

    epoch: int
    seed: int | None = None
    choice_seed: int | None = None
    parts: tuple[Part, ...] = ()
    num_batches: int = 0
    sampler: dict[str, Any] | None = None
    num_repeated: int = 0


class Facts(NamedTuple):
    """What a state must fit to.

    Attributes:
        order: What decides the order beside seed, epoch and ranks.
        batch_size: Samples of a batch.
        fingerprint: Of the dataset.
        repeat: Batches of the same samples.
        num_replicas: Of the loader; None: a sampler says the order.
    """

    order: dict[str, Any]
    batch_size: int
    fingerprint: str
    repeat: int = 1
    num_replicas: int | None = None


def written(place: Place, facts: Facts) -> dict[str, Any]:
    """The state as a dict of plain values, its own copy of them."""
    return {
        "version": VERSION,
        "epoch": place.epoch,
        "seed": place.seed,
        "choice_seed": place.choice_seed,
        "parts": [list(part) for part in place.parts],
        "num_batches": place.num_batches,
        "num_repeated": place.num_repeated,
        "sampler": None if place.sampler is None else dict(place.sampler),
        "batch_size": facts.batch_size,
        "order": dict(facts.order),
        "fingerprint": facts.fingerprint,
    }


def read(state: Any, facts: Facts) -> Place:
    """The place that a state tells, for a loader of these facts.

    Raises:
        ValueError: It is no such state, or of another loader: with what was found and expected.
    """
    if not isinstance(state, Mapping):
        raise _problem("it", type(state).__name__, "a dict that state_dict() returned")
    if state.get("version") != VERSION or isinstance(state.get("version"), bool):
        raise _problem("its version", state.get("version"), VERSION)
    if set(state) != set(_KEYS):
        raise _problem("its keys", sorted(map(str, state)), sorted(_KEYS))
    if state["fingerprint"] != facts.fingerprint:
        raise _problem(
            "the dataset's fingerprint",
            state["fingerprint"],
            facts.fingerprint,
            ", that of the loader's dataset",
        )
    order: Any = state["order"]
    if not isinstance(order, Mapping):
        raise _problem("order", order, facts.order)
    for name in [*facts.order, *order]:
        if order.get(name) != facts.order.get(name):
            raise _problem(name, order.get(name), facts.order.get(name), " as in the loader")
    _check_int("batch_size", state["batch_size"], 1)
    if facts.order["kind"] in ("sampler", "iterable") and state["batch_size"] != facts.batch_size:
        raise _problem("batch_size", state["batch_size"], facts.batch_size, " as in the loader")
    _check_int("epoch", state["epoch"], 0, 2**32)
    _check_int("num_batches", state["num_batches"], 0)
    _check_int("num_repeated", state["num_repeated"], 0)
    for name in ("seed", "choice_seed"):
        value = state[name]
        if not (isinstance(value, int) and not isinstance(value, bool)) and facts.order["kind"] != "iterable":
            raise _problem(name, value, "an int")
    parts = _parts(state["parts"])
    if state["num_repeated"]:
        _check_repeated(state, parts, facts)
    return Place(
        epoch=state["epoch"],
        seed=state["seed"],
        choice_seed=state["choice_seed"],
        parts=parts,
        num_batches=state["num_batches"],
        sampler=state["sampler"],
        num_repeated=state["num_repeated"],
    )


def _check_repeated(state: Any, parts: tuple[Part, ...], facts: Facts) -> None:
    """The batches that are left of some samples are this loader's only where it makes the same ones."""
    if state["num_repeated"] >= facts.repeat:
        raise _problem("num_repeated", state["num_repeated"], f"less than the loader's repeat={facts.repeat}")
    why = " as in the loader, in the middle of repeated batches"
    if state["batch_size"] != facts.batch_size:
        raise _problem("batch_size", state["batch_size"], facts.batch_size, why)
    found = parts[-1].num_replicas if parts else facts.num_replicas
    if facts.num_replicas is not None and found != facts.num_replicas:
        raise _problem("num_replicas", found, facts.num_replicas, why)


def check_seed(name: str, found: int | None, expected: int | None) -> None:
    """Raises ValueError where a state's seed isn't the loader's; seeds count modulo 2^64."""
    if found is None or expected is None or (found - expected) % 2**64:
        raise _problem(name, found, expected, ", the loader's")


def refused(problem: str) -> ValueError:
    """The error for a state that doesn't fit."""
    return ValueError(f"this state can't be loaded: {problem}")


def with_part(parts: Iterable[Part], num_replicas: int, consumed: int) -> tuple[Part, ...]:
    """`parts` and what these ranks have done since; more of what the same number of ranks did is one part."""
    made = [part for part in parts if part.consumed]
    if made and made[-1].num_replicas == num_replicas:
        consumed += made.pop().consumed
    return (*made, Part(num_replicas, consumed))


def _parts(found: Any) -> tuple[Part, ...]:
    expected = "a list of pairs [num_replicas, samples consumed per rank]"
    if not isinstance(found, (list, tuple)):
        raise _problem("parts", found, expected)
    made = []
    for pair in found:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise _problem("parts", found, expected)
        _check_int("parts: num_replicas", pair[0], 1, MOST_REPLICAS + 1)
        _check_int("parts: samples consumed", pair[1], 0)
        made.append(Part(*pair))
    return tuple(made)


def _check_int(name: str, value: Any, least: int, end: int = _MOST) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise _problem(name, value, f"an int from {least} to {end - 1}")


def _problem(name: str, found: Any, expected: Any, whose: str = "") -> ValueError:
    text = repr(found)
    found = text if len(text) <= 200 else text[:197] + "..."
    return refused(f"{name} is {found} in it, expected {expected}{whose}")
