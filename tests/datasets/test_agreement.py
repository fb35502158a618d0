# SPDX-License-Identifier: Apache-2.0
"""Iterable datasets of ranks with different seeds are told so, by whichever comes second."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch.distributed as dist

from torch_dts import DTSIterableDataset
from torch_dts.datasets import _agreement
from torch_dts.datasets._agreement import require_same


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """A store, and a process group of two ranks that would wait for each other in any collective."""
    now = {"rank": 0}
    store = dist.HashStore()
    store.set_timeout(datetime.timedelta(seconds=1))
    monkeypatch.setattr(dist, "is_initialized", lambda: "is_absent" not in now)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "get_rank", lambda: now["rank"])
    monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: store)
    _agreement._begun.clear()
    yield now
    _agreement._begun.clear()


def become(group: dict[str, int], rank: int) -> None:
    group["rank"] = rank
    _agreement._begun.clear()


def test_equal_words_agree(group: dict[str, int]) -> None:
    require_same("a", "seed 1", 2, 0)
    require_same("a", "seed 2", 2, 0)
    require_same("b", "seed 3", 2, 0)
    require_same("a", "seed 9", 3, 0)  # of something else
    become(group, 1)
    require_same("a", "seed 1", 2, 1)
    with pytest.raises(ValueError, match="rank 1 has seed 7, but another rank has seed 2: ranks that share"):
        require_same("a", "seed 7", 2, 1)
    require_same("b", "seed 3", 2, 1)


def test_a_dataset_says_so_at_once(group: dict[str, int], one_block: pathlib.Path) -> None:
    DTSIterableDataset(one_block)
    DTSIterableDataset(one_block, seed=8, shuffle=False)  # nothing that ranks could disagree on
    become(group, 1)
    with pytest.raises(
        ValueError, match="has seed 4, shuffle_window 16, but another rank has seed 0, shuffle_w"
    ):
        DTSIterableDataset(one_block, seed=4)
    become(group, 1)
    with pytest.raises(
        ValueError, match="has seed 0, shuffle_window all, but another rank has seed 0, shuffle_w"
    ):
        DTSIterableDataset(one_block, seed=0, shuffle_window="all")
    DTSIterableDataset(one_block, seed=7, num_replicas=3, rank=0)  # ranks of something else


@pytest.mark.parametrize("begin", [iter, lambda dataset: dataset.set_epoch(1)])
def test_a_group_that_is_made_later(begin: Any, group: dict[str, int], one_block: pathlib.Path) -> None:
    group["is_absent"] = 1
    datasets = [DTSIterableDataset(one_block, seed=seed) for seed in range(2)]
    del group["is_absent"]
    begin(datasets[0])
    begin(datasets[0])
    become(group, 1)
    with pytest.raises(ValueError, match="rank 1 has seed 1, shuffle_window 16, but another rank has seed 0"):
        begin(datasets[1])
