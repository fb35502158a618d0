# SPDX-License-Identifier: Apache-2.0
"""Ranks at different epochs are told so."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

from torch_dts import DTSIterableDataset
from torch_dts.datasets._epoch_agreement import EpochAgreement
from torch_dts.datasets._shares import Part


def begin(*epochs: tuple[int, bool, int | None], parts: Iterable[Part] = ()) -> list[str]:
    """What a rank says to these epochs: (number, was it said, the one completed before)."""
    agreement = EpochAgreement()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for epoch, was_said, completed in epochs:
            agreement.check("data", epoch, was_said, 2, 0, parts=tuple(parts), completed=completed)
    return [str(warning.message).split(":")[0] for warning in caught]


SAID = [(epoch, True, None) for epoch in range(3)]
NEVER_SAID = [(0, False, None), (1, False, 0), (2, False, 1)]


@pytest.mark.parametrize("epochs", [SAID, NEVER_SAID])
def test_equal_epochs_are_fine(epochs: Any, group: Any) -> None:
    assert begin(*epochs) == []
    group.become(1)
    assert begin(*epochs) == []


def test_other_numbers_are_an_error_at_first(group: Any) -> None:
    begin((5, True, None))
    group.become(1)
    with pytest.raises(ValueError, match="rank 0 begins epoch 0 but another rank epoch 5: ranks that share"):
        begin((0, True, None))


def test_later_it_is_a_warning(group: Any) -> None:
    begin((0, True, None), (1, True, 0))
    group.become(1)
    assert begin((0, True, None), (2, True, 0)) == ["rank 0 begins epoch 2 but another rank epoch 1"]


def test_a_state_on_one_rank_only(group: Any) -> None:
    begin((0, True, None), parts=[Part(2, 6)])
    group.become(1)
    assert begin((0, False, None)) == [
        "rank 0 begins epoch 0 but another rank epoch 0, of which [[2, 6]] are done,"
    ]


def test_a_look_at_the_data_by_one_rank(group: Any) -> None:
    begin(*SAID)
    group.become(1)
    assert begin((0, False, None), *SAID) == []  # before it says the epochs
    group.become(1)
    begin(*NEVER_SAID)
    group.become(0)
    # Without saying them, it is one epoch ahead of the others from then on.
    found = begin((0, False, None), (1, False, None), (2, False, 1))
    assert found == ["rank 0 has ended epoch 1 but another rank epoch 0"]


def test_a_look_by_all_ranks(group: Any) -> None:
    for rank in range(2):
        group.become(rank)
        assert begin((0, False, None), (1, False, None), (2, False, 1)) == []


def test_a_dataset_compares_what_it_is_told(group: Any, one_block: pathlib.Path) -> None:
    datasets = [DTSIterableDataset(one_block, num_replicas=2, rank=rank) for rank in range(2)]
    datasets[0].set_epoch(3)
    group.become(1)
    with pytest.raises(ValueError, match="rank 1 begins epoch 4 but another rank epoch 3: ranks that share"):
        datasets[1].set_epoch(4)


def test_a_dataset_compares_its_first_iteration(group: Any, one_block: pathlib.Path) -> None:
    first = DTSIterableDataset(one_block)
    items = iter(first)
    next(items)
    state = first.state_dict()
    group.become(1)
    again = DTSIterableDataset(one_block)
    again.load_state_dict(state)
    with pytest.warns(UserWarning, match="rank 1 begins epoch 0, of which .* are done, but another rank epo"):
        iter(again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iter(again)
