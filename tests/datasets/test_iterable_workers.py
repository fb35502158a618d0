# SPDX-License-Identifier: Apache-2.0
"""DTSIterableDataset under torch's DataLoader: the same epoch for any number of workers."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import ChainDataset, DataLoader
from torchvision.transforms import PILToTensor

import torch_dts
from torch_dts import DTSDataset, DTSIterableDataset, _native

Numbers = Callable[..., list[int]]


def native_order(path: pathlib.Path, seed: int, epoch: int, window: int, *ranks: int) -> list[int]:
    with torch_dts.open(path) as file:
        sizes = file.block_table.num_samples
        return file.source_index[_native.sample_order(sizes, seed, epoch, window, *ranks)].tolist()


def loader_of(dataset: DTSIterableDataset, num_workers: int, **arguments: Any) -> DataLoader:
    return DataLoader(dataset, num_workers=num_workers, collate_fn=list, **arguments)


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_do_not_depend_on_workers(
    many_blocks: pathlib.Path, numbers: Numbers, num_workers: int, drop_last: bool
) -> None:
    dataset = DTSIterableDataset(many_blocks, seed=6, shuffle_window=2, batch_size=4)
    loader = loader_of(dataset, num_workers, batch_size=4, drop_last=drop_last)
    assert len(loader) == (5 if drop_last else 6)
    found = [numbers(batch) for batch in loader]
    order = native_order(many_blocks, 6, 0, 2)
    expected = [order[i : i + 4] for i in range(0, 23, 4)]
    assert found == (expected[:5] if drop_last else expected)


@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"shuffle_window": "all"}], ids=str)
def test_each_sample_comes_once(
    one_block: pathlib.Path,
    numbers: Numbers,
    num_workers: int,
    batch_size: int | None,
    options: dict[str, Any],
) -> None:
    dataset = DTSIterableDataset(one_block, batch_size=batch_size, **options)
    loader = loader_of(dataset, num_workers, batch_size=4)
    found = [sorted(numbers(item for batch in loader for item in batch)) for _ in range(2)]
    assert found == [list(range(10))] * 2


@pytest.mark.parametrize("num_workers", [2, 3])
def test_samples_are_dealt_one_by_one_without_batch_size(
    one_block: pathlib.Path, numbers: Numbers, num_workers: int
) -> None:
    loader = loader_of(DTSIterableDataset(one_block, seed=6), num_workers, batch_size=2)
    found = [numbers(batch) for batch in loader]
    order = native_order(one_block, 6, 0, 16)
    for worker in range(num_workers):
        assert found[worker] == order[worker::num_workers][:2]


@pytest.mark.parametrize(("num_workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_epochs_differ_and_set_epoch_reaches_workers(
    one_block: pathlib.Path, numbers: Numbers, num_workers: int, persistent: bool
) -> None:
    dataset = DTSIterableDataset(one_block, seed=8, batch_size=3)
    loader = loader_of(dataset, num_workers, batch_size=3, persistent_workers=persistent)

    def epoch() -> list[int]:
        return numbers(item for batch in loader for item in batch)

    epochs = [epoch() for _ in range(3)]
    assert epochs == [native_order(one_block, 8, number, 16) for number in range(3)]
    assert len({tuple(order) for order in epochs}) == 3
    dataset.set_epoch(1)
    assert [epoch(), epoch()] == epochs[1:]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_without_a_seed_torchs_decides(one_block: pathlib.Path, numbers: Numbers, num_workers: int) -> None:
    def epochs(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        loader = loader_of(DTSIterableDataset(one_block, batch_size=5), num_workers, batch_size=5)
        return [numbers(item for batch in loader for item in batch) for _ in range(2)]

    first = epochs(1)
    assert first[0] != first[1]
    assert epochs(1) == first
    assert epochs(2) != first


@pytest.mark.parametrize("num_workers", [0, 2])
def test_ranks_and_workers_together(many_blocks: pathlib.Path, numbers: Numbers, num_workers: int) -> None:
    for rank in range(3):
        dataset = DTSIterableDataset(
            many_blocks, seed=1, shuffle_window=2, batch_size=2, num_replicas=3, rank=rank
        )
        loader = loader_of(dataset, num_workers, batch_size=2)
        found = [numbers(batch) for batch in loader]
        order = native_order(many_blocks, 1, 0, 2, 3, rank)
        order += order[: 8 - len(order)]  # one of the ranks is short
        assert found == [order[i : i + 2] for i in range(0, 8, 2)]
        assert len(found) == len(loader)


def test_fewer_batches_than_workers(one_block: pathlib.Path, numbers: Numbers) -> None:
    loader = loader_of(DTSIterableDataset(one_block, seed=1, batch_size=16), 2, batch_size=16)
    assert [numbers(batch) for batch in loader] == [native_order(one_block, 1, 0, 16)]
    assert len(loader) == 1


def test_a_loop_left_early_starts_a_new_epoch(one_block: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(one_block, seed=8, batch_size=2)
    for persistent in (False, True):
        loader = loader_of(dataset, 2, batch_size=2, persistent_workers=persistent)
        dataset.set_epoch(3)
        for epoch in range(3, 6):
            for batch in loader:
                assert numbers(batch) == native_order(one_block, 8, epoch, 16)[:2]
                break


def test_chained_with_itself(one_block: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(one_block, seed=8)
    chained: Any = ChainDataset([dataset, dataset])
    for num_workers in (0, 2):
        dataset.set_epoch(0)
        found = numbers(item for batch in loader_of(chained, num_workers, batch_size=1) for item in batch)
        assert sorted(found) == sorted([*range(10), *range(10)])


def test_errors_of_workers_come_out_with_the_sample(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.dts"
    torch_dts.convert([(b"no picture", 0)] * 3, path, check="none", progress=False)
    loader = loader_of(DTSIterableDataset(path, shuffle=False), 1, batch_size=1)
    with pytest.raises(OSError, match=r"(?s)DataLoader worker.*cannot identify image file.*\[sample \d"):
        list(loader)


def test_fresh_workers(one_block: pathlib.Path, fresh: Any) -> None:
    # A map-style dataset rides along: its items stand where the labels were.
    mapped = DTSDataset(one_block, PILToTensor())
    dataset = DTSIterableDataset(one_block, PILToTensor(), mapped.__getitem__, seed=8, batch_size=2)
    loader = DataLoader(
        dataset, batch_size=2, num_workers=2, multiprocessing_context=fresh, persistent_workers=True
    )
    for epoch in (0, 1, 5):
        if epoch == 5:
            dataset.set_epoch(5)
        batches = list(loader)
        expected = native_order(one_block, 8, epoch, 16)
        gray = torch.cat([images[:, 0, 0, 0] for images, _ in batches])
        assert (gray / 8).round().int().tolist() == expected
        images, labels = (torch.cat(parts) for parts in zip(*(item for _, item in batches), strict=True))
        assert torch.equal(images, torch.stack([mapped[number % 5][0] for number in expected]))
        assert labels.tolist() == [number % 5 for number in expected]


@pytest.mark.parametrize(
    ("num_workers", "num_replicas", "batch_size"), [(0, 3, 2), (0, 40, 2), (0, 1, 4), (1, 7, 4), (3, 7, 1)]
)
def test_filled_and_exact_ranks(
    many_blocks: pathlib.Path, numbers: Numbers, num_workers: int, num_replicas: int, batch_size: int
) -> None:
    def ranks(**arguments: Any) -> list[list[list[int]]]:
        found = []
        for rank in range(0, num_replicas, max(1, num_replicas // 3)):
            dataset = DTSIterableDataset(
                many_blocks,
                seed=1,
                shuffle_window=2,
                batch_size=batch_size,
                num_replicas=num_replicas,
                rank=rank,
                **arguments,
            )
            loader = loader_of(dataset, num_workers, batch_size=batch_size)
            found.append([numbers(batch) for batch in loader])
            assert sum(map(len, found[-1])) == len(dataset)
            own = native_order(many_blocks, 1, 0, 2, num_replicas, rank)
            flat = [number for batch in found[-1] for number in batch]
            assert flat[: len(own)] == own[: len(flat)]
            if own:
                assert flat[len(own) :] == own[: max(0, len(flat) - len(own))]
        return found

    filled = ranks()
    longest = -(-23 // num_replicas)
    assert {sum(map(len, rank)) for rank in filled} == {longest}
    dropped = ranks(drop_last=True)
    assert {sum(map(len, rank)) for rank in dropped} == {23 // num_replicas}
    exact = [number for rank in ranks(uneven="exact") for batch in rank for number in batch]
    assert len(exact) == len(set(exact))
    if num_replicas <= 3:
        assert sorted(exact) == list(range(23))
