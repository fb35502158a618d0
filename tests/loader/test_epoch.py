# SPDX-License-Identifier: Apache-2.0
"""How samplers are read, and that an epoch in Python is the native one."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import pytest
import torch.utils.data
from loader_sets import FIXED, NUM_PHOTOS
from torch.utils.data import BatchSampler, DistributedSampler, SequentialSampler

import torch_dts
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._epoch import batching_of, begin_python_epoch, known_order


def file_loader(path: pathlib.Path, **kwargs: Any) -> DataLoader:
    return DataLoader(torch_dts.DTSDataset(path, FIXED), **{"batch_size": 4, "num_workers": 1, **kwargs})


def test_our_samplers_are_known_orders(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file, shuffle=True)
    batching = batching_of(loader, 16)
    assert batching.order == loader.sampler.order  # type: ignore[union-attr]
    assert (batching.rule, batching.is_batched) == ((4, "partial"), True)
    single = batching_of(file_loader(photos_file, batch_size=None), 16)
    assert (single.order is None, single.rule, single.is_batched) == (False, (1, "partial"), False)


def test_samplers_of_other_data_are_asked_for_their_indices(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, FIXED)
    ours = file_loader(photos_file, shuffle=True).sampler
    assert known_order(ours, dataset, 16) is None  # the same file, but opened another time
    assert known_order(ours, range(NUM_PHOTOS), 16) is None
    assert known_order(ours, ours.data_source, 16) is not None  # type: ignore[union-attr]
    shorter: Any = DistributedSampler(range(5), 2, 0)  # type: ignore[arg-type]
    assert known_order(shorter, dataset, 16) is None
    assert known_order(SequentialSampler(dataset), dataset, 16) is None


def test_the_batches_of_known_samplers_are_looked_into(photos_file: pathlib.Path) -> None:
    class Mine(BatchSampler):
        pass

    dataset: Any = torch_dts.DTSDataset(photos_file, FIXED)
    inner: Any = DistributedSampler(dataset, 2, 0)
    batching = batching_of(DataLoader(dataset, batch_sampler=BatchSampler(inner, 5, True)), 3)
    assert batching.order is not None
    assert batching.rule == (5, "drop")
    assert (batching.order.num_replicas, batching.order.shuffle_window) == (2, 3)
    assert batching_of(DataLoader(dataset, batch_sampler=Mine(inner, 5, True)), 3).order is None


def test_streams(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(photos_file, FIXED, shuffle_window=2, num_replicas=3, rank=1)
    batching = batching_of(DataLoader(dataset, 5, drop_last=True), 16)
    assert batching.order is not None
    assert (batching.order.shuffle_window, batching.order.rank, batching.order.drop_last) == (2, 1, True)
    assert batching.rule == (5, "drop")


@pytest.mark.parametrize(
    "arguments",
    [
        {"shuffle": True, "seed": 3},
        {"shuffle": True, "seed": 3, "drop_last": True, "batch_size": 5},
        {"shuffle": True, "num_replicas": 3, "rank": 2},
        {},
        {"batch_size": None, "shuffle": True, "seed": 3},
        {"sampler": [4, 4, 1, 20, 0]},
        {"sampler": [4, 4, 1], "batch_size": None},
        {"sampler": [4, 1, 2, 3, 8], "last_batch": "fill"},
        {"shuffle": True, "num_replicas": 40, "rank": 6, "last_batch": "fill"},
    ],
)
def test_an_epoch_in_python_is_the_native_one(arguments: dict[str, Any], photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file, return_index=True, **arguments)
    for epoch in range(2):
        native = [torch.as_tensor(batch[2]).tolist() for batch in loader]
        loader.set_epoch(epoch)
        python = begin_python_epoch(loader, loader._epochs, loader.seed, 16)
        found = [getattr(batch, "indices", batch) for batch in python.batches]
        if arguments.get("batch_size", 4) is None and "sampler" not in arguments:
            found = list(itertools.chain(*found))
        assert found == native
        assert (python.seed, python.epoch) == (loader._epochs.seed, epoch)


def test_the_seed_of_the_choices_may_be_another(photos_file: pathlib.Path) -> None:
    dataset: Any = torch_dts.DTSDataset(photos_file, FIXED)
    sampler: Any = DistributedSampler(dataset, 2, 0, seed=7)
    for seed, expected in ((None, 7), (8, 8)):
        loader = DataLoader(dataset, sampler=sampler, seed=seed)
        assert begin_python_epoch(loader, loader._epochs, loader.seed, 16).seed == expected
