# SPDX-License-Identifier: Apache-2.0
"""The epoch that an iteration gets, in one process, in workers and in ranks."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import pytest
import torch
import torch.multiprocessing  # registers how tensors cross
from torch.utils.data import DataLoader, IterableDataset

import torch_dts.datasets._epochs as epochs
from torch_dts.datasets._epochs import EpochClock


class ClaimedEpochs(IterableDataset):
    """One sample a worker: the (epoch, seed) it was given."""

    def __init__(self, seed: int | None = None) -> None:
        self.clock = EpochClock()
        self.seed = seed

    def __iter__(self) -> Any:
        return iter([self.clock.claim(self.seed)])


class WorkerInfo(NamedTuple):
    id: int
    seed: int


def claims(loader: Any) -> list[tuple[int, int]]:
    return [tuple(int(value) for value in claim) for claim in loader]


def test_epochs_count_in_one_process() -> None:
    clock = EpochClock()
    assert [clock.claim(7) for _ in range(3)] == [(0, 7), (1, 7), (2, 7)]
    clock.set_next(10)
    assert [clock.claim(7)[0] for _ in range(2)] == [10, 11]
    clock.set_next(0)
    assert clock.claim(7)[0] == 0


def test_the_first_seed_is_drawn_once() -> None:
    clock = EpochClock()
    torch.manual_seed(5)
    seed = clock.claim(None)[1]
    after_one_draw = torch.get_rng_state()
    assert clock.claim(None) == (1, seed)
    assert torch.equal(torch.get_rng_state(), after_one_draw)
    torch.manual_seed(5)
    assert EpochClock().claim(None) == (0, seed)
    assert seed == int(
        torch.empty((), dtype=torch.int64).random_(generator=torch.Generator().manual_seed(5)).item()
    )
    torch.manual_seed(6)
    assert EpochClock().claim(None)[1] != seed


def test_a_given_seed_draws_nothing_and_always_holds() -> None:
    clock = EpochClock()
    before = torch.get_rng_state()
    assert clock.claim(3) == (0, 3)
    assert clock.claim(-4) == (1, -4)
    assert clock.claim(None, first_seed=9)[1] != 9
    assert EpochClock().claim(None, first_seed=9) == (0, 9)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("epoch", [-1, 2**32])
def test_epochs_out_of_range(epoch: int) -> None:
    with pytest.raises(ValueError, match=f"epoch is {epoch}, expected 0 to 4294967295"):
        EpochClock().set_next(epoch)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_agree_on_epoch_and_seed(persistent: bool) -> None:
    dataset = ClaimedEpochs()
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=persistent)
    torch.manual_seed(1)
    first = claims(loader)
    assert [epoch for epoch, _ in first] == [0, 0]
    seed = first[0][1]
    assert [claims(loader) for _ in range(2)] == [[(1, seed)] * 2, [(2, seed)] * 2]
    dataset.clock.set_next(8)
    assert [claims(loader) for _ in range(2)] == [[(8, seed)] * 2, [(9, seed)] * 2]
    assert dataset.clock.claim(None) == (10, seed)

    torch.manual_seed(1)
    again = DataLoader(ClaimedEpochs(), batch_size=None, num_workers=2)
    assert claims(again) == [(0, seed)] * 2


def test_the_same_loader_seed_twice_is_two_epochs() -> None:
    dataset = ClaimedEpochs(seed=0)
    for epoch in range(3):
        torch.manual_seed(0)  # as scripts do that reseed each epoch
        assert claims(DataLoader(dataset, batch_size=None, num_workers=2)) == [(epoch, 0)] * 2


def test_two_live_loaders_have_epochs_of_their_own() -> None:
    dataset = ClaimedEpochs(seed=0)
    loaders = [iter(DataLoader(dataset, batch_size=None, num_workers=1)) for _ in range(2)]
    assert sorted(claims(loaders[0]) + claims(loaders[1])) == [(0, 0), (1, 0)]


def test_copies_count_for_themselves() -> None:
    clock = EpochClock()
    clock.claim(0)
    for other in (pickle.loads(pickle.dumps(clock)), copy.deepcopy(clock)):
        assert other._board.is_shared()
        assert [other.claim(0)[0] for _ in range(2)] == [1, 2]
    assert clock.claim(0)[0] == 1


def claim_in_process(clock: EpochClock, num_workers: int, queue: Any) -> None:
    dataset = ClaimedEpochs(seed=0)
    dataset.clock = clock
    torch.manual_seed(0)
    queue.put(claims(DataLoader(dataset, batch_size=None, num_workers=num_workers)))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_forked_ranks_count_for_themselves(num_workers: int) -> None:
    clock = EpochClock()
    clock.set_next(4)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    ranks = [context.Process(target=claim_in_process, args=(clock, num_workers, queue)) for _ in range(2)]
    for process in ranks:
        process.start()
    assert [queue.get(timeout=60) for _ in ranks] == [[(4, 0)]] * 2
    for process in ranks:
        process.join()
    assert clock.claim(0) == (4, 0)


def test_a_shared_board_belongs_to_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = EpochClock()
    pickled = ForkingPickler.dumps(clock)
    here = pickle.loads(pickled)  # as in a worker: the same memory
    assert here._owner == os.getpid()
    monkeypatch.setattr(epochs, "get_worker_info", lambda: WorkerInfo(0, 100))
    assert here.claim(0)[0] == 0
    assert clock.claim(0)[0] == 1
    monkeypatch.setattr(epochs, "get_worker_info", lambda: None)
    here._owner = -1  # as in a rank that was spawned
    assert here.claim(0)[0] == 2
    assert clock.claim(0)[0] == 2


def test_threads_as_workers_share_the_object(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = EpochClock()
    found = []
    for _ in range(2):
        for worker in range(3):
            monkeypatch.setattr(epochs, "get_worker_info", lambda id=worker: WorkerInfo(id, 50 + id))
            found.append(clock.claim(0)[0])
    assert found == [0, 0, 0, 1, 1, 1]
