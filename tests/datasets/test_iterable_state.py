# SPDX-License-Identifier: Apache-2.0
"""A DTSIterableDataset that goes on where another was, alone and in loaders that know its protocol."""

from __future__ import annotations

import itertools
import json
import pathlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch.utils.data
from torchvision import transforms

import torch_dts
from torch_dts.datasets._chunks import Share
from torch_dts.datasets._iterable_state import StreamIterator


def number_of(image: Any) -> int:
    """The number of an image of the file."""
    return round(int(np.asarray(image)[0, 0, 0]) / 8)


def make(path: pathlib.Path, **kwargs: Any) -> torch_dts.DTSIterableDataset:
    arguments: dict[str, Any] = {"seed": 5, "shuffle_window": 2, "transform": number_of, "verify": False}
    return torch_dts.DTSIterableDataset(path, **{**arguments, **kwargs})


def state_after(dataset: torch_dts.DTSIterableDataset, num_samples: int) -> Any:
    taken = iter(dataset)
    for _ in range(num_samples):
        next(taken)
    return json.loads(json.dumps(dataset.state_dict()))


def test_goes_on_behind_each_sample(many_blocks: pathlib.Path) -> None:
    for arguments in ({}, {"shuffle": False}, {"shuffle_window": "all"}):
        whole = make(many_blocks, **arguments)
        epochs = [list(whole), list(whole)]
        for num_samples in (0, 1, len(whole) // 2, len(whole)):
            state = state_after(make(many_blocks, **arguments), num_samples)
            other = make(many_blocks, **arguments)
            other.load_state_dict(state)
            assert other.state_dict() == state
            assert list(other) == epochs[0][num_samples:]
            assert list(other) == epochs[1]


def test_behind_the_end_comes_the_next_epoch(many_blocks: pathlib.Path) -> None:
    whole = make(many_blocks)
    list(whole)
    state = whole.state_dict()
    assert (state["epoch"], state["parts"], state["worker"]) == (1, [[1, 0]], None)
    other = make(many_blocks)
    other.load_state_dict(state)
    assert list(other) == list(whole)


def test_another_number_of_ranks_shares_the_rest(many_blocks: pathlib.Path) -> None:
    numbers = sorted(number for number, _ in make(many_blocks))
    for uneven in ("fill", "exact"):
        seen: list[int] = []
        states = []
        for rank in range(2):
            dataset = make(many_blocks, num_replicas=2, rank=rank, uneven=uneven)
            seen += [number for number, _ in itertools.islice(dataset, 5)]
            states.append(dataset.state_dict())
        assert states[0] == states[1]
        for rank in range(3):
            dataset = make(many_blocks, num_replicas=3, rank=rank, uneven=uneven)
            dataset.load_state_dict(states[0])
            seen += [number for number, _ in dataset]
        assert set(seen) == set(numbers)
        if uneven == "exact":
            assert sorted(seen) == numbers


def test_torchs_workers_share_the_rest(many_blocks: pathlib.Path) -> None:
    whole = make(many_blocks, batch_size=3)
    expected = [number for number, _ in whole]
    state = state_after(make(many_blocks, batch_size=3), 6)
    dataset = make(many_blocks, batch_size=3)
    dataset.load_state_dict(state)
    loader: Any = torch.utils.data.DataLoader(dataset, 3, num_workers=2)
    assert [number for batch in loader for number in batch[0].tolist()] == expected[6:]
    assert [number for batch in loader for number in batch[0].tolist()] == [number for number, _ in whole]
    with pytest.raises(RuntimeError, match="delivered by worker processes or by a"):
        dataset.state_dict()


def test_of_what_was_delivered_nothing_is_read(
    many_blocks: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_dts.datasets import _reading

    read: list[int] = []
    original = _reading.ChunkReader.read

    def counting(self: Any, chunk: Any) -> Any:
        read.extend(chunk.stored_ids.tolist())
        return original(self, chunk)

    state = state_after(make(many_blocks, shuffle_window=1), 17)
    monkeypatch.setattr(_reading.ChunkReader, "read", counting)
    dataset = make(many_blocks, shuffle_window=1)
    dataset.load_state_dict(state)
    assert len(list(dataset)) == len(read) == len(dataset) - 17


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version is 2 in it, expected 1"),
        ({"seed": 6}, "seed is 6 in it, expected 5 as here"),
        ({"seed": "5"}, "seed is '5' in it, expected an int"),
        ({"epoch": -1}, "epoch is -1 in it, expected an int from 0 to 4294967295"),
        ({"parts": [[0, 1]]}, "parts: num_replicas is 0 in it"),
        ({"parts": 3}, "parts is 3 in it, expected a list of pairs"),
        ({"worker": [1]}, r"worker is \[1\] in it"),
        ({"worker": [1, 2, 3, 4]}, "it is of worker 1 of 2 of a DataLoader"),
        ({"fingerprint": "00"}, "the dataset's fingerprint is '00' in it"),
        ({"order": {}}, "num_samples is None in it"),
        ({"more": 1}, "its keys are "),
    ],
)
def test_a_state_that_does_not_fit(change: dict[str, Any], message: str, many_blocks: pathlib.Path) -> None:
    dataset = make(many_blocks)
    state = state_after(dataset, 2)
    other = make(many_blocks)
    with pytest.raises(ValueError, match=f"this state can't be loaded: {message}"):
        other.load_state_dict({**state, **change})
    assert other.state_dict()["parts"] == [[1, 0]]
    with pytest.raises(ValueError, match="it is of type list, expected a dict that state_dict"):
        other.load_state_dict([state])  # type: ignore[arg-type]


def test_the_seed_is_drawn_and_taken_over(many_blocks: pathlib.Path) -> None:
    first = make(many_blocks, seed=None)
    state = first.state_dict()
    other = make(many_blocks, seed=None)
    other.load_state_dict(state)
    assert list(other) == list(first)
    assert list(other) == list(first)


def test_loaders_over_a_stream_have_the_state(many_blocks: pathlib.Path) -> None:
    dataset = make(many_blocks)
    dataset.load_state_dict(dataset.state_dict())
    loader = torch_dts.DataLoader(dataset, 2, num_workers=0, transform=transforms.ToTensor())
    with pytest.raises(ValueError, match="load the state of a DataLoader into the DataLoader"):
        iter(loader)
    fresh = make(many_blocks)
    loader = torch_dts.DataLoader(fresh, 2, num_workers=0, transform=transforms.ToTensor())
    next(iter(loader))
    with pytest.raises(RuntimeError, match=r"ask torch_dts\.DataLoader"):
        fresh.state_dict()


def wait_for(dataset: torch_dts.DTSIterableDataset, states: Any = None) -> Any:
    """An iterator as a loader of torchdata's makes it from saved states: dataset, iterator, its state."""
    if states is not None:
        dataset.load_state_dict(states["dataset"])
    iterator: Any = iter(dataset)
    assert isinstance(iterator, StreamIterator)
    if states is not None:
        iterator.load_state_dict(states["iterator"])
    return iterator


def states_of(dataset: torch_dts.DTSIterableDataset, iterator: Any) -> Any:
    states = {"dataset": dataset.state_dict(), "iterator": iterator.state_dict()}
    return json.loads(json.dumps(states))


def test_torchdatas_protocol(many_blocks: pathlib.Path) -> None:
    whole = make(many_blocks)
    epochs = [list(whole), list(whole)]
    dataset = make(many_blocks)
    iterator = wait_for(dataset)
    first = list(itertools.islice(iterator, 7))
    states = states_of(dataset, iterator)
    other = make(many_blocks)
    assert first + list(wait_for(other, states)) == epochs[0]
    assert list(wait_for(other)) == epochs[1]
    # At the end of an epoch an iterator is made of the states, and thrown away for a new one.
    list(iterator)
    other = make(many_blocks)
    assert list(wait_for(other, states_of(dataset, iterator))) == []
    assert list(wait_for(other)) == epochs[1]


def test_torchdatas_protocol_in_workers(many_blocks: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers 0 and 1 of 2, one after the other: a state is loaded in each of them."""

    def as_worker(worker: int, seed: int = 0) -> None:
        info = SimpleNamespace(id=worker, num_workers=2, seed=seed + worker)
        for module in ("_iterable", "_epochs", "_iterable_state"):
            monkeypatch.setattr(f"torch_dts.datasets.{module}.get_worker_info", lambda: info)

    def epoch(dataset: Any, seed: int, saved: Any = None, num_taken: int | None = None) -> Any:
        found, states = [], []
        for worker in range(2):
            as_worker(worker, seed)
            iterator = wait_for(dataset, None if saved is None else saved[worker])
            found.append(list(itertools.islice(iterator, num_taken)))
            states.append(states_of(dataset, iterator))
        return found, states

    whole = make(many_blocks, batch_size=3)
    expected = [epoch(whole, 10)[0], epoch(whole, 20)[0]]
    first, saved = epoch(make(many_blocks, batch_size=3), 10, num_taken=4)
    assert saved[1]["iterator"]["worker"] == [1, 2, 3, 4]
    other = make(many_blocks, batch_size=3)
    rest, _ = epoch(other, 30, saved)
    assert [a + b for a, b in zip(first, rest, strict=True)] == expected[0]
    assert epoch(other, 40)[0] == expected[1]
    as_worker(0)
    with pytest.raises(ValueError, match=r"\[worker, num_workers, batch_size\], num_replicas is .* in it"):
        wait_for(other, saved[1])


def test_a_share_without_what_was_taken() -> None:
    share = Share(1, 3, 2, 0)
    taken = [position for position in range(40) if bool(share.of(position, 1))]
    for num_skipped in (1, 2, 5):
        left = Share(1, 3, 2, 0, num_skipped)
        assert [position for position in range(40) if bool(left.of(position, 1))] == taken[num_skipped:]
        assert left.first_taken == taken[num_skipped]
