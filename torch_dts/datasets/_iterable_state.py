# SPDX-License-Identifier: Apache-2.0
"""Where the iteration over a DTSIterableDataset is, and how it goes on elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from torch.utils.data import get_worker_info

from torch_dts.datasets._checked_state import (
    VERSION,
    check_facts,
    check_int,
    check_keys,
    check_parts,
    check_seed,
    problem,
    read_parts,
    refused,
    split_parts,
    with_part,
)
from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._shares import Part, RankShare

if TYPE_CHECKING:
    from torch_dts.datasets._iterable import DTSIterableDataset

_KEYS = ("version", "epoch", "seed", "parts", "worker", "order", "fingerprint")


class Place(NamedTuple):
    """Where an iteration is.

    Attributes:
        epoch, seed: Of the order.
        parts: What numbers of ranks have done of the epoch.
        worker: ``(worker, num_workers, batch_size, samples taken)`` of a DataLoader's worker that
            shares the rest with others; None: it is all there is.
    """

    epoch: int
    seed: int
    parts: tuple[Part, ...] = ()
    worker: tuple[int, int, int, int] | None = None


@dataclass
class Position:
    """How far an iteration is; what iterates counts here.

    Attributes:
        place: Where it began.
        share: What the process takes of the rest of the epoch.
        num_delivered: Samples, since.
        is_over: All of them.
    """

    place: Place
    share: Share
    num_delivered: int = 0
    is_over: bool = False

    def order_of(self, dataset: DTSIterableDataset) -> EpochOrder:
        """The epoch's rest, for this rank."""
        order = dataset._order(self.place.seed, self.place.epoch)
        before, num_skipped = split_parts(self.place.parts, order.num_replicas)
        return replace(order, before=before, num_skipped=num_skipped)

    def rest_of_share(self) -> Share:
        """What the process takes, without what it took before."""
        worker = self.place.worker
        return self.share if worker is None else replace(self.share, num_skipped=worker[3])

    def now(self, dataset: DTSIterableDataset) -> dict[str, Any]:
        """The state; behind the end it is at the end of its epoch."""
        order, share = self.order_of(dataset), self.rest_of_share()
        consumed, worker = order.num_skipped, None
        if share.num_workers > 1:
            taken = share.num_skipped + self.num_delivered
            worker = (share.worker, share.num_workers, share.batch_size, taken)
        elif self.is_over:
            consumed = order.longest(len(dataset.file))
        else:
            consumed += self.num_delivered
        parts = with_part(order.before, order.num_replicas, consumed)
        return written(dataset, self.place._replace(parts=parts, worker=worker))


class StreamIterator(Iterator[tuple[Any, Any]]):
    """Yields the samples that a process takes of an epoch, and knows where it is.

    Args:
        dataset: Iterated over.
        position: Where it begins.
        rank_share: Takes the place of what the dataset says of the rank's samples.
    """

    def __init__(
        self, dataset: DTSIterableDataset, position: Position, rank_share: RankShare | None = None
    ) -> None:
        self._dataset = dataset
        self._position = position
        self._rank_share = rank_share
        self._items: Iterator[tuple[Any, Any]] | None = None

    def __next__(self) -> tuple[Any, Any]:
        position = self._position
        if self._items is None:
            order = position.order_of(self._dataset)
            self._items = self._dataset._items(order, position.rest_of_share(), self._rank_share)
        try:
            item = next(self._items)
        except StopIteration:
            position.is_over = True
            raise
        position.num_delivered += 1
        return item

    def close(self) -> None:
        """Ends the iteration, and its reading ahead."""
        items, self._items = self._items, iter(())
        if isinstance(items, Generator):
            items.close()

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is now; behind its end it is at the end of its epoch."""
        return self._position.now(self._dataset)

    def load_state_dict(self, state: Any) -> None:
        """Goes on where `state` was saved; nothing may have been delivered.

        Raises:
            ValueError: It does not fit.
            RuntimeError: Samples were delivered.
        """
        place = read(state, self._dataset)
        check_worker(place, self._position.share, self._dataset.num_replicas)
        if self._items is not None:
            raise RuntimeError("load_state_dict comes too late: the iteration has begun")
        self._position.place = place
        # Whatever epoch was claimed for this iteration, the next one is the next.
        self._dataset._clock.set_next((place.epoch + 1) % (1 << 32))


class StreamResume:
    """The state of a DTSIterableDataset: of its latest iteration here, or of the epoch that comes next."""

    def __init__(self) -> None:
        self._latest: Position | None = None
        self._is_elsewhere = False
        self._num_by_workers = 0
        self._pending: Place | None = None
        self._is_of_worker = False

    def begin(self, dataset: DTSIterableDataset, epoch: int, seed: int, share: Share) -> Position:
        """An iteration of the epoch that was claimed, or of that of the state that was loaded."""
        pending, self._pending = self._pending, None
        place = Place(epoch, seed)
        if pending is not None and self._is_of_worker:
            # The workers of a loader get their states one by one, and have claimed some epoch.
            place = pending
            dataset._clock.set_next((place.epoch + 1) % (1 << 32))
        elif pending is not None and pending.epoch == epoch:
            place = pending
        check_worker(place, share, dataset.num_replicas)
        self._latest = Position(place, share)
        self._is_elsewhere = False
        self._num_by_workers = dataset._clock.num_by_workers
        return self._latest

    def leave(self) -> None:
        """A loader has claimed an epoch and iterates by itself.

        Raises:
            ValueError: A state was loaded into the dataset.
        """
        if self._pending is not None:
            raise ValueError(
                "a state was loaded into the dataset, but a torch_dts.DataLoader over it reads by itself: "
                "load the state of a DataLoader into the DataLoader"
            )
        self._is_elsewhere = True

    def state_dict(self, dataset: DTSIterableDataset) -> dict[str, Any]:
        """As of DTSIterableDataset."""
        clock = dataset._clock
        if self._pending is not None and (self._is_of_worker or self._pending.epoch == clock.next_epoch):
            return written(dataset, self._pending)
        by_workers = get_worker_info() is None and clock.num_by_workers != self._num_by_workers
        if self._is_elsewhere or by_workers:
            raise RuntimeError(
                "the samples of this dataset are delivered by worker processes or by a torch_dts.DataLoader, "
                "so it does not know how many: ask torch_dts.DataLoader, or torchdata's StatefulDataLoader, "
                "for its state"
            )
        latest = self._latest
        if self._pending is None and latest is not None and not latest.is_over:
            return latest.now(dataset)
        num_replicas = dataset.num_replicas
        given = 0 if dataset.seed is None and num_replicas > 1 else dataset.seed
        seed = clock.drawn_seed() if given is None else given
        return written(dataset, Place(clock.next_epoch, seed, (Part(num_replicas, 0),)))

    def load(self, dataset: DTSIterableDataset, state: Any) -> None:
        """As of DTSIterableDataset."""
        place = read(state, dataset)
        self._is_of_worker = get_worker_info() is not None
        if not self._is_of_worker:
            if place.worker is not None:
                raise refused(f"it is of worker {place.worker[0]} of {place.worker[1]} of a DataLoader")
            dataset._clock.set_next(place.epoch)
            self._is_elsewhere = False
            self._num_by_workers = dataset._clock.num_by_workers
        self._pending = place

    def __getstate__(self) -> dict[str, Any]:
        return {"pending": self._pending}

    def __setstate__(self, state: dict[str, Any]) -> None:
        StreamResume.__init__(self)
        self._pending = state["pending"]


def written(dataset: DTSIterableDataset, place: Place) -> dict[str, Any]:
    """The state as a dict of plain values."""
    return {
        "version": VERSION,
        "epoch": place.epoch,
        "seed": place.seed,
        "parts": [list(part) for part in place.parts],
        "worker": None if place.worker is None else list(place.worker),
        "order": _facts(dataset),
        "fingerprint": dataset.file.fingerprint,
    }


def read(state: Any, dataset: DTSIterableDataset) -> Place:
    """The place that a state tells; a seed that wasn't given is taken over.

    Raises:
        ValueError: It is no such state, or of another dataset.
    """
    state = check_keys(state, _KEYS)
    check_facts(state, _facts(dataset), dataset.file.fingerprint)
    seed = check_int("seed", state["seed"], -(1 << 64), 1 << 64)
    given = 0 if dataset.seed is None and dataset.num_replicas > 1 else dataset.seed
    if given is not None:
        check_seed("seed", seed, given)
    worker = state["worker"]
    if worker is not None:
        if not isinstance(worker, (list, tuple)) or len(worker) != 4:
            raise problem("worker", worker, "None or [worker, num_workers, batch_size, samples taken]")
        worker = tuple(check_int("worker", number) for number in worker)
    epoch = check_int("epoch", state["epoch"], 0, 1 << 32)
    place = Place(epoch, seed, read_parts(state["parts"]), worker)
    if worker is None:
        check_parts(place.parts, len(dataset.file))
    if given is None:
        dataset._clock.adopt(seed)
    return place


def check_worker(place: Place, share: Share, num_replicas: int) -> None:
    """Raises ValueError where a place is that of another worker, or of one of other ranks."""
    if place.worker is None:
        return
    here = (share.worker, share.num_workers, share.batch_size)
    if place.worker[:3] != here or not place.parts or place.parts[-1].num_replicas != num_replicas:
        of = place.parts[-1].num_replicas if place.parts else None
        raise problem(
            "[worker, num_workers, batch_size], num_replicas", (place.worker[:3], of), (here, num_replicas)
        )


def _facts(dataset: DTSIterableDataset) -> dict[str, Any]:
    has_window = dataset.shuffle and dataset.file.header.has_blocks
    return {
        "num_samples": len(dataset.file),
        "shuffle": dataset.shuffle,
        "shuffle_window": dataset.shuffle_window if has_window else None,
        "drop_last": dataset.drop_last,
        "uneven": dataset.uneven,
    }
