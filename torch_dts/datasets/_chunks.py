# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch (docs/format.md section 5), dealt to workers and cut into reads."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts import _native

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
    """

    shuffle: bool = True
    shuffle_window: int = 16
    seed: int = 0
    epoch: int = 0
    num_replicas: int = 1
    rank: int = 0


@dataclass(frozen=True)
class Share:
    """What a worker takes of a stream: batches `worker`, ``worker + num_workers``, ... of it.

    Attributes:
        worker, num_workers: Of the DataLoader; (0, 1) without worker processes.
        batch_size: Samples dealt at a time.
        first_position: Position of the stream's first sample in what is dealt.
    """

    worker: int = 0
    num_workers: int = 1
    batch_size: int = 1
    first_position: int = 0

    def of(self, position: int, count: int) -> Tensor:
        """bool ``[count]``: which of the samples from `position` of the stream on are taken."""
        first = self.first_position + position
        batches = torch.arange(first, first + count, device="cpu") // self.batch_size
        return batches % self.num_workers == self.worker


class Chunk(NamedTuple):
    """Samples read together.

    Attributes:
        stored_ids: int64 ``[n]``, stored indices in the order of delivery.
        block_ids: int64 ``[k]``: read these blocks whole, the samples are in them. None:
            read the samples singly.
        checked_ids: int64 ``[m]``: blocks to check meanwhile, whoever takes their samples.
            None: none.
    """

    stored_ids: Tensor
    block_ids: Tensor | None
    checked_ids: Tensor | None = None


def rank_range(num_samples: int, num_replicas: int, rank: int) -> tuple[int, int]:
    """First and end position of a rank in a stream."""
    return rank * num_samples // num_replicas, (rank + 1) * num_samples // num_replicas


def epoch_groups(block_sizes: Tensor, order: EpochOrder) -> Iterator[Chunk]:
    """The rank's stream as groups of blocks; one without blocks where the window is "all".

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
    blocks_per_group = torch.unique_consecutive(runs[:, 3], return_counts=True)[1].tolist()
    first = 0
    for group in torch.split(runs, blocks_per_group):
        count = int(group[:, 2].sum())
        yield Chunk(stored_ids[first : first + count], group[:, 0].contiguous())
        first += count


def plan_chunks(
    groups: Iterable[Chunk], share: Share, block_sizes: Tensor, sample_bytes: Tensor
) -> Iterator[Chunk]:
    """What a worker reads, in order, with what it does not take left out.

    A group is read as whole blocks where the worker takes most of it, else sample by
    sample in pieces of about ``CHUNK_BYTES``. The first piece is small. In the second case
    the workers share out the group's blocks, so that each block is checked by somebody;
    a worker that takes no sample of the group gets a chunk without samples for that.

    Args:
        groups: From `epoch_groups`.
        share: The worker's part of the stream.
        block_sizes: int64 ``[num_blocks]``, samples of each block.
        sample_bytes: int64 ``[num_samples]``, bytes of each sample by stored index.
    """
    position = 0
    is_first = True
    for stored_ids, block_ids, _ in groups:
        taken = stored_ids[share.of(position, stored_ids.numel())]
        position += stored_ids.numel()
        is_whole = block_ids is not None and 4 * taken.numel() > 3 * int(block_sizes[block_ids].sum())
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
        yield Chunk(torch.arange(first, stop, device="cpu"), torch.arange(block, end_block, device="cpu"))
        first = stop


def _split_by_bytes(stored_ids: Tensor, num_bytes: Tensor) -> Iterator[Tensor]:
    if stored_ids.numel() == 0:
        return
    pieces = (num_bytes.cumsum(0) - num_bytes) // CHUNK_BYTES
    counts = torch.unique_consecutive(pieces, return_counts=True)[1]
    yield from torch.split(stored_ids, counts.tolist())
