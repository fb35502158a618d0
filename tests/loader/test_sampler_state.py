# SPDX-License-Identifier: Apache-2.0
"""Samplers of the caller's own: their states, and loaders over them that go on."""

from __future__ import annotations

import itertools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from loader_sets import NUM_PHOTOS, RANDOM, hashes
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

import torch_dts
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._sampler_state import Recorded, SamplerState

WEIGHTS = [1.0 + number % 3 for number in range(NUM_PHOTOS)]


def own_generator() -> torch.Generator:
    return torch.Generator().manual_seed(11)


class Curriculum(Sampler[int]):
    """Other samples in each epoch, that trainers announce."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.epoch, 12 + self.epoch))

    def __len__(self) -> int:
        return 12


class Stateful(Sampler[int]):
    """Counts its epochs itself."""

    def __init__(self) -> None:
        self.begun = 0

    def __iter__(self) -> Iterator[int]:
        self.begun += 1
        return iter([(7 * i + self.begun) % NUM_PHOTOS for i in range(12)])

    def state_dict(self) -> dict[str, int]:
        return {"begun": self.begun}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.begun = state["begun"]


SAMPLERS: dict[str, Any] = {
    "random": lambda: RandomSampler(range(NUM_PHOTOS)),
    "random, own generator": lambda: RandomSampler(range(NUM_PHOTOS), generator=own_generator()),
    "weighted": lambda: WeightedRandomSampler(WEIGHTS, 20),
    "weighted, own generator": lambda: WeightedRandomSampler(WEIGHTS, 20, generator=own_generator()),
    "subset": lambda: SubsetRandomSampler([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21]),
    "stateful": Stateful,
}


def loader(path: pathlib.Path, sampler: Any, **kwargs: Any) -> DataLoader:
    arguments: dict[str, Any] = {"batch_size": 3, "num_workers": 0, "return_index": True, "seed": 5, **kwargs}
    return DataLoader(torch_dts.DTSDataset(path, RANDOM), sampler=sampler, **arguments)


@pytest.mark.parametrize("name", SAMPLERS)
def test_loaders_go_on(name: str, photos_file: pathlib.Path) -> None:
    torch.manual_seed(1)
    whole = loader(photos_file, SAMPLERS[name]())
    epochs = [hashes(whole), hashes(whole)]
    for num_batches in (0, 1, 3):
        torch.manual_seed(1)
        first = loader(photos_file, SAMPLERS[name]())
        taken = iter(first)
        before = hashes(itertools.islice(taken, num_batches))
        state = json.loads(json.dumps(first.state_dict()))
        torch.manual_seed(99)
        callers = torch.get_rng_state()
        other = loader(photos_file, SAMPLERS[name]())
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert before + hashes(other) == epochs[0]
        assert torch.equal(torch.get_rng_state(), callers)
        if "own" in name or name == "stateful":
            assert hashes(other) == epochs[1]
    # and behind the end
    torch.manual_seed(1)
    first = loader(photos_file, SAMPLERS[name]())
    list(first)
    other = loader(photos_file, SAMPLERS[name]())
    other.load_state_dict(first.state_dict())
    assert hashes(other) == epochs[1]


def test_batch_samplers_and_epochs(photos_file: pathlib.Path) -> None:
    def make(kind: str) -> DataLoader:
        if kind == "batches":
            batches: Any = [[1, 2, 3], [3, 3], [4], [1, 2, 3, 5]]
            data = torch_dts.DTSDataset(photos_file, RANDOM)
            return DataLoader(data, batch_sampler=batches, num_workers=0, return_index=True, seed=5)
        if kind == "torchs":
            inner = BatchSampler(WeightedRandomSampler(WEIGHTS, 20, generator=own_generator()), 4, True)
            data = torch_dts.DTSDataset(photos_file, RANDOM)
            return DataLoader(data, batch_sampler=inner, num_workers=0, return_index=True, seed=5)
        return loader(photos_file, Curriculum())

    for kind in ("batches", "torchs", "curriculum"):
        whole = make(kind)
        whole.set_epoch(2)
        epochs = [hashes(whole), hashes(whole)]
        first = make(kind)
        first.set_epoch(2)
        taken = iter(first)
        next(taken), next(taken)
        other = make(kind)
        other.load_state_dict(first.state_dict())
        assert hashes(other) == epochs[0][2:]
        assert hashes(other) == epochs[1]


@pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")
def test_a_sampler_read_in_python_goes_on(photos_file: pathlib.Path) -> None:
    def make() -> DataLoader:
        data = torch_dts.DTSDataset(photos_file, lambda image: RANDOM(image))
        sampler: Any = WeightedRandomSampler(WEIGHTS, 20, generator=own_generator())
        return DataLoader(data, 3, sampler=sampler, num_workers=0, return_index=True, seed=5)

    whole = hashes(make())
    first = make()
    taken = iter(first)
    next(taken), next(taken)
    other = make()
    other.load_state_dict(first.state_dict())
    assert hashes(other) == whole[2:]


def test_a_sample_drawn_twice_gets_another_augmentation(photos_file: pathlib.Path) -> None:
    for batches in ([[4, 4], [4, 2]], [[4, 4, 4, 2]]):
        data = torch_dts.DTSDataset(photos_file, RANDOM)
        made = DataLoader(data, batch_sampler=batches, num_workers=0, return_index=True, seed=5)
        images = [image for batch in made for image in batch[0]]
        assert len({image.numpy().tobytes() for image in images}) == 4
        alone: Any = DataLoader(data, sampler=[4], num_workers=0, seed=5)
        assert torch.equal(next(iter(alone))[0][0], images[0])


def test_classes_are_balanced_by_weights(photos_file: pathlib.Path) -> None:
    data = torch_dts.DTSDataset(photos_file, RANDOM)
    targets = torch.tensor(data.targets)
    kept = torch.cat([(targets == 0).nonzero()[:1, 0], (targets != 0).nonzero()[:, 0]])  # class 0: one sample
    weights = torch.zeros(len(targets))
    weights[kept] = 1.0 / targets[kept].bincount()[targets[kept]].double().float()
    sampler: Any = WeightedRandomSampler(weights.tolist(), 300, generator=own_generator())
    labels = torch.cat([batch[1] for batch in DataLoader(data, 50, sampler=sampler, num_workers=0)])
    assert labels.bincount().min() > 75  # 100 of each are expected


def test_other_indices_open_nothing_anew(photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_dts import _native

    opened: list[str] = []
    for name in ("file_open", "source_dts", "loader_open"):
        original = getattr(_native, name)

        def counting(*args: Any, _name: str = name, _original: Any = original, **kwargs: Any) -> Any:
            opened.append(_name)
            return _original(*args, **kwargs)

        monkeypatch.setattr(_native, name, counting)
    sampler = SubsetRandomSampler([1, 2, 3])
    made = loader(photos_file, sampler)
    for indices in ([1, 2, 3], [4, 5, 6, 7], list(range(20))):
        sampler.indices = indices
        assert sorted(index for batch in made for index in batch[2].tolist()) == indices
    assert sorted(opened) == ["file_open", "loader_open", "source_dts"]


def test_states_that_do_not_fit() -> None:
    generator = own_generator()
    state = SamplerState(RandomSampler(range(5), generator=generator)).now()
    same = SamplerState(RandomSampler(range(9), generator=torch.Generator()))
    assert same.problem(state) is None
    assert "the sampler's state is None" in str(same.problem(None))
    assert "is of kind 'generator', expected 'default_generator'" in str(
        SamplerState(RandomSampler(range(5))).problem(state)
    )
    assert "is a SubsetRandomSampler, in the state a 'RandomSampler'" in str(
        SamplerState(SubsetRandomSampler([1])).problem(state)
    )
    for wrong in (5, "%%%", "QUJD"):
        assert "the generator's state is " in str(same.problem({**state, "state": wrong}))
    assert "epoch is 'x'" in str(same.problem({**state, "epoch": "x"}))


def test_a_state_asked_for_before_the_first_index() -> None:
    torch.manual_seed(3)
    sampler = RandomSampler(range(9))
    recorded = Recorded(sampler, sampler)
    state = recorded.state()
    torch.manual_seed(4)  # the caller's, which does not matter any more
    found = list(recorded)
    assert list(Recorded(sampler, sampler, state, 0)) == found

    def failing() -> Iterator[int]:
        raise KeyError("no such list")
        yield 1

    broken = Recorded(sampler, failing())
    broken.state()
    with pytest.raises(KeyError, match="no such list"):
        next(broken)
    assert list(Recorded(sampler, [])) == []
