# SPDX-License-Identifier: Apache-2.0
"""States in the middle of repeated batches, and masks beside views."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import pytest
import torch
from loader_sets import RANDOM, same
from torch import Tensor
from torch.utils.data import RandomSampler
from torchvision.transforms import functional

from torch_dts import DataLoader, DTSDataset, DTSIterableDataset

pytestmark = pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")


def noisy(image: Any) -> Tensor:
    """Python's to do."""
    return functional.to_tensor(image.resize((6, 6))) + torch.rand(1)


def made(path: pathlib.Path, kind: str, **more: Any) -> DataLoader:
    arguments: dict[str, Any] = {"batch_size": 8, "num_workers": 1, "views": 2, "repeat": 3, **more}
    if kind == "stream":
        return DataLoader(DTSIterableDataset(path, RANDOM, seed=5), **arguments)
    arguments["seed"] = 5
    dataset = DTSDataset(path, noisy if kind == "python" else RANDOM)
    if kind == "sampler":
        generator = torch.Generator().manual_seed(3)
        return DataLoader(dataset, sampler=RandomSampler(dataset, generator=generator), **arguments)
    return DataLoader(dataset, shuffle=True, **arguments)


@pytest.mark.parametrize("kind", ["native", "python", "sampler", "stream"])
def test_a_loader_goes_on_in_the_middle_of_repeated_batches(kind: str, photos_file: pathlib.Path) -> None:
    whole = list(made(photos_file, kind))
    assert len(whole) == 9
    for count in random.Random(kind).sample(range(1, 9), 2):
        loader = made(photos_file, kind)
        batches = iter(loader)
        for _ in range(count):
            next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        assert state["num_repeated"] == count % 3
        other = made(photos_file, kind)
        other.load_state_dict(state)
        assert other.state_dict() == state
        batches = iter(other)
        assert other.state_dict() == state
        assert same([next(batches)], whole[count : count + 1])
        # a state of the loader that was continued
        third = made(photos_file, kind)
        third.load_state_dict(other.state_dict())
        assert same(list(third), whole[count + 1 :])


def test_what_is_left_of_repeated_batches_needs_the_same_batches(photos_file: pathlib.Path) -> None:
    loader = made(photos_file, "native")
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    with pytest.raises(
        ValueError, match="batch_size is 8 in it, expected 4 as in the loader, in the middle of"
    ):
        made(photos_file, "native", batch_size=4).load_state_dict(state)
    with pytest.raises(ValueError, match="num_repeated is 1 in it, expected less than the loader's repeat=1"):
        made(photos_file, "native", repeat=1).load_state_dict(state)
    with pytest.raises(
        ValueError, match="num_replicas is 1 in it, expected 2 as in the loader, in the middle of"
    ):
        made(photos_file, "native", num_replicas=2, rank=0).load_state_dict(state)
    next(batches)
    next(batches)
    made(photos_file, "native", batch_size=4, repeat=1).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("kind", ["native", "python"])
def test_each_repeated_batch_has_indices_and_mask(kind: str, photos_file: pathlib.Path) -> None:
    loader = made(photos_file, kind, last_batch="fill", return_mask=True, return_index=True)
    found = list(loader)
    assert len(found) == 9
    for number, (views, labels, indices, mask) in enumerate(found):
        assert [view.shape[0] for view in views] == [8, 8]
        assert labels.shape == indices.shape == (8,)
        assert mask.tolist() == [True] * 8 if number < 6 else [True] * 7 + [False]
        assert torch.equal(indices, found[number // 3 * 3][2])
