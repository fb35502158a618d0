# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch, its ranks and units, beside known answers and the plain definition."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import torch_dts
from torch_dts.datasets._chunks import EpochOrder, epoch_groups
from torch_dts.datasets._shares import RankShare, rank_range
from torch_dts.loader._order import Group, Order, Reading, Stream, cut_units, unit_samples

SIZES = [3, 1, 8, 5, 4, 2, 6, 1]
WHOLE = sum(SIZES)


def made_up(sizes: list[int] = SIZES) -> Any:
    """A file with blocks of so many samples, whose source order is the reverse of the stored one."""
    total = sum(sizes)
    table = SimpleNamespace(num_samples=torch.tensor(sizes))
    return SimpleNamespace(block_table=table, positions_of=lambda ids: total - 1 - ids)


def file_order(**kwargs: Any) -> Order:
    return Order(WHOLE, **{"file": made_up(), "shuffle": True, "shuffle_window": 2, **kwargs})


@pytest.mark.parametrize("window", [0, 1, 2, 4, 100])
def test_one_rank_delivers_the_known_order(vectors: Callable[[str], dict[str, Any]], window: int) -> None:
    known = [case for case in vectors("order")["rank_order"] if case["shuffle_window"] == window]
    for case in known:
        sizes = case["block_sizes"]
        for rank, expected in enumerate(case["ranks"]):
            order = Order(
                sum(sizes),
                file=made_up(sizes),
                shuffle=True,
                shuffle_window=window,
                num_replicas=case["num_replicas"],
                rank=rank,
            )
            stream = order.stream(case["seed"], case["epoch"])
            assert stream.ids.tolist() == expected
            assert stream.all_ids.numel() == len(order)


def test_data_without_blocks_are_shuffled_uniformly(vectors: Callable[[str], dict[str, Any]]) -> None:
    for case in vectors("order")["uniform_order"]:
        order = Order(case["num_samples"], shuffle=True, shuffle_window=16)
        stream = order.stream(case["seed"], case["epoch"])
        assert stream.ids.tolist() == case["order"]
        assert stream.groups is None
        assert order.to_dataset(stream.ids) is stream.ids


def test_without_shuffling_datasets_keep_their_order_and_streams_the_files() -> None:
    assert file_order(shuffle=False).stream(0, 5).ids.tolist() == list(range(WHOLE))
    assert file_order(shuffle=False).stream(0, 5).groups is None
    stored = file_order(shuffle=False, is_stored=True)
    stream = stored.stream(0, 5)
    assert stream.ids.tolist() == list(range(WHOLE))
    assert stored.to_dataset(stream.ids).tolist() == list(reversed(range(WHOLE)))
    assert stream.groups is not None
    assert torch.cat([group.blocks for group in stream.groups]).tolist() == list(range(len(SIZES)))


@pytest.mark.parametrize("kwargs", [{}, {"shuffle_window": 0}, {"shuffle": False}, {"file": None}])
@pytest.mark.parametrize("num_replicas", [1, 2, 3, 7, 30, 31, 64])
def test_filled_ranks(kwargs: dict[str, Any], num_replicas: int) -> None:
    streams = [
        file_order(num_replicas=num_replicas, rank=rank, **kwargs).stream(3, 1)
        for rank in range(num_replicas)
    ]
    length = -(-WHOLE // num_replicas)
    assert [stream.all_ids.numel() for stream in streams] == [length] * num_replicas
    own = Counter[int]()
    for rank, stream in enumerate(streams):
        first, end = rank_range(WHOLE, num_replicas, rank)
        assert stream.fillers.numel() == length - (end - first)
        own.update(stream.ids.tolist())
        if stream.fillers.numel():
            assert stream.filler_occurrences.tolist() == [1]
            if end > first:
                assert stream.fillers.tolist() == stream.ids.tolist()[:1]  # the one delivered first
    assert own == Counter(range(WHOLE))


@pytest.mark.parametrize("kwargs", [{}, {"shuffle_window": 0}, {"shuffle": False}])
def test_a_rank_without_samples_takes_the_one_at_its_place(kwargs: dict[str, Any]) -> None:
    # With n ranks each has one sample: the stream by position. Rank r of R takes position r*n//R.
    by_position = [
        file_order(num_replicas=WHOLE, rank=rank, **kwargs).stream(9, 2).ids.item() for rank in range(WHOLE)
    ]
    num_replicas = WHOLE + 5
    for rank in range(num_replicas):
        stream = file_order(num_replicas=num_replicas, rank=rank, **kwargs).stream(9, 2)
        assert stream.all_ids.tolist() == [by_position[rank * WHOLE // num_replicas]]
        if not stream.ids.numel():
            more = file_order(num_replicas=num_replicas, rank=rank, **kwargs).stream(9, 2, RankShare(0, 3))
            assert more.fillers.tolist() == stream.all_ids.tolist() * 3
            assert more.filler_occurrences.tolist() == [1, 2, 3]


@pytest.mark.parametrize("kwargs", [{}, {"shuffle_window": 0}, {"shuffle": False}])
@pytest.mark.parametrize("num_replicas", [2, 3, 7, 31])
def test_drop_last_leaves_each_rank_its_first_samples(kwargs: dict[str, Any], num_replicas: int) -> None:
    for rank in range(num_replicas):
        ranks = {"num_replicas": num_replicas, "rank": rank, **kwargs}
        filled = file_order(**ranks).stream(3, 1)
        dropped = file_order(drop_last=True, **ranks).stream(3, 1)
        length = WHOLE // num_replicas
        assert dropped.ids.tolist() == filled.all_ids.tolist()[:length]
        assert dropped.fillers.numel() == 0
        if dropped.groups is not None:
            assert sum(group.num_samples for group in dropped.groups) == length


@pytest.mark.parametrize("kwargs", [{}, {"shuffle_window": 0}, {"shuffle": False}, {"file": None}])
@pytest.mark.parametrize("num_replicas", [1, 3, 7, 64, 1024])
def test_exact_ranks_deliver_each_sample_once(kwargs: dict[str, Any], num_replicas: int) -> None:
    seen: list[int] = []
    for rank in range(num_replicas):
        order = file_order(num_replicas=num_replicas, rank=rank, uneven="exact", **kwargs)
        stream = order.stream(3, 1)
        assert stream.fillers.numel() == 0
        assert stream.ids.numel() == len(order)
        seen += stream.ids.tolist()
    assert sorted(seen) == list(range(WHOLE))


def test_an_empty_dataset_has_an_empty_stream() -> None:
    for rank in range(2):
        order = Order(0, num_replicas=2, rank=rank)
        assert len(order) == 0
        assert order.stream(0, 0).ids.numel() == 0


def test_groups_hold_the_blocks_of_their_samples() -> None:
    order = file_order(num_replicas=3, rank=1)
    stream = order.stream(5, 7)
    first_of_block = torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES)
    assert stream.groups is not None
    position = 0
    for count, blocks, borders in stream.groups:
        ids = stream.ids[position : position + count]
        found = torch.bucketize(ids, first_of_block, right=True).sub(1).tolist()
        assert set(found) == set(blocks.tolist() + borders.tolist())
        assert all(found.count(block) == SIZES[block] for block in blocks)
        assert all(found.count(block) < SIZES[block] for block in borders)
        position += count
    assert sum(group.borders.numel() for group in stream.groups) in (1, 2)
    assert position == stream.ids.numel()
    assert stream.ids.tolist() == [
        i
        for chunk in epoch_groups(torch.tensor(SIZES), EpochOrder(True, 2, 5, 7, 3, 1))
        for i in chunk.stored_ids.tolist()
    ]


NONE = torch.empty(0, dtype=torch.int64)


def cuts(
    stream: Stream, batch_size: int, mean_bytes: float, **kwargs: Any
) -> Iterator[tuple[int, int, bool]]:
    for unit in cut_units(stream, batch_size, Reading(mean_bytes, **kwargs)):
        yield unit.ids.numel(), unit.blocks.numel(), unit.is_filler


def long_stream(num_fillers: int = 0) -> Stream:
    blocks = [(1000, torch.arange(16)), (1000, torch.arange(16, 32)), (100, torch.tensor([32, 33]))]
    groups = [Group(count, ids, NONE) for count, ids in blocks]
    fillers = torch.arange(num_fillers)
    return Stream(torch.arange(2100), groups, fillers, torch.ones_like(fillers))


def test_units_join_to_the_stream() -> None:
    singly = Stream(torch.arange(100), None, torch.tensor([0]), torch.tensor([1]))
    for stream in (long_stream(1), singly):
        for batch_size, mean_bytes in [(1, 1e5), (64, 1e5), (256, 1e2), (5000, 1e7)]:
            units = list(cut_units(stream, batch_size, Reading(mean_bytes)))
            assert torch.equal(torch.cat([unit.ids for unit in units]), stream.all_ids)
            assert all(unit.ids.numel() > 0 for unit in units)


def test_the_first_two_batches_are_read_singly() -> None:
    assert list(cuts(long_stream(), 64, 110_000)) == [
        (76, 0, False),
        (52, 0, False),
        (872, 16, False),
        (1000, 16, False),
        (100, 2, False),
    ]


def test_small_batches_begin_with_four_mebibytes() -> None:
    assert list(cuts(long_stream(), 1, 110_000))[:2] == [(38, 0, False), (962, 16, False)]


def test_large_batches_do_not_read_most_of_a_group_twice() -> None:
    assert list(cuts(long_stream(), 256, 110_000))[:2] == [(38, 0, False), (962, 16, False)]
    assert list(cuts(long_stream(), 256, 1000))[:1] == [(1000, 16, False)]


def test_a_filler_is_a_unit_of_its_own() -> None:
    assert list(cuts(long_stream(1), 64, 110_000))[-1] == (1, 0, True)
    assert list(cuts(long_stream(100), 64, 110_000))[-2:] == [(76, 0, True), (24, 0, True)]


def test_what_is_read_twice_is_bounded_where_ranks_share_a_set() -> None:
    def first(most: int) -> tuple[int, int, bool]:
        return next(cuts(long_stream(), 64, 110_000, most_single_bytes=most))

    assert first(12 << 20) == (76, 0, False)
    assert list(cuts(long_stream(), 64, 110_000, most_single_bytes=12 << 20))[1] == (38, 0, False)
    assert first(2 << 20) == (19, 0, False)
    assert first(0) == (1000, 16, False)


def test_border_blocks_are_read_whole_only_to_keep_them() -> None:
    groups = [Group(10, torch.tensor([4]), torch.tensor([7])), Group(6, NONE, torch.tensor([2]))]
    stream = Stream(torch.arange(16), groups, NONE, NONE)
    assert list(cuts(stream, 64, 1e7)) == [(10, 1, False), (6, 0, False)]
    assert list(cuts(stream, 64, 1e7, keeps_bytes=True)) == [(10, 2, False), (6, 1, False)]


@pytest.mark.parametrize(
    ("mean_bytes", "expected"), [(0, 1024), (3000, 1024), (110_000, 76), (10_000_000, 16)]
)
def test_units_of_single_samples(mean_bytes: float, expected: int) -> None:
    assert unit_samples(mean_bytes) == expected


def test_a_real_file_gives_the_iterable_datasets_order(dts_file: Callable[..., pathlib.Path]) -> None:
    path = dts_file(classes={"a": 9, "b": 8})
    dataset = torch_dts.DTSIterableDataset(path, seed=4, num_replicas=3, rank=2)
    dataset.set_epoch(6)
    order = Order(17, file=dataset.file, shuffle=True, shuffle_window=16, num_replicas=3, rank=2)
    stream = order.stream(4, 6)
    labels = dataset.file.labels[order.to_dataset(stream.all_ids)]
    assert labels.tolist() == [label for _, label in dataset]
