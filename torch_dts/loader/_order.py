# SPDX-License-Identifier: Apache-2.0
"""What a loader delivers in an epoch: the samples of a rank, in order, and how they are read.

The order is docs/format.md section 5, through the same native functions that the iterable
dataset uses. Added here is what comes once more to fill ranks and batches, and the cut into
units that are read together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts.datasets._chunks import FIRST_BYTES, EpochOrder, epoch_groups, sample_at_start
from torch_dts.datasets._shares import RankShare, Uneven, filler_places, rank_share
from torch_dts.file import DTSFile

_UNIT_BYTES = 8 << 20  # samples read singly at a time: enough to sort and merge reads
_UNIT_SAMPLES = (16, 1024)


class Group(NamedTuple):
    """A shuffle group of a stream.

    Attributes:
        num_samples: So many of the stream's samples are in it.
        blocks: int64 ``[k]``, those that belong to the rank alone.
        borders: int64 ``[j]``, those it shares with another rank.
    """

    num_samples: int
    blocks: Tensor
    borders: Tensor


class Stream(NamedTuple):
    """What a rank delivers in an epoch.

    Attributes:
        ids: int64 ``[n]``, its own samples in the order of delivery: stored indices of a file,
            or positions.
        groups: The shuffle groups, whose blocks are read whole; None: samples are read singly.
        fillers: int64 ``[f]``, samples that come once more behind them. They are in no group.
        filler_occurrences: int64 ``[f]``: how often each came earlier in the epoch, if none of
            `ids` is the same sample as another.
    """

    ids: Tensor
    groups: Sequence[Group] | None
    fillers: Tensor
    filler_occurrences: Tensor

    @property
    def all_ids(self) -> Tensor:
        """int64 ``[n + f]``: everything in the order of delivery."""
        return torch.cat([self.ids, self.fillers]) if self.fillers.numel() else self.ids


class Unit(NamedTuple):
    """Samples of a stream that are read together.

    Attributes:
        ids: int64 ``[n]``.
        blocks: int64 ``[k]``, read whole; samples that are in none of them are read singly.
        is_filler: Its samples come once more.
    """

    ids: Tensor
    blocks: Tensor
    is_filler: bool = False


class Reading(NamedTuple):
    """What decides how a stream is cut into units.

    Attributes:
        mean_bytes: Of an encoded sample.
        keeps_bytes: Blocks stay in memory once read, so that border blocks are read whole.
        most_single_bytes: So much at most is read singly to begin with, beside blocks that
            hold the same samples; None: no limit.
    """

    mean_bytes: float
    keeps_bytes: bool = False
    most_single_bytes: int | None = None


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
        drop_last: Each rank gets ``num_samples // num_replicas`` samples; else `uneven` says.
        uneven: "fill": the short ones are filled up; "exact": each rank gets its range.
    """

    num_samples: int
    file: DTSFile | None = None
    shuffle: bool = False
    shuffle_window: int = 0
    is_stored: bool = False
    num_replicas: int = 1
    rank: int = 0
    drop_last: bool = False
    uneven: Uneven = "fill"

    @property
    def share(self) -> RankShare:
        """How many samples and fillers the rank delivers, where batches don't add to it."""
        return rank_share(self.num_samples, self.num_replicas, self.rank, self.drop_last, self.uneven)

    def __len__(self) -> int:
        """Samples the rank delivers in an epoch, as `share`."""
        return self.share.num_samples

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

    def stream(self, seed: int, epoch: int, share: RankShare | None = None) -> Stream:
        """The rank's part of an epoch.

        Args:
            seed, epoch: Which one.
            share: How many samples and fillers; None: `share`.
        """
        share = self.share if share is None else share
        if self.file is not None and self.has_stored_ids:
            block_sizes = self.file.block_table.num_samples
        else:
            block_sizes = torch.tensor([self.num_samples], dtype=torch.int64, device="cpu")
        window = self.shuffle_window if self.has_groups else 0
        order = EpochOrder(self.shuffle, window, seed, epoch, self.num_replicas, self.rank)
        parts: list[Tensor] = [torch.empty(0, dtype=torch.int64, device="cpu")]
        groups: list[Group] = []
        left = share.num_own
        for chunk in epoch_groups(block_sizes, order):
            ids = chunk.stored_ids[:left]
            left -= ids.numel()
            parts.append(ids)
            if ids.numel() and chunk.block_ids is not None and chunk.border_ids is not None:
                groups.append(Group(ids.numel(), chunk.block_ids, chunk.border_ids))
        own = torch.cat(parts) if len(parts) > 2 else parts[-1]
        places, occurrences = filler_places(share.num_own, share.num_fillers)
        is_lent = share.num_own == 0 and share.num_fillers > 0  # of another rank
        fillers = (sample_at_start(block_sizes, order) if is_lent else own)[places]
        return Stream(own, groups if self.has_groups else None, fillers, occurrences)

    def to_dataset(self, ids: Tensor) -> Tensor:
        """int64 ``[n]``: the index in the dataset of each id of a stream."""
        return self.file.positions_of(ids) if self.file is not None and self.has_stored_ids else ids


def unit_samples(mean_bytes: float) -> int:
    """Samples read singly at a time, for samples of so many bytes."""
    least, most = _UNIT_SAMPLES
    return min(most, max(least, int(_UNIT_BYTES / max(1.0, mean_bytes))))


def cut_units(stream: Stream, batch_size: int, reading: Reading) -> Iterator[Unit]:
    """The units of a stream, in order; none is empty.

    The first samples of a group of blocks, about two batches, are read singly: they are
    there while the group is still being read. Not where they would be most of it.

    Args:
        stream: An epoch of a rank.
        batch_size: Samples of a batch.
        reading: What else decides.
    """
    step = unit_samples(reading.mean_bytes)
    none = torch.empty(0, dtype=torch.int64, device="cpu")
    if stream.groups is None:
        yield from (Unit(part, none) for part in _split(stream.ids, step))
    else:
        first = 0
        for count, own_blocks, borders in stream.groups:
            ids = stream.ids[first : first + count]
            blocks = torch.cat([own_blocks, borders]) if reading.keeps_bytes else own_blocks
            num_single = _num_single(count, batch_size, reading) if first == 0 else 0
            if blocks.numel() == 0:
                num_single = count
            yield from (Unit(part, none) for part in _split(ids[:num_single], step))
            if num_single < count:
                yield Unit(ids[num_single:], blocks)
            first += count
    yield from (Unit(part, none, is_filler=True) for part in _split(stream.fillers, step))


def _num_single(num_group: int, batch_size: int, reading: Reading) -> int:
    mean_bytes = max(1.0, reading.mean_bytes)
    by_bytes = int(FIRST_BYTES / mean_bytes)
    wanted = max(by_bytes, 2 * batch_size)
    if reading.most_single_bytes is not None:
        wanted = min(wanted, int(reading.most_single_bytes / mean_bytes))
    for count in (wanted, min(wanted, by_bytes)):
        if 2 * count <= num_group:
            return count
    return 0


def _split(ids: Tensor, step: int) -> Iterator[Tensor]:
    for first in range(0, ids.numel(), step):
        yield ids[first : first + step]
