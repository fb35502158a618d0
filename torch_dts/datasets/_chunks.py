# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch (docs/format.md section 5), dealt to workers and cut into reads."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.datasets._shares import (
    Part,
    RankShare,
    Uneven,
    filler_places,
    num_left_after,
    rank_range,
    rank_share,
)

CHUNK_BYTES = 64 << 20  # samples read singly at a time: bounds memory, long enough to sort and merge reads
FIRST_BYTES = 4 << 20  # what an epoch begins with, so that its first batch waits for little
_PLAIN_GROUP_BLOCKS = 4  # without shuffling any number gives the same order; this is 64 MiB


@dataclass(frozen=True)
class EpochOrder:
    """What decides the order of an epoch for a rank.

    Attributes:
        shuffle: False: stored order.
        shuffle_window: Blocks shuffled together; 0: uniform over all samples.
        seed: Any int (taken modulo 2^64).
        epoch: From 0.
        num_replicas, rank: The rank gets an equal part of the epoch.
        drop_last, uneven: What becomes of ranks that can't be equal (`rank_share`).
        before: What other numbers of ranks did of the epoch; the rest of it is shared.
        num_skipped: So many of what the rank delivers came before.
    """

    shuffle: bool = True
    shuffle_window: int = 16
    seed: int = 0
    epoch: int = 0
    num_replicas: int = 1
    rank: int = 0
    drop_last: bool = False
    uneven: Uneven = "fill"
    before: tuple[Part, ...] = ()
    num_skipped: int = 0

    def longest(self, num_samples: int) -> int:
        """What the rank with most samples delivers, of an epoch of so many: the same on all ranks."""
        extra = 0 if self.drop_last else self.num_replicas - 1
        return (num_left_after(num_samples, self.before) + extra) // self.num_replicas

    def share_of(self, num_samples: int) -> RankShare:
        """How much the rank delivers of an epoch of so many samples."""
        num_samples = num_left_after(num_samples, self.before)
        return rank_share(num_samples, self.num_replicas, self.rank, self.drop_last, self.uneven)


@dataclass(frozen=True)
class Share:
    """What a worker takes of a stream: batches `worker`, ``worker + num_workers``, ... of it.

    Attributes:
        worker, num_workers: Of the DataLoader; (0, 1) without worker processes.
        batch_size: Samples dealt at a time.
        first_position: Position of the stream's first sample in what is dealt.
        num_skipped: So many of the first samples that the worker would take of what is dealt are left out.
    """

    worker: int = 0
    num_workers: int = 1
    batch_size: int = 1
    first_position: int = 0
    num_skipped: int = 0

    @property
    def first_taken(self) -> int:
        """Position of the stream that all samples taken are at or behind."""
        batch, place = divmod(self.num_skipped, self.batch_size)
        return (batch * self.num_workers + self.worker) * self.batch_size + place - self.first_position

    def of(self, position: int, count: int) -> Tensor:
        """bool ``[count]``: which of the samples from `position` of the stream on are taken."""
        first = self.first_position + position
        positions = torch.arange(first, first + count, device="cpu")
        taken = positions // self.batch_size % self.num_workers == self.worker
        if self.num_skipped:
            taken &= positions >= self.first_taken + self.first_position
        return taken


class Chunk(NamedTuple):
    """Samples read together.

    Attributes:
        stored_ids: int64 ``[n]``, stored indices in the order of delivery.
        block_ids: int64 ``[k]``: read these blocks whole; samples that are in none of them
            are read singly. None: all are.
        checked_ids: int64 ``[m]``: blocks to check meanwhile, whoever takes their samples.
            None: none.
        border_ids: int64 ``[j]``: further blocks that samples are in, which the rank shares
            with another one.
    """

    stored_ids: Tensor
    block_ids: Tensor | None
    checked_ids: Tensor | None = None
    border_ids: Tensor | None = None


def epoch_groups(block_sizes: Tensor, order: EpochOrder) -> Iterator[Chunk]:
    """The rank's range of the stream as groups of blocks; one without blocks where the window is "all".

    Args:
        block_sizes: int64 ``[num_blocks]``, samples of each block.
        order: The epoch.
    """
    ranks = (order.num_replicas, order.rank)
    if not order.shuffle:
        yield from _plain_groups(block_sizes, *ranks)
        return
    numbers = (order.seed, order.epoch, order.shuffle_window, *ranks)
    stored_ids = _native.sample_order(block_sizes, *numbers)
    if order.shuffle_window == 0:
        yield Chunk(stored_ids, None)
        return
    runs = _native.rank_runs(block_sizes, *numbers)
    blocks, counts, groups = runs[:, 0], runs[:, 2], runs[:, 3]
    is_border = counts < block_sizes[blocks]
    num_groups = int(groups[-1]) + 1 if groups.numel() else 0

    # All groups at once: a set of 14 million samples has thousands.
    def of_groups(values: Tensor) -> list[int]:
        sums = torch.zeros(num_groups, dtype=torch.int64, device="cpu")
        return sums.index_add_(0, groups, values.to(torch.int64)).tolist()

    ids = torch.split(stored_ids, of_groups(counts))
    whole = torch.split(blocks[~is_border], of_groups(~is_border))
    border = torch.split(blocks[is_border], of_groups(is_border))
    for group in zip(ids, whole, border, strict=True):
        yield Chunk(group[0], group[1], None, group[2])


def filled_groups(block_sizes: Tensor, order: EpochOrder, share: RankShare | None = None) -> Iterator[Chunk]:
    """`epoch_groups`, cut or filled to what the rank delivers; the fillers are a chunk of their own.

    Args:
        block_sizes: int64 ``[num_blocks]``, samples of each block.
        order: The epoch.
        share: How many samples and fillers; of the former no more than the rank's range has.
            None: as the order says.
    """
    if share is None:
        share = order.share_of(int(block_sizes.sum()))
    num_kept = min(share.num_fillers, share.num_own)
    first_ids = torch.empty(0, dtype=torch.int64, device="cpu")
    left = share.num_own
    for group in epoch_groups(block_sizes, order):
        ids = group.stored_ids[:left]
        left -= ids.numel()
        if first_ids.numel() < num_kept:
            first_ids = torch.cat([first_ids, ids])[:num_kept]
        if ids.numel():
            yield group._replace(stored_ids=ids)
    if share.num_fillers:
        if share.num_own == 0:
            first_ids = sample_at_start(block_sizes, order)
        yield Chunk(first_ids[filler_places(share.num_own, share.num_fillers)[0]], None)


def sample_at_start(block_sizes: Tensor, order: EpochOrder) -> Tensor:
    """int64 ``[1]``: the sample where the range of a rank without samples would begin."""
    num_samples = int(block_sizes.sum())
    # Of as many ranks as there are samples, each has one: the one at its place.
    place = order.rank * num_samples // order.num_replicas
    one = replace(order, num_replicas=num_samples, rank=place)
    return torch.cat([group.stored_ids for group in epoch_groups(block_sizes, one)])[:1]


def plan_chunks(
    groups: Iterable[Chunk], share: Share, block_sizes: Tensor, sample_bytes: Tensor
) -> Iterator[Chunk]:
    """What a worker reads, in order, with what it does not take left out.

    A group is read as whole blocks where the worker takes most of it, else sample by
    sample in pieces of about ``CHUNK_BYTES``; the samples of border blocks are always read
    singly. The first piece is small. Where samples are read singly, the workers share out the
    group's blocks, so that each block is checked by somebody; a worker that takes no sample of
    the group gets a chunk without samples for that.

    Args:
        groups: From `epoch_groups` or `filled_groups`.
        share: The worker's part of the stream.
        block_sizes: int64 ``[num_blocks]``, samples of each block.
        sample_bytes: int64 ``[num_samples]``, bytes of each sample by stored index.
    """
    position = 0
    is_first = True
    for stored_ids, block_ids, _, _ in groups:
        taken = stored_ids[share.of(position, stored_ids.numel())]
        position += stored_ids.numel()
        if share.num_skipped and position <= share.first_taken:
            continue  # nothing of it is left
        is_whole = False
        if block_ids is not None and block_ids.numel():
            num_samples = max(stored_ids.numel(), int(block_sizes[block_ids].sum()))
            is_whole = 4 * taken.numel() > 3 * num_samples
        if is_first and taken.numel() > 0:
            is_first = False
            starts = sample_bytes[taken].cumsum(0) - sample_bytes[taken]
            num_first = int((starts < FIRST_BYTES).sum())
            # Where these are all, nothing would be left to read (and so check) the blocks for.
            if not is_whole or num_first < taken.numel():
                yield Chunk(taken[:num_first], None)
                taken = taken[num_first:]
        if is_whole:
            yield Chunk(taken, block_ids)
            continue
        pieces = [Chunk(piece, None) for piece in _split_by_bytes(taken, sample_bytes[taken])]
        if block_ids is not None and share.worker < block_ids.numel():
            checked_ids = block_ids[share.worker :: share.num_workers]
            first_piece = pieces.pop(0) if pieces else Chunk(taken, None)
            yield first_piece._replace(checked_ids=checked_ids)
        yield from pieces


def _plain_groups(block_sizes: Tensor, num_replicas: int, rank: int) -> Iterator[Chunk]:
    ends = block_sizes.cumsum(0).tolist()
    first, end = rank_range(ends[-1] if ends else 0, num_replicas, rank)
    while first < end:
        block = bisect.bisect_right(ends, first)
        end_block = min(block + _PLAIN_GROUP_BLOCKS, bisect.bisect_left(ends, end) + 1)
        stop = min(end, ends[end_block - 1])
        blocks = torch.arange(block, end_block, device="cpu")
        ends_of = torch.tensor(ends[block:end_block], dtype=torch.int64, device="cpu")
        is_border = (ends_of - block_sizes[blocks] < first) | (ends_of > stop)
        yield Chunk(torch.arange(first, stop, device="cpu"), blocks[~is_border], None, blocks[is_border])
        first = stop


def _split_by_bytes(stored_ids: Tensor, num_bytes: Tensor) -> Iterator[Tensor]:
    if stored_ids.numel() == 0:
        return
    pieces = (num_bytes.cumsum(0) - num_bytes) // CHUNK_BYTES
    counts = torch.unique_consecutive(pieces, return_counts=True)[1]
    yield from torch.split(stored_ids, counts.tolist())
