# SPDX-License-Identifier: Apache-2.0
"""Ranks with different seeds are told so, by whichever comes second."""

from __future__ import annotations

from typing import Any

import pytest

from torch_dts.datasets import _agreement
from torch_dts.loader._order import Order
from torch_dts.loader._seed_agreement import require_same_seed


def other_process() -> None:
    _agreement._begun.clear()


@pytest.mark.usefixtures("group")
def test_equal_seeds_agree_and_others_are_an_error() -> None:
    require_same_seed(Order(10, shuffle=True, num_replicas=2, rank=0), 5)
    require_same_seed(Order(10, shuffle=True, num_replicas=2, rank=0), 6)
    other_process()
    require_same_seed(Order(10, shuffle=True, num_replicas=2, rank=1), 5 + 2**64)
    with pytest.raises(
        ValueError,
        match=r"rank 1 has seed 7, shuffle_window all, but another rank has seed 6, shuffle_window all: ",
    ):
        require_same_seed(Order(10, shuffle=True, num_replicas=2, rank=1), 7)


@pytest.mark.usefixtures("group")
def test_windows_are_compared_too() -> None:
    require_same_seed(Order(10, shuffle=True, shuffle_window=16, num_replicas=2), 5)
    other_process()
    with pytest.raises(
        ValueError, match=r"has seed 5, shuffle_window 8, but another rank has seed 5, shuffle_w"
    ):
        require_same_seed(Order(10, shuffle=True, shuffle_window=8, num_replicas=2, rank=1), 5)


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"elastic_batch": 4}, "order elastic with batch_size 4"),
        ({"uneven": "exact"}, "uneven exact"),
        ({"drop_last": True}, "drop_last"),
    ],
)
def test_rules_of_the_order_are_compared_too(changes: dict[str, Any], words: str) -> None:
    require_same_seed(Order(10, shuffle=True, num_replicas=2), 5)
    other_process()
    match = (
        f"rank 1 has seed 5, shuffle_window all, {words}, but another rank has seed 5, shuffle_window all: "
    )
    with pytest.raises(ValueError, match=match):
        require_same_seed(Order(10, shuffle=True, num_replicas=2, rank=1, **changes), 5)


@pytest.mark.usefixtures("group")
def test_other_data_are_not_compared() -> None:
    require_same_seed(Order(10, shuffle=True, num_replicas=2), 5)
    require_same_seed(Order(11, shuffle=True, num_replicas=2), 6)
    require_same_seed(Order(10, num_replicas=2), 6)


def test_ranks_of_something_else_are_not_compared(group: Any) -> None:
    require_same_seed(Order(10, num_replicas=3), 5)
    assert group.store.num_keys() == 0


@pytest.mark.usefixtures("group")
def test_processes_with_several_devices_are_ranks() -> None:
    require_same_seed(Order(10, shuffle=True, num_replicas=6, rank=0), 5, num_devices=3)
    other_process()
    with pytest.raises(ValueError, match="rank 1 has seed 6, shuffle_window all, but another rank has se"):
        require_same_seed(Order(10, shuffle=True, num_replicas=6, rank=3), 6, num_devices=3)


def test_without_a_process_group_nothing_is_compared() -> None:
    require_same_seed(Order(10, num_replicas=3), 5)
    assert not _agreement._begun
