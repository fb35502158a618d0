# SPDX-License-Identifier: Apache-2.0
"""Saved states: what they have in common, and the errors for those that don't fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch_dts.datasets._shares import MOST_REPLICAS, Part

VERSION = 1


def check_keys(state: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """`state`, a dict of this version with these keys.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(state, Mapping):
        raise refused(f"it is of type {type(state).__name__}, expected a dict that state_dict() returned")
    if state.get("version") != VERSION or isinstance(state.get("version"), bool):
        raise problem("version", state.get("version"), VERSION)
    if set(state) != set(keys):
        found, expected = sorted(map(str, state)), sorted(keys)
        raise refused(f"its keys are {_short(found)}, expected {expected}")
    return state


def check_facts(state: Mapping[str, Any], order: Mapping[str, Any], fingerprint: str) -> None:
    """Raises ValueError where a state is of another dataset, or of another order of it."""
    if state["fingerprint"] != fingerprint:
        raise problem("the dataset's fingerprint", state["fingerprint"], fingerprint, ", that of the dataset")
    found = state["order"]
    if not isinstance(found, Mapping):
        raise problem("order", found, order)
    for name in [*order, *found]:
        if found.get(name) != order.get(name):
            known_as = "order" if name == "kind" else name
            raise problem(known_as, found.get(name), order.get(name), " as here")


def check_seed(name: str, found: int | None, expected: int | None) -> None:
    """Raises ValueError where a state's seed isn't the one given; seeds count modulo 2^64."""
    if found is None or expected is None or (found - expected) % 2**64:
        raise problem(name, found, expected, " as here")


def check_int(name: str, value: Any, least: int = 0, end: int = 1 << 62) -> int:
    """`value`, an int of ``[least, end)``.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise problem(name, value, f"an int from {least} to {end - 1}")
    return value


def read_parts(found: Any) -> tuple[Part, ...]:
    """What numbers of ranks did of an epoch.

    Raises:
        ValueError: It is something else.
    """
    expected = "a list of pairs [num_replicas, samples consumed per rank]"
    if not isinstance(found, (list, tuple)) or len(found) > 10_000:
        raise problem("parts", found, expected)
    made = []
    for pair in found:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise problem("parts", found, expected)
        num_replicas = check_int("parts: num_replicas", pair[0], 1, MOST_REPLICAS + 1)
        made.append(Part(num_replicas, check_int("parts: samples consumed", pair[1])))
    return tuple(made)


def check_parts(parts: Iterable[Part], num_samples: int, is_elastic: bool = False) -> None:
    """Raises ValueError where ranks have done more of an epoch than there was for them.

    Args:
        parts: From `read_parts`.
        num_samples: Of the epoch.
        is_elastic: Ranks take batches in turn, not ranges.
    """
    num_left = num_samples
    for num_replicas, consumed in parts:
        least, longest = num_left // num_replicas, -(-num_left // num_replicas)
        if consumed > longest:
            most = f"at most {longest}, as {num_left} were left for {num_replicas} ranks"
            raise problem("parts: samples consumed", consumed, most)
        if is_elastic:
            num_left = max(0, num_left - consumed * num_replicas)
        else:
            num_left = num_left - consumed * num_replicas if consumed <= least else 0


def with_part(parts: Iterable[Part], num_replicas: int, consumed: int) -> tuple[Part, ...]:
    """`parts` and what these ranks have done since; more of what the same number of ranks did is one part."""
    made = [part for part in parts if part.consumed]
    if made and made[-1].num_replicas == num_replicas:
        consumed += made.pop().consumed
    return (*made, Part(num_replicas, consumed))


def split_parts(parts: Iterable[Part], num_replicas: int) -> tuple[tuple[Part, ...], int]:
    """For ranks that go on: what others did before, and what each of them delivered since."""
    made = tuple(part for part in parts if part.consumed)
    if made and made[-1].num_replicas == num_replicas:
        return made[:-1], made[-1].consumed
    return made, 0


def problem(name: str, found: Any, expected: Any, whose: str = "") -> ValueError:
    """The error that names what was found in a state and what was expected."""
    return refused(f"{name} is {_short(found)} in it, expected {expected}{whose}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def refused(reason: str) -> ValueError:
    """The error for a state that doesn't fit."""
    return ValueError(f"this state can't be loaded: {reason}")
