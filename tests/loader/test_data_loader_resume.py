# SPDX-License-Identifier: Apache-2.0
"""A loader that goes on where another was: the same batches, byte for byte, in any process."""

from __future__ import annotations

import itertools
import json
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, NUM_PHOTOS, RANDOM, hashes
from torch.utils.data import (
    ConcatDataset,
    DistributedSampler,
    IterableDataset,
    Subset,
)
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader


def make(dataset: Any, **kwargs: Any) -> DataLoader:
    arguments: dict[str, Any] = {"batch_size": 4, "num_workers": 1, "seed": 5, "return_index": True, **kwargs}
    return DataLoader(dataset, **arguments)


def dts(path: pathlib.Path, **kwargs: Any) -> DataLoader:
    return make(torch_dts.DTSDataset(path, RANDOM), **{"shuffle": True, "shuffle_window": 2, **kwargs})


def state_after(loader: DataLoader, num_batches: int) -> Any:
    """The state behind so many batches, as JSON passes it on."""
    taken = iter(loader)
    for _ in range(num_batches):
        next(taken)
    return json.loads(json.dumps(loader.state_dict()))


def resumed(loader: DataLoader, state: Any) -> DataLoader:
    loader.load_state_dict(state)
    assert loader.state_dict() == {**state, "batch_size": loader.batch_size or 1}
    return loader


def python_only(image: Any) -> Any:
    return RANDOM(image)  # which the loader can't read


def fixed_in_python(image: Any) -> Any:
    return FIXED(image)


def test_goes_on_behind_each_batch(blocks_file: pathlib.Path) -> None:
    loader = dts(blocks_file)
    epochs = [hashes(loader), hashes(loader)]
    ways: list[dict[str, Any]] = [
        {"num_workers": 0},
        {"num_workers": 3, "reader_threads": 2},
        {"mode": "partial", "prefetch_factor": 5},
        {"mode": "fully", "shuffle_window": 2},
        {},
        {},
    ]
    for num_batches, way in enumerate(ways):
        state = state_after(dts(blocks_file), num_batches)
        other = resumed(dts(blocks_file, **way), state)
        assert hashes(other) == epochs[0][num_batches:]
        assert hashes(other) == epochs[1]


def test_behind_the_end_comes_the_next_epoch(photos_file: pathlib.Path) -> None:
    loader = dts(photos_file)
    list(loader)
    state = loader.state_dict()
    assert (state["epoch"], state["parts"]) == (1, [[1, 0]])
    assert hashes(resumed(dts(photos_file), state)) == hashes(loader)
    # Behind the last batch, before the end was asked for, the epoch has an end, but no batch.
    other = resumed(dts(photos_file), state_after(dts(photos_file), len(loader)))
    assert list(other) == []
    assert other.state_dict() == state


def test_what_was_read_ahead_does_not_count(photos_file: pathlib.Path) -> None:
    loader = dts(photos_file, batch_size=2, prefetch_factor=20, num_workers=2)
    taken = iter(loader)
    first = [next(taken), next(taken)]
    assert loader.state_dict()["parts"] == [[1, 4]]
    assert hashes(first) + hashes(resumed(dts(photos_file, batch_size=2), loader.state_dict())) == hashes(
        dts(photos_file, batch_size=2)
    )


def test_of_two_iterators_the_latest_counts(photos_file: pathlib.Path) -> None:
    loader = dts(photos_file)
    first = iter(loader)
    next(first)
    second = iter(loader)
    next(second), next(second), next(first)
    state = loader.state_dict()
    assert (state["epoch"], state["parts"]) == (1, [[1, 8]])


def test_nothing_is_decoded_or_read_of_what_was_before(blocks_file: pathlib.Path) -> None:
    whole = dts(blocks_file, mode="partial", num_workers=0, shuffle_window=1, batch_size=1)
    list(whole)
    for num_batches in (NUM_BLOCKS_SAMPLES - 2, 9):
        state = state_after(dts(blocks_file, shuffle_window=1, batch_size=1), num_batches)
        other = resumed(
            dts(blocks_file, mode="partial", num_workers=0, shuffle_window=1, batch_size=1), state
        )
        assert len(list(other)) == NUM_BLOCKS_SAMPLES - num_batches
        assert other.stats().num_images == NUM_BLOCKS_SAMPLES - num_batches
        left = 1 - num_batches / NUM_BLOCKS_SAMPLES
        block = 1 / torch_dts.open(blocks_file).num_blocks
        assert other.stats().bytes_read <= whole.stats().bytes_read * (left + block)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1), (2, 40)])
def test_another_number_of_ranks_shares_the_rest(
    before: int, after: int, shuffle: bool, photos_file: pathlib.Path
) -> None:
    def ranks(number: int) -> list[DataLoader]:
        arguments = {"batch_size": 3, "shuffle": shuffle, "num_replicas": number, "num_workers": 0}
        return [dts(photos_file, rank=rank, **arguments) for rank in range(number)]

    for num_batches in (2,):
        seen: list[int] = []
        states = []
        for loader in ranks(before):
            batches = list(itertools.islice(loader, num_batches))
            seen += [index for batch in batches for index in batch[2].tolist()]
            states.append(loader.state_dict())
        assert states == states[:1] * before  # any rank's will do
        rest = ranks(after)
        lengths = set()
        for loader in rest:
            loader.load_state_dict(states[-1])
            indices = [index for batch in loader for index in batch[2].tolist()]
            lengths.add(len(indices))
            seen += indices
        assert len(lengths) == 1
        assert set(seen) == set(range(NUM_PHOTOS))
        assert len(seen) == before * 3 * num_batches + after * lengths.pop()
        # and all go on with the same next epoch
        whole = [index for loader in rest for batch in loader for index in batch[2].tolist()]
        assert set(whole) == set(range(NUM_PHOTOS))


def test_ranks_changed_twice(photos_file: pathlib.Path) -> None:
    state = None
    seen: list[int] = []
    for number in (2, 3, 2, 1):
        states = []
        for rank in range(number):
            loader = dts(photos_file, batch_size=2, num_replicas=number, rank=rank, num_workers=0)
            if state is not None:
                loader.load_state_dict(state)
            taken = iter(loader)
            for batch in taken if number == 1 else itertools.islice(taken, 2 if rank < number else 0):
                seen += batch[2].tolist()
            states.append(loader.state_dict())
        state = states[0]
        if number > 1:
            assert states == [state] * number
    assert state is not None
    assert sorted(set(seen)) == list(range(NUM_PHOTOS))


def test_a_new_process_goes_on(photos_file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    state = state_after(dts(photos_file, seed=None), 3)
    expected = [batch[2].tolist() for batch in resumed(dts(photos_file, seed=None), state)]
    script = (
        "import json, sys, torch_dts, torchvision.transforms as t\n"
        "d = torch_dts.DTSDataset(sys.argv[1], t.Compose([t.RandomResizedCrop(16), t.ToTensor()]))\n"
        "l = torch_dts.DataLoader(d, 4, shuffle=True, shuffle_window=2, num_workers=0, return_index=True)\n"
        "l.load_state_dict(json.loads(sys.argv[2]))\n"
        "print(json.dumps([b[2].tolist() for b in l]))\n"
    )
    command = [sys.executable, "-c", script, str(photos_file), json.dumps(state)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(found) == expected


def test_the_seed_is_drawn_before_the_state_is_written(photos_file: pathlib.Path) -> None:
    loader = dts(photos_file, seed=None)
    state = loader.state_dict()
    assert isinstance(state["seed"], int)
    assert hashes(resumed(dts(photos_file, seed=None), state)) == hashes(loader)


def test_set_epoch_behind_a_state(photos_file: pathlib.Path) -> None:
    state = state_after(dts(photos_file), 2)
    whole = dts(photos_file)
    epochs = [hashes(whole) for _ in range(3)]
    same = resumed(dts(photos_file), state)
    same.set_epoch(0)  # as a training loop says before each epoch
    assert hashes(same) == epochs[0][2:]
    other = resumed(dts(photos_file), state)
    other.set_epoch(2)
    assert other.state_dict()["parts"] == [[1, 0]]
    assert hashes(other) == epochs[2]
    other.set_epoch(0)
    assert hashes(other) == epochs[0]


def test_another_batch_size_goes_on(photos_file: pathlib.Path) -> None:
    indices = [index for batch in dts(photos_file) for index in batch[2].tolist()]
    other = resumed(dts(photos_file, batch_size=3), state_after(dts(photos_file), 2))
    assert [index for batch in other for index in batch[2].tolist()] == indices[8:]
    single = resumed(dts(photos_file, batch_size=None), state_after(dts(photos_file), 2))
    assert [sample[2] for sample in single] == indices[8:]


@pytest.mark.parametrize(
    "kind",
    ["subset", "concat", "folder", "python", "twice", "iterable", "distributed", "python_stream", "fill"],
)
def test_datasets(kind: str, photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    def loader() -> DataLoader:
        data: Any = torch_dts.DTSDataset(photos_file, RANDOM)
        if kind == "folder":
            return make(ImageFolder(photos, RANDOM), shuffle=True)
        if kind == "iterable":
            return make(torch_dts.DTSIterableDataset(photos_file, RANDOM, seed=5), seed=None)
        if kind == "python_stream":
            stream = torch_dts.DTSIterableDataset(photos_file, fixed_in_python, seed=5)
            return make(stream, seed=None, num_workers=2, return_index=False, return_mask=True)
        if kind == "fill":
            return make(
                data, batch_size=3, shuffle=True, last_batch="fill", return_mask=True, num_replicas=3, rank=2
            )
        if kind == "distributed":
            return make(data, sampler=DistributedSampler(data, 2, 1, seed=3))
        if kind == "python":
            return make(torch_dts.DTSDataset(photos_file, python_only), shuffle=True, num_workers=0)
        if kind == "concat":
            data = ConcatDataset([data, Subset(data, range(5, 9))])
        elif kind == "twice":
            data = Subset(data, [3, 1, 3, 7, 7, 3, 11, 20, 11])
        else:
            data = Subset(data, range(2, 20))
        return make(data, shuffle=True, batch_size=2)

    first = loader()
    epochs = [hashes(first), hashes(first)]
    for num_batches in (1, len(loader()) - 1):
        other = resumed(loader(), state_after(loader(), num_batches))
        assert hashes(other) == epochs[0][num_batches:]
        assert hashes(other) == epochs[1]


class Numbers(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(torch.arange(10).split(1))


def test_an_iterable_of_the_users_own_is_iterated_over() -> None:
    loader = make(Numbers(), return_index=False, num_workers=0)
    expected = [batch.flatten().tolist() for batch in loader]
    other = resumed(make(Numbers(), return_index=False, num_workers=0), state_after(loader, 1))
    assert [batch.flatten().tolist() for batch in other] == expected[1:]
    assert [batch.flatten().tolist() for batch in other] == expected


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"shuffle_window": 3},
        {"shuffle_window": "all"},
        {"shuffle": False},
        {"drop_last": True},
        {"sampler": [1, 2, 3], "shuffle": False},
    ],
)
def test_a_state_of_another_loader_is_refused(change: dict[str, Any], photos_file: pathlib.Path) -> None:
    state = state_after(dts(photos_file), 2)
    other = dts(photos_file, **change)
    before = other.state_dict()
    with pytest.raises(ValueError, match=r"this state can't be loaded: .* in it, expected"):
        other.load_state_dict(state)
    assert other.state_dict() == before


def test_a_state_of_another_file_is_refused(photos_file: pathlib.Path, blocks_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"the dataset's fingerprint is '[0-9a-f]{64}' in it, expected"):
        dts(blocks_file).load_state_dict(state_after(dts(photos_file), 1))


def test_a_pickled_loader_keeps_what_was_loaded(photos_file: pathlib.Path) -> None:
    state = state_after(dts(photos_file), 2)
    loader = resumed(dts(photos_file), state)
    copy = pickle.loads(pickle.dumps(loader))
    assert copy.state_dict() == state
    assert hashes(copy) == hashes(loader)
