# SPDX-License-Identifier: Apache-2.0
"""Groups, shares of workers, and what is read at a time."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

from torch_dts import _native
from torch_dts.datasets import _chunks
from torch_dts.datasets._chunks import Chunk, EpochOrder, Share, epoch_groups, filled_groups, plan_chunks
from torch_dts.datasets._shares import RankShare, rank_range

BLOCK_SIZES = torch.tensor([5, 3, 7, 1, 4, 6, 2, 8, 3])
NUM_SAMPLES = int(BLOCK_SIZES.sum())
STARTS = BLOCK_SIZES.cumsum(0) - BLOCK_SIZES
ONE_MIB = torch.full((NUM_SAMPLES,), 1 << 20)


def blocks_of(stored_ids: torch.Tensor) -> set[int]:
    ends = BLOCK_SIZES.cumsum(0)
    return set(torch.bucketize(stored_ids, ends, right=True).tolist())


@pytest.mark.parametrize("num_samples", [0, 1, 10, 2**61])
@pytest.mark.parametrize("num_replicas", [1, 3, 7])
def test_rank_ranges_partition(num_samples: int, num_replicas: int) -> None:
    ranges = [rank_range(num_samples, num_replicas, rank) for rank in range(num_replicas)]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == num_samples
    assert all(left[1] == right[0] for left, right in itertools.pairwise(ranges))
    lengths = [end - first for first, end in ranges]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("window", [0, 1, 2, 4, 100])
@pytest.mark.parametrize("ranks", [(1, 0), (3, 0), (3, 1), (50, 7)])
def test_groups_lie_end_to_end_in_the_native_order(window: int, ranks: tuple[int, int]) -> None:
    order = EpochOrder(True, window, seed=9, epoch=2, num_replicas=ranks[0], rank=ranks[1])
    groups = list(epoch_groups(BLOCK_SIZES, order))
    expected = _native.sample_order(BLOCK_SIZES, 9, 2, window, *ranks)
    assert torch.equal(torch.cat([group.stored_ids for group in groups]), expected)
    for group in groups:
        if window == 0:
            assert group.block_ids is None
        else:
            assert group.block_ids is not None
            assert group.border_ids is not None
            blocks = set(group.block_ids.tolist() + group.border_ids.tolist())
            assert group.block_ids.numel() + group.border_ids.numel() == len(blocks) <= window
            assert blocks_of(group.stored_ids) == blocks
            counts = torch.bincount(torch.bucketize(group.stored_ids, BLOCK_SIZES.cumsum(0), right=True))
            is_whole = [bool(counts[block] == BLOCK_SIZES[block]) for block in sorted(blocks)]
            assert is_whole == [block in group.block_ids for block in sorted(blocks)]


@pytest.mark.parametrize("num_replicas", [1, 2, 5])
def test_groups_without_shuffling(num_replicas: int) -> None:
    found = []
    for rank in range(num_replicas):
        groups = list(epoch_groups(BLOCK_SIZES, EpochOrder(False, num_replicas=num_replicas, rank=rank)))
        mine = torch.cat([group.stored_ids for group in groups]).tolist()
        assert (mine[0], mine[-1] + 1) == rank_range(NUM_SAMPLES, num_replicas, rank)
        found += mine
        for group in groups:
            assert group.block_ids is not None
            assert group.block_ids.numel() <= 4
            assert group.border_ids is not None
            blocks = blocks_of(group.stored_ids)
            assert blocks <= set(group.block_ids.tolist() + group.border_ids.tolist())
            assert all(BLOCK_SIZES[block] > 0 for block in group.border_ids)
    assert found == list(range(NUM_SAMPLES))


def test_a_rank_without_samples_has_no_groups() -> None:
    for order in (EpochOrder(), EpochOrder(shuffle=False), EpochOrder(shuffle_window=0)):
        nobody = dataclasses.replace(order, num_replicas=100, rank=0)
        assert sum(group.stored_ids.numel() for group in epoch_groups(BLOCK_SIZES, nobody)) == 0
        nothing = torch.empty(0, dtype=torch.int64)
        chunks = plan_chunks(epoch_groups(BLOCK_SIZES, nobody), Share(), BLOCK_SIZES, ONE_MIB)
        assert list(chunks) == []
        assert sum(group.stored_ids.numel() for group in epoch_groups(nothing, order)) == 0


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (Share(), [1, 1, 1, 1, 1, 1, 1]),
        (Share(0, 2), [1, 0, 1, 0, 1, 0, 1]),
        (Share(1, 2, 2), [0, 0, 1, 1, 0, 0, 1]),
        (Share(2, 3, 2), [0, 0, 0, 0, 1, 1, 0]),
        (Share(1, 2, 2, first_position=1), [0, 1, 1, 0, 0, 1, 1]),
    ],
)
def test_share(share: Share, expected: list[int]) -> None:
    assert share.of(0, 7).int().tolist() == expected
    assert share.of(3, 4).int().tolist() == expected[3:]


@pytest.mark.parametrize("num_workers", [1, 2, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("order", [EpochOrder(), EpochOrder(True, 2), EpochOrder(True, 0), EpochOrder(False)])
def test_workers_take_batches_in_turn(num_workers: int, batch_size: int, order: EpochOrder) -> None:
    stream = torch.cat([group.stored_ids for group in epoch_groups(BLOCK_SIZES, order)]).tolist()
    batches = [stream[i : i + batch_size] for i in range(0, len(stream), batch_size)]
    for worker in range(num_workers):
        share = Share(worker, num_workers, batch_size)
        chunks = list(plan_chunks(epoch_groups(BLOCK_SIZES, order), share, BLOCK_SIZES, ONE_MIB))
        taken = [stored for chunk in chunks for stored in chunk.stored_ids.tolist()]
        assert taken == [stored for batch in batches[worker::num_workers] for stored in batch]
        assert all(chunk.stored_ids.numel() > 0 or chunk.checked_ids is not None for chunk in chunks)
        by_block = [chunk for chunk in chunks if chunk.block_ids is not None]
        assert all(4 * c.stored_ids.numel() > 3 * BLOCK_SIZES[c.block_ids].sum() for c in by_block[1:])
        if num_workers == 1:
            assert bool(by_block) == (order.shuffle_window > 0)


def test_an_epoch_begins_with_a_small_read() -> None:
    groups = epoch_groups(BLOCK_SIZES, EpochOrder(True, 4))
    first, second, *rest = plan_chunks(groups, Share(), BLOCK_SIZES, ONE_MIB)
    assert first.block_ids is None
    assert first.stored_ids.numel() == 4  # of 1 MiB each
    assert second.block_ids is not None
    assert all(chunk.block_ids is not None for chunk in rest)


def test_a_border_group_is_read_singly_where_little_of_it_is_taken() -> None:
    groups = [
        Chunk(torch.arange(1), torch.tensor([0])),
        Chunk(torch.arange(5, 7), torch.tensor([1])),  # 2 of 3
        Chunk(torch.arange(8, 14), torch.tensor([2])),  # 6 of 7
    ]
    chunks = list(plan_chunks(groups, Share(), BLOCK_SIZES, ONE_MIB))
    assert [chunk.stored_ids.tolist() for chunk in chunks] == [[0], [], [5, 6], [8, 9, 10, 11, 12, 13]]
    assert [chunk.block_ids is None for chunk in chunks] == [True, True, True, False]
    checked = [None if chunk.checked_ids is None else chunk.checked_ids.tolist() for chunk in chunks]
    assert checked == [None, [0], [1], None]


@pytest.mark.parametrize("num_workers", [1, 2, 3, 20])
@pytest.mark.parametrize("batch_size", [1, 4, 30])
@pytest.mark.parametrize("num_replicas", [1, 3])
def test_each_block_is_read_whole_or_checked_by_a_worker(
    num_workers: int, batch_size: int, num_replicas: int
) -> None:
    for rank in range(num_replicas):
        for order in (EpochOrder(True, 4), EpochOrder(), EpochOrder(False)):
            order = dataclasses.replace(order, num_replicas=num_replicas, rank=rank)
            read: list[int] = []
            checked: list[int] = []
            for worker in range(num_workers):
                groups = epoch_groups(BLOCK_SIZES, order)
                for chunk in plan_chunks(
                    groups, Share(worker, num_workers, batch_size), BLOCK_SIZES, ONE_MIB
                ):
                    read += [] if chunk.block_ids is None else chunk.block_ids.tolist()
                    checked += [] if chunk.checked_ids is None else chunk.checked_ids.tolist()
            stream = torch.cat([group.stored_ids for group in epoch_groups(BLOCK_SIZES, order)])
            borders = [
                block for group in epoch_groups(BLOCK_SIZES, order) for block in group.border_ids.tolist()
            ]  # type: ignore[union-attr]
            assert set(read + checked) == blocks_of(stream) - set(borders)
            assert len(borders) == len(set(borders)) <= 2
            assert len(checked) == len(set(checked))


def test_a_small_group_is_read_whole_at_once() -> None:
    small = torch.full((NUM_SAMPLES,), 100)
    (chunk,) = plan_chunks(epoch_groups(BLOCK_SIZES, EpochOrder()), Share(), BLOCK_SIZES, small)
    assert chunk.block_ids is not None
    assert sorted(chunk.block_ids.tolist()) == list(range(BLOCK_SIZES.numel()))


def test_single_reads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "CHUNK_BYTES", 5 << 20)
    sizes = ONE_MIB.clone()
    sizes[20] = 50 << 20
    chunks = list(plan_chunks([Chunk(torch.arange(30), None)], Share(), BLOCK_SIZES, sizes))
    assert [stored for chunk in chunks for stored in chunk.stored_ids.tolist()] == list(range(30))
    assert all(int(sizes[chunk.stored_ids].sum()) <= 5 << 20 or 20 in chunk.stored_ids for chunk in chunks)
    assert len(chunks) <= 1 + 26 // 5 + 2


@pytest.mark.parametrize("window", [0, 1, 4])
@pytest.mark.parametrize("num_replicas", [1, 3, 7, 64])
@pytest.mark.parametrize("shuffle", [True, False])
def test_groups_are_cut_or_filled(window: int, num_replicas: int, shuffle: bool) -> None:
    for rank in range(num_replicas):
        order = EpochOrder(shuffle, window, 3, 1, num_replicas, rank)
        own = torch.cat(
            [torch.empty(0, dtype=torch.int64), *(g.stored_ids for g in epoch_groups(BLOCK_SIZES, order))]
        )
        chunks = [chunk.stored_ids for chunk in filled_groups(BLOCK_SIZES, order)]
        assert all(chunk.numel() for chunk in chunks)
        filled = torch.cat(chunks).tolist()
        assert filled[: own.numel()] == own.tolist()
        if own.numel() == 0:
            place = rank * NUM_SAMPLES // num_replicas
            alone = dataclasses.replace(order, num_replicas=NUM_SAMPLES, rank=place)
            own = torch.cat([group.stored_ids for group in epoch_groups(BLOCK_SIZES, alone)])
            assert filled == own.tolist()
        else:
            assert filled[own.numel() :] == own.tolist()[: len(filled) - own.numel()]
        assert len(filled) == -(-NUM_SAMPLES // num_replicas)
        dropped = filled_groups(BLOCK_SIZES, dataclasses.replace(order, drop_last=True))
        assert [i for chunk in dropped for i in chunk.stored_ids.tolist()] == filled[
            : NUM_SAMPLES // num_replicas
        ]
        exact = filled_groups(BLOCK_SIZES, dataclasses.replace(order, uneven="exact"))
        num_own = rank_range(NUM_SAMPLES, num_replicas, rank)
        assert [i for chunk in exact for i in chunk.stored_ids.tolist()] == filled[: num_own[1] - num_own[0]]


def test_fillers_of_a_batch_go_round() -> None:
    order = EpochOrder(True, 4, num_replicas=20, rank=3)
    (own,) = epoch_groups(BLOCK_SIZES, order)
    *_, fillers = filled_groups(BLOCK_SIZES, order, RankShare(own.stored_ids.numel(), 5))
    assert fillers.stored_ids.tolist() == (own.stored_ids.tolist() * 5)[:5]
    assert fillers.block_ids is None
