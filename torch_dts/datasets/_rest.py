# SPDX-License-Identifier: Apache-2.0
"""What is left of an epoch of which ranks have delivered a part (docs/format.md section 5).

An epoch may be worked at by several numbers of ranks, one after the other. After a part of it
what each of its ranks has left of its own samples, in rank order, is a stream again, which the
next number of ranks shares by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from torch_dts.datasets._chunks import Chunk, EpochOrder, epoch_groups, filled_groups
from torch_dts.datasets._shares import Part, RankShare, filler_places, num_left_after, rank_range


class Rest:
    """The stream that is left of an epoch.

    Args:
        block_sizes: int64 ``[num_blocks]``, samples of each block.
        order: The epoch; its ranks are not looked at.
        parts: What was done of it, in order.
    """

    def __init__(self, block_sizes: Tensor, order: EpochOrder, parts: tuple[Part, ...] = ()) -> None:
        self._block_sizes = block_sizes
        self._ends = block_sizes.cumsum(0)
        self._order = order
        self._parts = parts
        num_samples = int(self._ends[-1]) if block_sizes.numel() else 0
        self._lengths = [num_left_after(num_samples, parts[:level]) for level in range(len(parts) + 1)]

    @property
    def num_left(self) -> int:
        """Samples that are left."""
        return self._lengths[-1]

    def of_rank(self, num_replicas: int, rank: int) -> list[Chunk]:
        """A rank's share of what is left, in the order of delivery, as groups of blocks."""
        return self._own(len(self._parts), num_replicas, rank)

    def between(self, first: int, end: int) -> list[Chunk]:
        """What is left from position `first` up to `end`."""
        level = len(self._parts)
        end = min(end, self.num_left)
        if level:
            return list(self._between(level, first, end))
        # Of n ranks with one sample each, those at these places.
        order = self._order
        ones = (replace(order, num_replicas=self.num_left, rank=place) for place in range(first, end))
        return [chunk for one in ones for chunk in _not_empty(epoch_groups(self._block_sizes, one))]

    def delivered(self) -> Iterator[Tensor]:
        """int64: the own samples that each rank of each part has delivered."""
        for level, (num_replicas, consumed) in enumerate(self._parts):
            for rank in range(min(num_replicas, self._lengths[level])):
                own = self._own(level, num_replicas, rank)
                yield from (chunk.stored_ids for chunk in self.cut(own, 0, consumed))

    def cut(self, chunks: Iterable[Chunk], first: int, end: int) -> list[Chunk]:
        """Samples `first` up to `end` of groups of blocks; blocks of which nothing is left are left out."""
        made = []
        position = 0
        for chunk in chunks:
            ids = chunk.stored_ids[max(0, first - position) : max(0, end - position)]
            position += chunk.stored_ids.numel()
            if ids.numel() == chunk.stored_ids.numel():
                made.append(chunk)
            elif ids.numel():
                made.append(self._with_blocks_left(chunk, ids))
        return made

    def _own(self, level: int, num_replicas: int, rank: int) -> list[Chunk]:
        if level == 0:
            order = replace(self._order, num_replicas=num_replicas, rank=rank)
            return list(_not_empty(epoch_groups(self._block_sizes, order)))
        return list(self._between(level, *rank_range(self._lengths[level], num_replicas, rank)))

    def _between(self, level: int, first: int, end: int) -> Iterator[Chunk]:
        num_replicas, consumed = self._parts[level - 1]
        starts = torch.arange(num_replicas + 1, device="cpu") * self._lengths[level - 1] // num_replicas
        ends = (starts.diff() - consumed).clamp(min=0).cumsum(0)
        rank = int(torch.searchsorted(ends, first, right=True))
        while first < end:
            start = int(ends[rank - 1]) if rank else 0
            stop = min(end, int(ends[rank]))
            if first < stop:
                own = self._own(level - 1, num_replicas, rank)
                yield from self.cut(own, consumed + first - start, consumed + stop - start)
                first = stop
            rank += 1

    def _with_blocks_left(self, chunk: Chunk, ids: Tensor) -> Chunk:
        blocks = chunk.block_ids
        if blocks is None:
            return Chunk(ids, None)
        used = torch.searchsorted(self._ends, ids, right=True)
        left = blocks[torch.isin(blocks, used)]
        # Where most of a group is gone, its samples are read singly.
        if 2 * int(torch.isin(used, left).sum()) <= int(self._block_sizes[left].sum()):
            left = left[:0]
        borders = chunk.border_ids
        return chunk._replace(
            stored_ids=ids,
            block_ids=left,
            border_ids=None if borders is None else borders[torch.isin(borders, used)],
        )


def remaining_groups(
    block_sizes: Tensor, order: EpochOrder, share: RankShare | None = None
) -> Iterable[Chunk]:
    """`filled_groups` of an epoch of which a part may have been delivered.

    Args: as of `filled_groups`; `share` counts what the rank has delivered since its ranks began.
    """
    if not order.before and not order.num_skipped:
        return filled_groups(block_sizes, order, share)
    rest = Rest(block_sizes, order, order.before)
    num_own, num_fillers = order.share_of(int(block_sizes.sum())) if share is None else share
    own = rest.cut(rest.of_rank(order.num_replicas, order.rank), 0, num_own)
    if num_fillers:
        place = order.rank * rest.num_left // order.num_replicas
        found = own if num_own else rest.between(place, place + 1)
        ids = torch.cat([chunk.stored_ids for chunk in found])
        own.append(Chunk(ids[filler_places(num_own, num_fillers)[0]], None))
    return rest.cut(own, order.num_skipped, num_own + num_fillers)


def _not_empty(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    return (chunk for chunk in chunks if chunk.stored_ids.numel() > 0)
