# SPDX-License-Identifier: Apache-2.0
"""Iterable datasets of ranks with different seeds are told so, by whichever comes second."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from torch_dts import DTSIterableDataset
from torch_dts.datasets._agreement import require_same


def test_equal_words_agree(group: Any) -> None:
    require_same("a", "seed 1", 2, 0)
    require_same("a", "seed 2", 2, 0)
    require_same("b", "seed 3", 2, 0)
    require_same("a", "seed 9", 3, 0)  # of something else
    group.become(1)
    require_same("a", "seed 1", 2, 1)
    with pytest.raises(ValueError, match="rank 1 has seed 7, but another rank has seed 2: ranks that share"):
        require_same("a", "seed 7", 2, 1)
    require_same("b", "seed 3", 2, 1)


def test_a_dataset_says_so_at_once(group: Any, one_block: pathlib.Path) -> None:
    DTSIterableDataset(one_block)
    DTSIterableDataset(one_block, seed=8, shuffle=False)  # nothing that ranks could disagree on
    group.become(1)
    with pytest.raises(
        ValueError, match="has seed 4, shuffle_window 16, but another rank has seed 0, shuffle_w"
    ):
        DTSIterableDataset(one_block, seed=4)
    group.become(1)
    with pytest.raises(
        ValueError, match="has seed 0, shuffle_window all, but another rank has seed 0, shuffle_w"
    ):
        DTSIterableDataset(one_block, seed=0, shuffle_window="all")
    DTSIterableDataset(one_block, seed=7, num_replicas=3, rank=0)  # ranks of something else


@pytest.mark.parametrize("begin", [iter, lambda dataset: dataset.set_epoch(1)])
def test_a_group_that_is_made_later(begin: Any, group: Any, one_block: pathlib.Path) -> None:
    group.is_there = False
    datasets = [DTSIterableDataset(one_block, seed=seed) for seed in range(2)]
    group.is_there = True
    begin(datasets[0])
    group.become(1)
    with pytest.raises(ValueError, match="rank 1 has seed 1, shuffle_window 16, but another rank has seed 0"):
        begin(datasets[1])
