# SPDX-License-Identifier: Apache-2.0
"""The sampler of a loader that was given none, and who counts the epochs."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, DistributedSampler

import torch_dts
from torch_dts.loader._arguments import Options
from torch_dts.loader._own_sampler import complete_sampler, epochs_of
from torch_dts.loader._sampler import (
    DistributedEpochs,
    EpochCounter,
    PlainSampler,
    ShuffledSampler,
    StreamEpochs,
)

DATA: Any = list(range(10))


def completed(shuffle: bool | None = None, **kwargs: Any) -> Any:
    options = kwargs.pop("options", Options())
    arguments = {"dataset": DATA, "sampler": None, "drop_last": False, "generator": None, **kwargs}
    return complete_sampler(shuffle=shuffle, options=options, **arguments)


def test_without_one_there_is_ours() -> None:
    sampler, shuffle = completed(True)
    assert type(sampler) is ShuffledSampler
    assert shuffle is None
    for not_shuffled in (False, None):
        sampler, shuffle = completed(not_shuffled)
        assert type(sampler) is PlainSampler
        assert shuffle is None


def test_a_file_is_shuffled_by_blocks_and_other_data_uniformly(dts_file: Any) -> None:
    dataset = torch_dts.DTSDataset(dts_file())
    order = completed(True, dataset=dataset, options=Options(shuffle_window=3))[0].order
    assert order.file is dataset.file
    assert (order.shuffle_window, order.num_samples, order.has_groups) == (3, 5, True)
    assert not completed(True)[0].order.has_groups


def test_ranks_and_what_drop_last_means_for_them() -> None:
    options = Options(num_replicas=3, rank=1)
    assert len(completed(True, options=options)[0]) == 4
    assert len(completed(True, options=options, drop_last=True)[0]) == 3
    assert len(completed(True, drop_last=True)[0]) == 10  # the batches are cut, not the samples


def test_lengths_follow_the_dataset() -> None:
    data = [1, 2, 3]
    sampler, _ = completed(True, dataset=data)
    data.append(4)
    assert len(sampler) == 4
    assert sorted(sampler) == [0, 1, 2, 3]


def test_given_ones_stay() -> None:
    given = [3, 1]
    assert completed(None, sampler=given) == (given, None)
    assert completed(True, sampler=given) == (given, True)  # torch says that this is wrong
    ours, _ = completed(True)
    assert completed(True, sampler=ours) == (ours, None)
    with pytest.raises(ValueError, match="can't be taken of what a list delivers"):
        completed(None, sampler=given, options=Options(num_replicas=2, rank=0))


def test_streams_have_none() -> None:
    class Stream(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(DATA)

    assert completed(True, dataset=Stream()) == (None, True)


def counted(sampler: Any, **kwargs: Any) -> Any:
    loader: Any = torch.utils.data.DataLoader(DATA, sampler=sampler, **kwargs)
    return epochs_of(loader, Options(seed=4))


def test_who_counts_the_epochs(dts_file: Any) -> None:
    ours, _ = completed(True, options=Options(seed=6))
    assert counted(ours) is ours.epochs
    assert ours.epochs.seed == 6
    distributed: Any = DistributedSampler(DATA, 2, 0, seed=7)
    assert type(counted(distributed)) is DistributedEpochs
    assert counted(distributed).seed == 7
    inside = counted(None, batch_sampler=BatchSampler(distributed, 2, False))
    assert type(inside) is DistributedEpochs
    other = counted([1, 2])
    assert (type(other), other.seed) == (EpochCounter, 4)
    stream: Any = torch.utils.data.DataLoader(torch_dts.DTSIterableDataset(dts_file(), seed=8))
    assert type(epochs_of(stream, Options())) is StreamEpochs
    assert epochs_of(stream, Options()).claim() == (8, 0)


def test_a_subclass_of_the_distributed_sampler_has_seed_0_on_all_ranks(photos: pathlib.Path) -> None:
    class Mine(DistributedSampler[Any]):
        pass

    loader: Any = torch.utils.data.DataLoader(DATA, sampler=Mine(DATA, 2, 0))
    state = torch.get_rng_state()
    assert epochs_of(loader, Options()).claim() == (0, 0)
    assert torch.equal(torch.get_rng_state(), state)
