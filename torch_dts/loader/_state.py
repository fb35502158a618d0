# SPDX-License-Identifier: Apache-2.0
"""The state of a loader as plain values, written and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch_dts.datasets._checked_state import (
    VERSION,
    check_facts,
    check_int,
    check_keys,
    check_parts,
    problem,
    read_parts,
)
from torch_dts.datasets._shares import Part

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


class Place(NamedTuple):
    """Where a loader is: the same on all ranks.

    Attributes:
        epoch: Its number.
        seed: Of the order; None: not known yet, or there is none.
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
    state = check_keys(state, _KEYS)
    check_facts(state, facts.order, facts.fingerprint)
    kind = facts.order["kind"]
    check_int("batch_size", state["batch_size"], 1)
    if kind in ("sampler", "iterable") and state["batch_size"] != facts.batch_size:
        raise problem("batch_size", state["batch_size"], facts.batch_size, " as in the loader")
    for name in ("seed", "choice_seed"):
        if kind != "iterable" or state[name] is not None:
            check_int(name, state[name], -(1 << 64), 1 << 64)
    check_int("num_repeated", state["num_repeated"])
    parts = read_parts(state["parts"])
    if kind in ("sampler", "iterable"):
        if parts:
            raise problem("parts", state["parts"], [], ", as a sampler or the dataset says the order")
    else:
        check_parts(parts, facts.order["num_samples"], facts.order["kind"] == "elastic")
        if state["sampler"] is not None:
            raise problem("sampler", state["sampler"], None, ", as the loader has an order of its own")
    if state["num_repeated"]:
        _check_repeated(state, parts, facts)
    return Place(
        epoch=check_int("epoch", state["epoch"], 0, 2**32),
        seed=state["seed"],
        choice_seed=state["choice_seed"],
        parts=parts,
        num_batches=check_int("num_batches", state["num_batches"]),
        sampler=state["sampler"],
        num_repeated=state["num_repeated"],
    )


def window_of(state: Any, otherwise: int) -> int:
    """The shuffle window of a state in blocks, 0 for "all"; `otherwise` where it has none."""
    order = state.get("order") if isinstance(state, Mapping) else None
    window = order.get("shuffle_window") if isinstance(order, Mapping) else None
    if window == "all":
        return 0
    if isinstance(window, int) and not isinstance(window, bool) and 1 <= window < 1 << 31:
        return window
    return otherwise  # `read` says what is wrong


def _check_repeated(state: Any, parts: tuple[Part, ...], facts: Facts) -> None:
    """The batches that are left of some samples are this loader's only where it makes the same ones."""
    if state["num_repeated"] >= facts.repeat:
        raise problem("num_repeated", state["num_repeated"], f"less than the loader's repeat={facts.repeat}")
    why = " as in the loader, in the middle of repeated batches"
    if state["batch_size"] != facts.batch_size:
        raise problem("batch_size", state["batch_size"], facts.batch_size, why)
    found = parts[-1].num_replicas if parts else facts.num_replicas
    if facts.num_replicas is not None and found != facts.num_replicas:
        raise problem("num_replicas", found, facts.num_replicas, why)
