# SPDX-License-Identifier: Apache-2.0
"""Process groups that come too late for a dataset, or not at all."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from torch.utils.data import DataLoader

from torch_dts import DTSIterableDataset

LATE = r"the dataset was iterated before the process group was made: .* this is rank 1 of 2"


def test_torchrun_without_a_group(one_block: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = DTSIterableDataset(one_block)
    iter(dataset)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.warns(
        UserWarning, match="WORLD_SIZE is 4, but torch.distributed is not initialised: each pr"
    ):
        iter(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iter(dataset)  # said once
        iter(DTSIterableDataset(one_block, num_replicas=1, rank=0))


@pytest.mark.parametrize("come_by", [iter, len, lambda dataset: dataset.set_epoch(1)])
def test_a_group_that_comes_late(come_by: Any, group: Any, one_block: pathlib.Path) -> None:
    group.is_there, group.rank = False, 1
    dataset, other = DTSIterableDataset(one_block), DTSIterableDataset(one_block)
    iter(dataset)
    group.is_there = True
    with pytest.warns(UserWarning, match=LATE):
        come_by(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        come_by(dataset)
        come_by(other)


def test_workers_that_live_on_learn_their_ranks(
    group: Any, many_blocks: pathlib.Path, numbers: Callable[[Any], list[int]]
) -> None:
    group.is_there, group.rank = False, 1
    dataset = DTSIterableDataset(many_blocks, seed=3)
    # Forked before the group is made, the workers would never see it.
    loader: Any = DataLoader(
        dataset, None, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    assert len(numbers(loader)) == 23
    group.is_there = True
    with pytest.warns(UserWarning, match=LATE):
        dataset.set_epoch(1)
    expected = DTSIterableDataset(many_blocks, seed=3, num_replicas=2, rank=1)
    expected.set_epoch(1)
    assert sorted(numbers(loader)) == sorted(numbers(expected))
