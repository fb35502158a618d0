# SPDX-License-Identifier: Apache-2.0
"""What a loader delivers in an epoch: the samples of a rank, in order, and how they are read.

The order is docs/format.md section 5, through the same native functions that the iterable
dataset uses. Added here is what makes ranks equal (fillers, or the last sample dropped) and
the cut into units that are read together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts.datasets._chunks import FIRST_BYTES, EpochOrder, epoch_groups
from torch_dts.file import DTSFile

_UNIT_BYTES = 8 << 20  # samples read singly at a time: enough to sort and merge reads
_UNIT_SAMPLES = (16, 1024)


class Stream(NamedTuple):
    """An epoch of one rank.

    Attributes:
        ids: int64 ``[n]`` in the order of delivery: stored indices of a file, or positions.
        groups: ``(number of samples, int64 [k] blocks)`` of each shuffle group, which are read
            whole; None: samples are read singly. Fillers are in no group.
        num_fillers: The last so many samples (0 or 1) come a second time, to make ranks equal.
    """

    ids: Tensor
    groups: Sequence[tuple[int, Tensor]] | None
    num_fillers: int


class Unit(NamedTuple):
    """Samples of a stream that are read together.

    Attributes:
        ids: int64 ``[n]``.
        blocks: int64 ``[k]``, read whole; empty: the samples are read singly.
        is_filler: Its samples come a second time.
    """

    ids: Tensor
    blocks: Tensor
    is_filler: bool = False


@dataclass(frozen=True)
class Order:
    """The order of a dataset, for one rank.

    Attributes:
        num_samples: Of the dataset.
        file: The ``.dts`` file that the dataset is; None: data without blocks.
        shuffle: False: the dataset's order; with `is_stored` the file's.
        shuffle_window: In blocks; 0: uniform, as data without blocks always are.
        is_stored: Without shuffling, stored order and whole blocks (iterable datasets).
        num_replicas, rank: The rank gets an equal part of the epoch.
        drop_last: Each rank gets ``num_samples // num_replicas`` samples; else the short
            ones are filled up.
    """

    num_samples: int
    file: DTSFile | None = None
    shuffle: bool = False
    shuffle_window: int = 0
    is_stored: bool = False
    num_replicas: int = 1
    rank: int = 0
    drop_last: bool = False

    def __len__(self) -> int:
        """Samples the rank delivers in an epoch; the same number on each."""
        extra = 0 if self.drop_last else self.num_replicas - 1
        return (self.num_samples + extra) // self.num_replicas

    @property
    def has_stored_ids(self) -> bool:
        """Whether `stream` counts by stored index, not by position in the dataset."""
        return self.file is not None and (self.shuffle or self.is_stored)

    @property
    def has_groups(self) -> bool:
        """Whether whole blocks are read."""
        if self.file is None:
            return False
        return self.shuffle_window > 0 if self.shuffle else self.is_stored

    def stream(self, seed: int, epoch: int) -> Stream:
        """The rank's part of an epoch."""
        if self.file is not None and self.has_stored_ids:
            block_sizes = self.file.block_table.num_samples
        else:
            block_sizes = torch.tensor([self.num_samples], dtype=torch.int64, device="cpu")
        window = self.shuffle_window if self.has_groups else 0
        order = EpochOrder(self.shuffle, window, seed, epoch, self.num_replicas, self.rank)
        chunks = [chunk for chunk in epoch_groups(block_sizes, order) if chunk.stored_ids.numel() > 0]
        parts = [chunk.stored_ids for chunk in chunks]
        num_samples = sum(part.numel() for part in parts)
        num_fillers = max(0, len(self) - num_samples)
        if num_fillers:
            parts.append(parts[0][:1] if parts else self._sample_at_start(block_sizes, order))
        ids = torch.cat(parts)[: len(self)] if parts else torch.empty(0, dtype=torch.int64, device="cpu")
        if not self.has_groups:
            return Stream(ids, None, num_fillers)
        groups: list[tuple[int, Tensor]] = []
        left = ids.numel() - num_fillers
        for chunk in chunks:
            count = min(left, chunk.stored_ids.numel())
            if count and chunk.block_ids is not None:
                groups.append((count, chunk.block_ids))
            left -= count
        return Stream(ids, groups, num_fillers)

    def to_dataset(self, ids: Tensor) -> Tensor:
        """int64 ``[n]``: the index in the dataset of each id of a stream."""
        return self.file.positions_of(ids) if self.file is not None and self.has_stored_ids else ids

    def _sample_at_start(self, block_sizes: Tensor, order: EpochOrder) -> Tensor:
        # A rank without samples: of n ranks with one sample each, the one at its place.
        place = self.rank * self.num_samples // self.num_replicas
        one = replace(order, num_replicas=self.num_samples, rank=place)
        return torch.cat([chunk.stored_ids for chunk in epoch_groups(block_sizes, one)])[:1]


def unit_samples(mean_bytes: float) -> int:
    """Samples read singly at a time, for samples of so many bytes."""
    least, most = _UNIT_SAMPLES
    return min(most, max(least, int(_UNIT_BYTES / max(1.0, mean_bytes))))


def cut_units(stream: Stream, batch_size: int, mean_bytes: float) -> Iterator[Unit]:
    """The units of a stream, in order; none is empty.

    The first samples of a group of blocks, about two batches, are read singly: they are
    there while the group is still being read. Not where they would be most of it.

    Args:
        stream: An epoch of a rank.
        batch_size: Samples of a batch.
        mean_bytes: Of a sample.
    """
    step = unit_samples(mean_bytes)
    none = torch.empty(0, dtype=torch.int64, device="cpu")
    if stream.groups is None:
        end = stream.ids.numel() - stream.num_fillers
        yield from (Unit(part, none) for part in _split(stream.ids[:end], step))
    else:
        first = 0
        for count, blocks in stream.groups:
            ids = stream.ids[first : first + count]
            num_single = _num_single(count, batch_size, mean_bytes) if first == 0 else 0
            yield from (Unit(part, none) for part in _split(ids[:num_single], step))
            yield Unit(ids[num_single:], blocks)
            first += count
    if stream.num_fillers:
        yield Unit(stream.ids[-stream.num_fillers :], none, is_filler=True)


def _num_single(num_group: int, batch_size: int, mean_bytes: float) -> int:
    by_bytes = int(FIRST_BYTES / max(1.0, mean_bytes))
    for count in (max(by_bytes, 2 * batch_size), by_bytes):
        if 2 * count <= num_group:
            return count
    return 0


def _split(ids: Tensor, step: int) -> Iterator[Tensor]:
    for first in range(0, ids.numel(), step):
        yield ids[first : first + step]
