# SPDX-License-Identifier: Apache-2.0
"""Loaders of ranks at different epochs say so."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from loader_sets import FIXED
from torch.utils.data import DistributedSampler

import torch_dts
from torch_dts.loader._data_loader import DataLoader

KINDS = ["ranks", "sampler", "stream", "python"]


def loader_of(kind: str, path: pathlib.Path, rank: int) -> Any:
    if kind == "stream":
        return DataLoader(torch_dts.DTSIterableDataset(path, FIXED), 3, num_workers=0)
    transform = (lambda image: FIXED(image)) if kind == "python" else FIXED
    dataset: Any = torch_dts.DTSDataset(path, transform)
    if kind == "sampler":
        sampler: Any = DistributedSampler(dataset, 2, rank)
        return DataLoader(dataset, 3, sampler=sampler, num_workers=0)
    return DataLoader(dataset, 3, shuffle=True, num_replicas=2, rank=rank, num_workers=0)


@pytest.fixture(params=KINDS)
def loaders(request: Any, blocks_file: pathlib.Path, group: Any) -> Iterator[list[Any]]:
    made = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Python.*")
        for rank in range(2):
            group.become(rank)
            made.append(loader_of(request.param, blocks_file, rank))
        yield made


def test_other_epochs_are_an_error(loaders: list[Any], group: Any) -> None:
    for rank, loader in enumerate(loaders):
        group.become(rank)
        set_epoch = getattr(loader.sampler, "set_epoch", loader.set_epoch)
        set_epoch(4 + rank)
        if rank == 0:
            iter(loader)
            continue
        with pytest.raises(ValueError, match="rank 1 begins epoch 5 but another rank epoch 4: ranks that s"):
            iter(loader)


def test_a_state_for_one_rank_only_is_noticed(loaders: list[Any], group: Any) -> None:
    group.become(0)
    batches = iter(loaders[0])
    next(batches)
    state = loaders[0].state_dict()
    group.become(1)
    loaders[1].load_state_dict(state)
    with pytest.warns(
        UserWarning, match=r"rank 1 begins epoch 0, of which \[\[2, 3\]\] are done, but another"
    ):
        iter(loaders[1])


def test_equal_epochs_and_looks_are_fine(loaders: list[Any], group: Any) -> None:
    for rank, loader in enumerate(loaders):
        group.become(rank)
        if rank == 0:
            next(iter(loader))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in range(3):
                loader.set_epoch(epoch)
                list(loader)
        assert [str(warning.message) for warning in caught if "another rank" in str(warning.message)] == []


def test_a_look_that_shifts_the_epochs_is_noticed(loaders: list[Any], group: Any) -> None:
    group.become(0)
    next(iter(loaders[0]))
    for _ in range(2):
        list(loaders[0])
    group.become(1)
    list(loaders[1])
    with pytest.warns(UserWarning, match="rank 1 has ended epoch 0 but another rank epoch 1: ranks that s"):
        list(loaders[1])
