# SPDX-License-Identifier: Apache-2.0
"""What a loader delivers in an epoch: the samples of a rank, in order, and how they are read.

The order is docs/format.md section 5, through the same native functions that the iterable
dataset uses. Added here is what comes once more to fill ranks and batches, and the cut into
units that are read together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torch_dts.datasets._chunks import FIRST_BYTES, EpochOrder
from torch_dts.datasets._rest import Rest
from torch_dts.datasets._shares import Part, RankShare, Uneven, filler_places, num_left_after, rank_share
from torch_dts.file import DTSFile
from torch_dts.loader._elastic import Steps

_UNIT_BYTES = 8 << 20  # samples read singly at a time: enough to sort and merge reads
_UNIT_SAMPLES = (16, 1024)
_NONE = torch.empty(0, dtype=torch.int64, device="cpu")


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
        are_lent: The fillers are of another rank.
        whole: int64: the epoch of all ranks, where samples are counted in it; else None.
        places: int64 ``[n + f]``: places in `whole`.
    """

    ids: Tensor
    groups: Sequence[Group] | None
    fillers: Tensor
    filler_occurrences: Tensor
    are_lent: bool = False
    whole: Tensor | None = None
    places: Tensor | None = None

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
        whole_batches: What is read singly ends where a batch does.
    """

    mean_bytes: float
    keeps_bytes: bool = False
    most_single_bytes: int | None = None
    whole_batches: bool = False


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
        before: What other numbers of ranks did of the epoch; the rest of it is shared.
        num_skipped: So many of what the rank delivers came before.
        elastic_batch: Samples of a batch, where the ranks go through the stream side by side
            (``order="elastic"``); 0: each has a range of it.
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
    before: tuple[Part, ...] = ()
    num_skipped: int = 0
    elastic_batch: int = 0

    @property
    def num_shared(self) -> int:
        """Samples that the ranks share: those of the epoch, or what is left of it."""
        if self.elastic_batch:
            return max(0, self.num_samples - sum(ranks * consumed for ranks, consumed in self.before))
        return num_left_after(self.num_samples, self.before)

    @property
    def steps(self) -> Steps:
        """How ranks go side by side through what they share."""
        num_shared = self.num_shared
        return Steps(self.num_samples - num_shared, num_shared, self.elastic_batch, self.num_replicas)

    @property
    def longest(self) -> int:
        """What the rank with most samples delivers: the same on all ranks."""
        extra = 0 if self.drop_last else self.num_replicas - 1
        return (self.num_shared + extra) // self.num_replicas

    @property
    def share(self) -> RankShare:
        """How many samples and fillers the rank delivers, where batches don't add to it."""
        if self.elastic_batch:
            return self.steps.share(self.rank, self.drop_last, self.uneven)
        return rank_share(self.num_shared, self.num_replicas, self.rank, self.drop_last, self.uneven)

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
        if self.file is None or self.elastic_batch:
            return False
        return self.shuffle_window > 0 if self.shuffle else self.is_stored

    def stream(self, seed: int, epoch: int, share: RankShare | None = None) -> Stream:
        """The rank's part of an epoch.

        Args:
            seed, epoch: Which one.
            share: How many samples and fillers; None: `share`.
        """
        share = self.share if share is None else share
        if self.elastic_batch:
            return self._elastic_stream(seed, epoch, share)
        rest = self._rest(seed, epoch)
        chunks = rest.of_rank(self.num_replicas, self.rank)
        own = _joined(chunk.stored_ids for chunk in chunks)[: share.num_own]
        places, occurrences = filler_places(share.num_own, share.num_fillers)
        are_lent = share.num_own == 0 and share.num_fillers > 0  # of another rank
        if are_lent:
            place = self.rank * rest.num_left // self.num_replicas
            fillers = _joined(chunk.stored_ids for chunk in rest.between(place, place + 1))[places]
        else:
            fillers = own[places]
        chunks = rest.cut(chunks, self.num_skipped, share.num_own)
        groups = [
            Group(
                chunk.stored_ids.numel(),
                chunk.block_ids,
                _NONE if chunk.border_ids is None else chunk.border_ids,
            )
            for chunk in chunks
            if chunk.block_ids is not None
        ]
        skipped = max(0, self.num_skipped - share.num_own)
        return Stream(
            own[self.num_skipped :],
            groups if self.has_groups else None,
            fillers[skipped:],
            occurrences[skipped:],
            are_lent,
        )

    def _elastic_stream(self, seed: int, epoch: int, share: RankShare) -> Stream:
        steps = self.steps
        whole = _joined(chunk.stored_ids for chunk in self._rest(seed, epoch).of_rank(1, 0))
        own = steps.places(self.rank)[: share.num_own]
        fillers, occurrences = steps.fillers(self.rank, share)
        are_lent = share.num_fillers > 0 and share.num_own == steps.num_whole
        return Stream(
            whole[own], None, whole[fillers], occurrences, are_lent, whole, torch.cat([own, fillers])
        )

    def delivered(self, seed: int, epoch: int, share: RankShare | None = None) -> Iterator[Tensor]:
        """int64: ids of what came before of an epoch that is continued.

        Args: as of `stream`.
        """
        if self.elastic_batch:
            return  # occurrences are counted in the whole epoch
        yield from self._rest(seed, epoch).delivered()
        if self.num_skipped:
            yield replace(self, num_skipped=0).stream(seed, epoch, share).all_ids[: self.num_skipped]

    def facts(self) -> dict[str, Any]:
        """What decides the order beside seed, epoch and ranks, as plain values."""
        has_window = self.file is not None and self.shuffle
        return {
            "kind": "elastic" if self.elastic_batch else "shuffled",
            "num_samples": self.num_samples,
            "shuffle": self.shuffle,
            "shuffle_window": (self.shuffle_window or "all") if has_window else None,
            "is_stored": self.is_stored,
            "uneven": self.uneven,
        }

    def to_dataset(self, ids: Tensor) -> Tensor:
        """int64 ``[n]``: the index in the dataset of each id of a stream."""
        return self.file.positions_of(ids) if self.file is not None and self.has_stored_ids else ids

    def _rest(self, seed: int, epoch: int) -> Rest:
        if self.file is not None and self.has_stored_ids:
            block_sizes = self.file.block_table.num_samples
        else:
            block_sizes = torch.tensor([self.num_samples], dtype=torch.int64, device="cpu")
        window = self.shuffle_window if self.file is not None and self.shuffle else 0
        before = () if self.elastic_batch else self.before
        return Rest(block_sizes, EpochOrder(self.shuffle, window, seed, epoch), before)


def _joined(parts: Iterable[Tensor]) -> Tensor:
    parts = list(parts)
    if not parts:
        return _NONE
    # The groups of a rank are views of one list, one behind the other: no second list of an epoch.
    ends = [part.data_ptr() + part.numel() * part.element_size() for part in parts]
    is_one = parts[0].untyped_storage().data_ptr() == parts[-1].untyped_storage().data_ptr()
    if is_one and all(end == part.data_ptr() for end, part in zip(ends, parts[1:], strict=False)):
        return parts[0].as_strided((sum(part.numel() for part in parts),), (1,))
    return torch.cat(parts)


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
    if reading.whole_batches:
        step = -(-step // batch_size) * batch_size
    if stream.groups is None:
        yield from (Unit(part, _NONE) for part in _split(stream.ids, step))
    else:
        first = 0
        for count, own_blocks, borders in stream.groups:
            ids = stream.ids[first : first + count]
            blocks = torch.cat([own_blocks, borders]) if reading.keeps_bytes else own_blocks
            num_single = _num_single(count, batch_size, reading) if first == 0 else 0
            if blocks.numel() == 0:
                num_single = count
            yield from (Unit(part, _NONE) for part in _split(ids[:num_single], step))
            if num_single < count:
                yield Unit(ids[num_single:], blocks)
            first += count
    yield from (Unit(part, _NONE, is_filler=True) for part in _split(stream.fillers, step))


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
