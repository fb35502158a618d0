# SPDX-License-Identifier: Apache-2.0
"""Where a loader is in its epochs, and how an epoch goes on that was begun before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_dts.datasets._checked_state import check_seed, refused, split_parts, with_part
from torch_dts.datasets._epoch_agreement import EpochAgreement
from torch_dts.datasets._shares import Part
from torch_dts.loader._fingerprint import Fingerprints
from torch_dts.loader._sampler_state import Recorded, SamplerState
from torch_dts.loader._state import Facts, Place, read, written

if TYPE_CHECKING:
    from torch_dts.loader._epoch import Batching
    from torch_dts.loader._order import Order
    from torch_dts.loader._sampler import Epochs


@dataclass
class Delivered:
    """What an iterator has delivered, which counts here.

    Attributes:
        num_batches: So many batches; those with the same samples (``repeat=``) count as one, from the first.
        num_repeated: How many of the latest of these, where it wasn't all.
        is_all: It is at its end.
    """

    num_batches: int = 0
    num_repeated: int = 0
    is_all: bool = False


class Begun(NamedTuple):
    """An epoch that an iterator began.

    Attributes:
        place: Where it began.
        batching: How batches are made; its order, or its sampler's batches, are this iterator's.
        delivered: Counts.
    """

    place: Place
    batching: Batching
    delivered: Delivered

    def resumed(self) -> tuple[int, Order] | None:
        """The epoch and what is left of it, where it was begun before."""
        order = self.batching.order
        if order is None or not (order.before or order.num_skipped):
            return None
        return self.place.epoch, order

    def now(self) -> Place:
        """Where the iterator is now."""
        order, batches = self.batching.order, self.batching.batches
        num_batches = self.delivered.num_batches
        num_repeated = self.delivered.num_repeated if num_batches else self.place.num_repeated
        if num_repeated and num_batches:
            num_batches -= 1
        if order is None:
            return self.place._replace(
                num_repeated=num_repeated,
                num_batches=self.batching.num_skipped + num_batches,
                sampler=batches.state() if isinstance(batches, Recorded) else None,
            )
        # By what each rank was to deliver, which is the same on all.
        delivered = order.num_skipped + num_batches * self.batching.rule.batch_size
        parts = with_part(order.before, order.num_replicas, min(delivered, order.longest))
        return self.place._replace(parts=parts, num_repeated=num_repeated)


class Resume:
    """The state of one loader: that of its latest iterator or, behind its end, the epoch that comes next.

    Attributes:
        agreement: Compares its epochs with those of other ranks.
    """

    def __init__(self) -> None:
        self._fingerprints = Fingerprints()
        self._begun: Begun | None = None
        self._facts: Facts | None = None  # of `_begun`
        self._pending: Place | None = None
        self.agreement = EpochAgreement()

    @property
    def completed(self) -> int | None:
        """The epoch of the latest iterator, if that came to its end."""
        begun = self._begun
        return begun.place.epoch if begun is not None and begun.delivered.is_all else None

    def begin(self, batching: Batching, seed: int | None, choice_seed: int | None, epoch: int) -> Begun:
        """Begins an epoch, or goes on with the one of the state that was loaded.

        Args:
            batching: How the loader makes batches.
            seed, choice_seed, epoch: As they were claimed.
        """
        pending, self._pending = self._pending, None
        is_resumed = pending is not None and pending.epoch == epoch
        place = pending if pending is not None and is_resumed else Place(epoch, seed, choice_seed)
        batches = batching.batches
        if batching.order is None and batching.sampler is not None:
            saved = place.sampler if is_resumed else None
            batches = Recorded(batching.sampler, batches, saved, place.num_batches)
        batching = replace(
            batching,
            order=None if batching.order is None else _rest_of(batching.order, place.parts),
            batches=batches,
            num_skipped=place.num_batches,
        )
        self._begun = Begun(place, batching, Delivered())
        self._facts = None
        return self._begun

    def state_dict(
        self, dataset: Any, batching: Batching, epochs: Epochs, seed: int | None
    ) -> dict[str, Any]:
        """The loader's state.

        Args:
            dataset: The loader's.
            batching: How it makes batches now.
            epochs: Counts its epochs.
            seed: The loader's own.
        """
        pending, begun = self._pending, self._begun
        if pending is not None and pending.epoch == epochs.next_epoch:
            return written(pending, self._facts_of(dataset, batching))
        if pending is None and begun is not None and not begun.delivered.is_all:
            if self._facts is None:
                self._facts = self._facts_of(dataset, batching)
            place = begun.now()
            if place.seed is None and begun.batching.order is not None:  # worker processes claimed it
                place = place._replace(seed=epochs.seed, choice_seed=epochs.seed)
            return written(place, self._facts)
        return written(self._next_epoch(batching, epochs, seed), self._facts_of(dataset, batching))

    def load(self, state: Any, dataset: Any, batching: Batching, epochs: Epochs, seed: int | None) -> None:
        """Takes over a state: the next epoch to begin goes on from there.

        Args: as of `state_dict`.

        Raises:
            ValueError: It does not fit; nothing has changed.
        """
        place = read(state, self._facts_of(dataset, batching))
        if place.seed is not None:
            if epochs.given_seed is not None:
                check_seed("seed", place.seed, epochs.given_seed)
            check_seed("choice_seed", place.choice_seed, place.seed if seed is None else seed)
        if batching.order is None and batching.sampler is not None:
            sampler = SamplerState(batching.sampler)
            problem = sampler.problem(place.sampler)
            if problem is not None:
                raise refused(problem)
            sampler.load(place.sampler or {})
        if place.seed is not None:
            epochs.adopt(place.seed)
        epochs.set_next(place.epoch)
        self._pending = place

    def _next_epoch(self, batching: Batching, epochs: Epochs, seed: int | None) -> Place:
        order = batching.order
        if order is None and batching.sampler is None:
            return Place(epochs.next_epoch)
        order_seed = epochs.seed
        choice_seed = order_seed if seed is None else seed
        if order is not None:
            return Place(epochs.next_epoch, order_seed, choice_seed, (Part(order.num_replicas, 0),))
        now = SamplerState(batching.sampler).now()
        return Place(epochs.next_epoch, order_seed, choice_seed, sampler=now)

    def _facts_of(self, dataset: Any, batching: Batching) -> Facts:
        order = batching.order
        facts: dict[str, Any] = {"kind": "iterable" if batching.sampler is None else "sampler"}
        if order is not None:
            facts = {**order.facts(), "drop_last": order.drop_last, "last_batch": batching.rule.last_batch}
        return Facts(
            facts,
            batching.rule.batch_size,
            self._fingerprints.of(dataset),
            batching.repeat,
            None if order is None else order.num_replicas,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"pending": self._pending}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Resume.__init__(self)
        self._pending = state["pending"]


def _rest_of(order: Order, parts: tuple[Part, ...]) -> Order:
    if order.elastic_batch:
        return replace(order, before=tuple(part for part in parts if part.consumed))
    before, num_skipped = split_parts(parts, order.num_replicas)
    return replace(order, before=before, num_skipped=num_skipped)
