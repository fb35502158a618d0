# SPDX-License-Identifier: Apache-2.0
"""The samplers of a loader: real torch samplers that give the dataset's indices in our order.

They subclass torch's own, so that trainers see which of them shuffles, and count epochs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sized
from dataclasses import replace
from typing import Any

import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from torch_dts.datasets import DTSIterableDataset
from torch_dts.datasets._shares import Uneven, check_uneven
from torch_dts.loader._order import Order

_MAX_EPOCH = 2**32 - 1


class EpochCounter:
    """Seed and epoch of each iteration.

    Args:
        seed: None: 0 where `is_sharded`, else one draw when the first epoch begins.
        generator: Drawn from; None: torch's default generator.
        is_sharded: Ranks share the epoch, so they need one seed.
    """

    def __init__(
        self, seed: int | None, generator: torch.Generator | None = None, is_sharded: bool = False
    ) -> None:
        self.given_seed = seed
        self._seed = 0 if seed is None and is_sharded else seed
        self._generator = generator
        self._next_epoch = 0
        self._was_said = False

    @property
    def seed(self) -> int:
        """The seed; drawn now where none was given."""
        if self._seed is None:
            word = torch.empty((), dtype=torch.int64, device="cpu").random_(generator=self._generator)
            self._seed = int(word.item())
        return self._seed

    def adopt(self, seed: int) -> None:
        """Takes the seed of a saved state, where none was given."""
        self._seed = seed

    @property
    def next_epoch(self) -> int:
        """What `claim` would return."""
        return self._next_epoch

    def claim(self) -> tuple[int, int]:
        """Begins an iteration: its seed and its epoch. The next one has the next epoch."""
        epoch = self._next_epoch
        self._next_epoch = (epoch + 1) % (_MAX_EPOCH + 1)
        return self.seed, epoch

    def set_next(self, epoch: int) -> None:
        """The next iteration to begin has this epoch.

        Raises:
            ValueError: It is outside of ``[0, 2^32)``.
        """
        epoch = operator.index(epoch)
        if not 0 <= epoch <= _MAX_EPOCH:
            raise ValueError(f"epoch is {epoch}, expected 0 to {_MAX_EPOCH}")
        self._next_epoch = epoch
        self._was_said = True

    def take_was_said(self) -> bool:
        """Whether `set_next` was called since this was last asked."""
        was_said, self._was_said = self._was_said, False
        return was_said


class _Ordered:
    """What both samplers have: an order and a counter of epochs."""

    data_source: Sized
    epochs: EpochCounter
    _order: Order

    @property
    def order(self) -> Order:
        """What decides the order; a dataset may change its length between epochs."""
        return replace(self._order, num_samples=len(self.data_source))

    def use_window(self, shuffle_window: int) -> None:
        """Shuffles with this window, in blocks, from the next epoch on; 0: uniformly."""
        self._order = replace(self._order, shuffle_window=shuffle_window)

    @property
    def num_replicas(self) -> int:
        """The number of ranks that share the dataset."""
        return self._order.num_replicas

    @property
    def rank(self) -> int:
        """The rank whose part this is."""
        return self._order.rank

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, each later one the next number.

        Raises:
            ValueError: It is outside of ``[0, 2^32)``.
        """
        self.epochs.set_next(epoch)

    def __len__(self) -> int:
        """Samples of this rank."""
        return len(self.order)

    def __iter__(self) -> Iterator[int]:
        """Begins an epoch: the dataset's indices, in the order a loader delivers them."""
        return iter(self.order.to_dataset(self.order.stream(*self.epochs.claim()).all_ids).tolist())

    def __repr__(self) -> str:
        order = self.order
        ranks = f", rank {order.rank} of {order.num_replicas}" if order.num_replicas > 1 else ""
        return f"{type(self).__name__}({len(self)} of {order.num_samples} samples{ranks})"


class ShuffledSampler(_Ordered, RandomSampler):
    """Dataset indices, shuffled anew in each epoch (docs/format.md section 5).

    Args:
        data_source: The dataset.
        order: What decides the order.
        epochs: Counts the epochs.
        generator: Kept as an attribute, as RandomSampler does.

    Raises:
        ValueError: The dataset is empty (torch's own error).
    """

    def __init__(
        self, data_source: Sized, order: Order, epochs: EpochCounter, generator: torch.Generator | None = None
    ) -> None:
        RandomSampler.__init__(self, data_source, generator=generator)
        self._order = order
        self.epochs = epochs


class PlainSampler(_Ordered, SequentialSampler):
    """Dataset indices in the dataset's order: all, or a rank's part of them.

    Args:
        data_source: The dataset.
        order: What decides the order.
        epochs: Counts the epochs, which random transforms go by.
    """

    def __init__(self, data_source: Sized, order: Order, epochs: EpochCounter) -> None:
        SequentialSampler.__init__(self, data_source)
        self._order = order
        self.epochs = epochs


OwnSampler = ShuffledSampler | PlainSampler


class _Seen(int):
    """An epoch number of a foreign sampler that was read: an int that can be told from any other."""


class DistributedEpochs:
    """Reads seed and epoch off a torch DistributedSampler.

    ``set_epoch`` there stores a plain int. The number read is put back as one of ours, equal
    but of another type, so that the next iteration sees whether a new one was set since.
    Without that each iteration is a new epoch, where torch repeats the old one.
    """

    def __init__(self, sampler: DistributedSampler[Any]) -> None:
        self._sampler = sampler
        self._last_read: object = None
        self._next_epoch = 0
        self._was_said = False
        if not isinstance(sampler.epoch, _Seen):  # what it has before anybody says one
            sampler.epoch = _Seen(sampler.epoch)

    @property
    def seed(self) -> int:
        """The sampler's seed."""
        return self._sampler.seed

    @property
    def given_seed(self) -> int:
        """The sampler's seed: it always has one."""
        return self._sampler.seed

    def adopt(self, seed: int) -> None:
        """Nothing: the seed is the sampler's."""

    @property
    def next_epoch(self) -> int:
        """What `claim` would return."""
        epoch: Any = self._sampler.epoch
        if isinstance(epoch, _Seen) and epoch is self._last_read:
            return self._next_epoch
        return int(epoch) % (_MAX_EPOCH + 1)

    def claim(self) -> tuple[int, int]:
        """Begins an iteration: its seed and its epoch."""
        epoch: Any = self._sampler.epoch
        if not isinstance(epoch, _Seen):
            epoch = self._sampler.epoch = _Seen(epoch)
            self._was_said = True
        if epoch is not self._last_read:
            self._last_read = epoch
            self._next_epoch = int(epoch) % (_MAX_EPOCH + 1)
        claimed = self._next_epoch
        self._next_epoch = (claimed + 1) % (_MAX_EPOCH + 1)
        return self.seed, claimed

    def set_next(self, epoch: int) -> None:
        """The next iteration to begin has this epoch."""
        self._sampler.set_epoch(epoch)

    def take_was_said(self) -> bool:
        """Whether ``set_epoch`` was called since this was last asked, as of the latest `claim`."""
        was_said, self._was_said = self._was_said, False
        return was_said


class StreamEpochs:
    """The epochs that a DTSIterableDataset counts itself."""

    def __init__(self, dataset: DTSIterableDataset) -> None:
        self._dataset = dataset

    @property
    def seed(self) -> int:
        """The seed; drawn now where none was given."""
        given = self.given_seed
        return self._dataset._clock.drawn_seed() if given is None else given

    @property
    def given_seed(self) -> int | None:
        """The dataset's seed; 0 where none was given and ranks share an epoch, so that they need one."""
        dataset = self._dataset
        return 0 if dataset.seed is None and dataset.num_replicas > 1 else dataset.seed

    def adopt(self, seed: int) -> None:
        """Takes the seed of a saved state, where none was given."""
        self._dataset._clock.adopt(seed)

    @property
    def next_epoch(self) -> int:
        """What `claim` would return."""
        return self._dataset._clock.next_epoch

    def claim(self) -> tuple[int, int]:
        """Begins an iteration: its seed and its epoch."""
        dataset = self._dataset
        dataset._resume.leave()
        dataset._compare_seeds()
        dataset._group.begin()
        epoch, seed = dataset._clock.claim(self.given_seed)
        return seed, epoch

    def set_next(self, epoch: int) -> None:
        """The next iteration to begin has this epoch."""
        self._dataset._compare_seeds()
        self._dataset._clock.set_next(epoch)

    def take_was_said(self) -> bool:
        """Whether `set_next`, or the dataset's ``set_epoch``, was called since this was last asked."""
        return self._dataset._clock.take_was_said()


Epochs = EpochCounter | DistributedEpochs | StreamEpochs


def is_distributed_shuffle(sampler: Any) -> bool:
    """Whether our order takes the place of a sampler's: a DistributedSampler of exactly that type."""
    return type(sampler) is DistributedSampler and bool(sampler.shuffle)


def stream_order(dataset: DTSIterableDataset, drop_last: bool, uneven: Uneven) -> Order:
    """The order of a DTSIterableDataset, for the rank that this process is now.

    Args:
        dataset: It says all that decides the order.
        drop_last, uneven: The loader's; the stricter of both holds.

    Raises:
        ValueError: One of them leaves samples out, and the other one wants each.
    """
    drops = drop_last or dataset.drop_last
    stricter: Uneven = "exact" if "exact" in (uneven, dataset.uneven) else "fill"
    return Order(
        len(dataset.file),
        file=dataset.file if dataset.file.header.has_blocks else None,
        shuffle=dataset.shuffle,
        shuffle_window=dataset._window,
        is_stored=not dataset.shuffle,
        num_replicas=dataset.num_replicas,
        rank=dataset.rank,
        drop_last=drops,
        uneven=check_uneven(stricter, drops),
    )


def distributed_order(sampler: DistributedSampler[Any], order: Order) -> Order:
    """`order` for the ranks of a DistributedSampler."""
    return replace(
        order,
        shuffle=True,
        num_replicas=sampler.num_replicas,
        rank=sampler.rank,
        drop_last=sampler.drop_last,
    )
