# SPDX-License-Identifier: Apache-2.0
"""What is left of an epoch after parts of it, against lists."""

from __future__ import annotations

import pytest
import torch

from torch_dts.datasets._chunks import EpochOrder, epoch_groups
from torch_dts.datasets._rest import Rest
from torch_dts.datasets._shares import Part, num_left_after

SIZES = torch.tensor([5, 3, 7, 4, 6, 1, 9])
NUM = int(SIZES.sum())


def own(order: EpochOrder, num_replicas: int, rank: int) -> list[int]:
    replaced = EpochOrder(order.shuffle, order.shuffle_window, order.seed, order.epoch, num_replicas, rank)
    return [i for chunk in epoch_groups(SIZES, replaced) for i in chunk.stored_ids.tolist()]


def share(items: list[int], num_replicas: int, rank: int) -> list[int]:
    return items[len(items) * rank // num_replicas : len(items) * (rank + 1) // num_replicas]


ORDERS = [EpochOrder(True, 2, 3, 1), EpochOrder(True, 0, 3, 1), EpochOrder(False)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "parts", [(), ((1, 11),), ((2, 5),), ((4, 3), (3, 2)), ((7, 1), (1, 4), (2, 3)), ((3, 99),)]
)
def test_the_rest_is_what_lists_say(order: EpochOrder, parts: tuple[tuple[int, int], ...]) -> None:
    stream: list[int] | None = None
    delivered: list[int] = []
    for num_replicas, consumed in parts:
        ranks = [
            own(order, num_replicas, rank) if stream is None else share(stream, num_replicas, rank)
            for rank in range(num_replicas)
        ]
        delivered += [i for rank in ranks for i in rank[:consumed]]
        stream = [i for rank in ranks for i in rank[consumed:]]
    rest = Rest(SIZES, order, tuple(Part(*part) for part in parts))
    if stream is not None:
        assert rest.num_left == len(stream) == num_left_after(NUM, [Part(*part) for part in parts])
    for num_replicas in (1, 3, 5, 50):
        for rank in range(num_replicas):
            chunks = rest.of_rank(num_replicas, rank)
            expected = own(order, num_replicas, rank) if stream is None else share(stream, num_replicas, rank)
            assert [i for chunk in chunks for i in chunk.stored_ids.tolist()] == expected
            ends = SIZES.cumsum(0)
            for chunk in chunks:
                used = torch.searchsorted(ends, chunk.stored_ids, right=True)
                for blocks in (chunk.block_ids, chunk.border_ids):
                    assert blocks is None or set(blocks.tolist()) <= set(used.tolist())
    if stream is not None:
        assert [i for c in rest.between(1, 4) for i in c.stored_ids.tolist()] == stream[1:4]
    assert [i for ids in rest.delivered() for i in ids.tolist()] == delivered


def test_positions_of_a_whole_epoch() -> None:
    whole = [i for place in range(NUM) for i in own(ORDERS[0], NUM, place)]
    assert [int(c.stored_ids) for c in Rest(SIZES, ORDERS[0]).between(3, 6)] == whole[3:6]


def test_where_most_is_gone_samples_are_read_singly() -> None:
    for consumed, blocks in ((3, [0, 1]), (14, [1]), (16, [])):
        rest = Rest(torch.tensor([10, 10]), EpochOrder(False), (Part(1, consumed),))
        (chunk,) = rest.of_rank(1, 0)
        assert chunk.stored_ids.tolist() == list(range(consumed, 20))
        assert chunk.block_ids is not None
        assert chunk.block_ids.tolist() == blocks


def test_many_ranks_of_a_large_epoch() -> None:
    assert num_left_after(10**9, [Part(1024, 100), Part(3, 10**6)]) == 10**9 - 102400 - 3 * 10**6
    assert num_left_after(5, [Part(1 << 20, 1)]) == 0
