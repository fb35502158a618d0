# SPDX-License-Identifier: Apache-2.0
"""The DataPipe read_dts: same samples, sharded once."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.datapipes.iter import IterableWrapper
from torch.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
from torchvision.transforms import PILToTensor

import torch_dts
from torch_dts import DTSIterableDataset

Numbers = Callable[..., list[int]]


def pipe_of(*paths: pathlib.Path, **arguments: Any) -> Any:
    return IterableWrapper(list(paths)).read_dts(**arguments)


def load(pipe: Any, num_workers: int, numbers: Numbers, **arguments: Any) -> list[int]:
    loader = DataLoader(pipe, batch_size=None, num_workers=num_workers, **arguments)
    return numbers(loader)


def test_stored_order_of_each_path(
    one_block: pathlib.Path, many_blocks: pathlib.Path, numbers: Numbers
) -> None:
    expected = [
        index for path in (many_blocks, one_block) for index in torch_dts.open(path).source_index.tolist()
    ]
    assert numbers(pipe_of(many_blocks, one_block)) == expected
    pipe = pipe_of(str(one_block), transform=PILToTensor(), target_transform=str)
    image, label = next(iter(pipe))
    assert torch.equal(image, PILToTensor()(torch_dts.DTSDataset(one_block)[expected[23]][0]))
    assert label == str(expected[23] % 5)


def test_shuffled_as_the_iterable_dataset(many_blocks: pathlib.Path, numbers: Numbers) -> None:
    for window in (2, "all"):
        dataset = DTSIterableDataset(many_blocks, seed=5, shuffle_window=window)
        pipe = pipe_of(many_blocks, shuffle=True, seed=5, shuffle_window=window)
        for _ in range(2):
            assert numbers(pipe) == numbers(dataset)


@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_each_sample_comes_once(
    one_block: pathlib.Path, numbers: Numbers, num_workers: int, shuffle: bool
) -> None:
    pipe = pipe_of(one_block, one_block, shuffle=shuffle, seed=1)
    for _ in range(2):
        found = load(pipe, num_workers, numbers)
        assert sorted(found) == sorted([*range(10), *range(10)])
        if num_workers > 1:  # also while worker 0 is in the second file
            first = pipe_of(one_block, one_block)
            first.apply_sharding(num_workers, 1)
            assert len(list(first)) == len(range(1, 20, num_workers))


@pytest.mark.parametrize(("num_workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_epochs_differ_and_seeds_hold(
    one_block: pathlib.Path, numbers: Numbers, num_workers: int, persistent: bool
) -> None:
    def epochs(torch_seed: int, num_epochs: int = 3, **arguments: Any) -> list[list[int]]:
        torch.manual_seed(torch_seed)
        pipe = pipe_of(one_block, shuffle=True, **arguments)
        loader = DataLoader(pipe, batch_size=None, num_workers=num_workers, persistent_workers=persistent)
        return [numbers(loader) for _ in range(num_epochs)]

    seeded = epochs(1, seed=7)
    assert len({tuple(epoch) for epoch in seeded}) == 3
    assert epochs(2, 2, seed=7) == seeded[:2]
    unseeded = epochs(1, 2)
    assert unseeded[0] != unseeded[1]
    assert epochs(1, 1) == unseeded[:1]
    assert epochs(2, 1) != unseeded[:1]


def test_the_loaders_shuffle_argument(one_block: pathlib.Path, numbers: Numbers) -> None:
    stored = numbers(pipe_of(one_block))
    assert load(pipe_of(one_block, shuffle=True, seed=0), 0, numbers, shuffle=False) == stored
    expected = numbers(DTSIterableDataset(one_block, seed=0))
    assert load(pipe_of(one_block, seed=0), 0, numbers, shuffle=True) == expected


def test_sharding_groups_as_torchs_filter(one_block: pathlib.Path, numbers: Numbers) -> None:
    stored = numbers(pipe_of(one_block))
    ours, torchs = pipe_of(one_block), IterableWrapper(stored).sharding_filter()
    for pipe in (ours, torchs):
        pipe.apply_sharding(2, 1, sharding_group=SHARDING_PRIORITIES.DISTRIBUTED)
        pipe.apply_sharding(3, 2, sharding_group=SHARDING_PRIORITIES.MULTIPROCESSING)
    assert numbers(ours) == list(torchs)
    with pytest.raises(RuntimeError, match="can't mix the default sharding group"):
        ours.apply_sharding(2, 1)
    with pytest.raises(ValueError, match="instance_id is 2, expected 0 to 1"):
        ours.apply_sharding(2, 2)
    assert ours.is_shardable()


def test_sharding_twice_is_torchs_error(one_block: pathlib.Path) -> None:
    pipe = pipe_of(one_block).sharding_filter()
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        list(DataLoader(pipe, batch_size=None, num_workers=0))


def test_in_a_longer_pipeline_with_a_lambda(one_block: pathlib.Path) -> None:
    pipe = pipe_of(one_block, transform=lambda image: image.size[0])
    batches = list(DataLoader(pipe.map(lambda item: item[0]).batch(4), batch_size=None, num_workers=2))
    assert sorted(len(batch) for batch in batches) == [1, 1, 4, 4]
    assert {size for batch in batches for size in batch} == {8}


def test_left_early_leaves_no_thread(many_blocks: pathlib.Path) -> None:
    before = threading.active_count()
    iterator = iter(pipe_of(many_blocks))
    next(iterator)
    del iterator
    assert threading.active_count() == before


def test_wrong_arguments(one_block: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="shuffle_window is 0"):
        pipe_of(one_block, shuffle_window=0)
    with pytest.raises(TypeError, match="seed is 'a', expected an int or None"):
        pipe_of(one_block, seed="a")
    with pytest.raises(FileNotFoundError, match=r"missing\.dts"):
        list(IterableWrapper(["missing.dts"]).read_dts())
