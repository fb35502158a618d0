# SPDX-License-Identifier: Apache-2.0
"""A loader that left the window to its mode takes that of a state; one that gave it keeps its own."""

from __future__ import annotations

import pathlib

import pytest
from torchvision import transforms

import torch_dts


def loader(file: pathlib.Path, **options: object) -> torch_dts.DataLoader:
    transform = transforms.Compose([transforms.Resize((4, 4)), transforms.ToTensor()])
    return torch_dts.DataLoader(
        torch_dts.DTSDataset(file, transform),
        4,
        shuffle=True,
        seed=5,
        num_workers=0,
        return_index=True,
        **options,
    )


def indices(batches: object) -> list[list[int]]:
    return [batch[2].tolist() for batch in batches]  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:shuffle_window=")
@pytest.mark.parametrize(("saved", "loaded"), [("partial", "fully"), ("fully", "partial"), ("auto", "fully")])
def test_another_mode_goes_on_in_the_states_order(blocks_file: pathlib.Path, saved: str, loaded: str) -> None:
    first = loader(blocks_file, mode=saved)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    rest = indices(batches)
    following = indices(first)
    other = loader(blocks_file, mode=loaded)
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert indices(other) == rest
    assert indices(other) == following  # the order stays the state's


def test_a_window_that_was_given_stays(blocks_file: pathlib.Path) -> None:
    state = loader(blocks_file, mode="partial").state_dict()
    other = loader(blocks_file, mode="fully", shuffle_window="all")
    before = other.state_dict()
    with pytest.raises(ValueError, match="shuffle_window is 16 in it, expected all as here"):
        other.load_state_dict(state)
    assert other.state_dict() == before


@pytest.mark.parametrize("window", [0, True, "some", -1, 1 << 40])
def test_a_state_that_is_refused_leaves_the_window(blocks_file: pathlib.Path, window: object) -> None:
    state = loader(blocks_file, mode="partial").state_dict()
    state["order"]["shuffle_window"] = window
    other = loader(blocks_file, mode="fully")
    before = other.state_dict()
    with pytest.raises(ValueError, match="this state can't be loaded: shuffle_window is"):
        other.load_state_dict(state)
    state["order"]["shuffle_window"] = 16
    state["epoch"] = -1
    with pytest.raises(ValueError, match="this state can't be loaded: epoch is -1"):
        other.load_state_dict(state)
    assert other.state_dict() == before
