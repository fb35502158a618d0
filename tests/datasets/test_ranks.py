# SPDX-License-Identifier: Apache-2.0
"""Rank and number of ranks: given, from torch.distributed, or none."""

from __future__ import annotations

import pathlib
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch.distributed as dist

import torch_dts.datasets._ranks as ranks
from torch_dts.datasets._ranks import RankChoice


@pytest.fixture
def process_group(tmp_path: pathlib.Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_none_is_one_rank() -> None:
    choice = RankChoice(None, None)
    assert choice.now() == (1, 0)
    assert choice.describe() == ""


def test_given_ranks() -> None:
    choice = RankChoice(4, 3)
    assert choice.now() == (4, 3)
    assert choice.describe() == "Rank: 3 of 4 (as given)"
    assert RankChoice(1, 0).describe() == "Rank: 0 of 1 (as given)"


@pytest.mark.parametrize(
    ("num_replicas", "rank", "message"),
    [
        (2, None, "num_replicas is 2 and rank is None: give both, or neither"),
        (None, 0, "num_replicas is None and rank is 0: give both, or neither"),
        (0, 0, "Invalid num_replicas 0, expected at least 1"),
        (2, 2, r"Invalid rank 2, rank should be in the interval \[0, 1\]"),
        (2, -1, r"Invalid rank -1, rank should be in the interval \[0, 1\]"),
    ],
)
def test_wrong_ranks(num_replicas: int | None, rank: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RankChoice(num_replicas, rank)


def test_a_process_group_made_later_counts(process_group: None, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = RankChoice(None, None)
    assert choice.now() == (1, 0)
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    monkeypatch.setattr(dist, "get_rank", lambda: 2)
    assert choice.now() == (3, 2)
    assert choice.describe() == "Rank: 2 of 3 (from torch.distributed)"
    assert RankChoice(5, 1).now() == (5, 1)


def test_only_workers_believe_the_pickled_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = RankChoice(None, None)
    with monkeypatch.context() as patch:
        patch.setattr(dist, "is_initialized", lambda: True)
        patch.setattr(dist, "get_world_size", lambda: 3)
        patch.setattr(dist, "get_rank", lambda: 2)
        pickled = pickle.dumps(choice)
    copy = pickle.loads(pickled)
    assert copy.now() == (1, 0)  # another main process may have a group of its own, or none
    info: Any = object()
    monkeypatch.setattr(ranks, "get_worker_info", lambda: info)
    assert copy.now() == (3, 2)
