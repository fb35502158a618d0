# SPDX-License-Identifier: Apache-2.0
"""The place of a loader: of its latest iterator, of a state, of the next epoch."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from torch_dts.loader._batch_plan import BatchRule
from torch_dts.loader._epoch import Batching
from torch_dts.loader._order import Order
from torch_dts.loader._resume import Resume
from torch_dts.loader._sampler import EpochCounter

ORDER = Order(20, num_replicas=2, rank=1)
DATA: Any = range(20)


def batching(order: Order = ORDER) -> Batching:
    return Batching(order, (), BatchRule(3), True)


def state_of(resume: Resume, epochs: EpochCounter, order: Order = ORDER) -> dict[str, Any]:
    return resume.state_dict(DATA, batching(order), epochs, None)


def test_places_follow_one_another() -> None:
    resume, epochs = Resume(), EpochCounter(4)
    assert state_of(resume, epochs)["parts"] == [[2, 0]]
    begun = resume.begin(batching(), *epochs.claim()[:1], 4, 0)
    begun.delivered.num_batches = 2
    state = state_of(resume, epochs)
    assert (state["epoch"], state["parts"], state["seed"]) == (0, [[2, 6]], 4)
    begun.delivered.num_batches = 4  # of which the last is short
    assert state_of(resume, epochs)["parts"] == [[2, 10]]
    begun.delivered.is_all = True
    assert (state_of(resume, epochs)["epoch"], state_of(resume, epochs)["parts"]) == (1, [[2, 0]])

    other, later = Resume(), EpochCounter(None)
    other.load(state, DATA, batching(), later, None)
    assert state_of(other, later) == state
    assert state_of(pickle.loads(pickle.dumps(other)), later) == state
    assert later.claim() == (4, 0)
    begun = other.begin(batching(), 4, 4, 0)
    assert begun.batching.order is not None
    assert begun.batching.order.num_skipped == 6
    begun.delivered.num_batches = 1
    assert state_of(other, later)["parts"] == [[2, 9]]


def test_other_ranks_share_the_rest() -> None:
    resume, epochs = Resume(), EpochCounter(4)
    three = Order(20, num_replicas=3, rank=0)
    state = {**state_of(Resume(), EpochCounter(4)), "parts": [[2, 6]]}
    resume.load(state, DATA, batching(three), epochs, None)
    epochs.claim()
    begun = resume.begin(batching(three), 4, 4, 0)
    assert begun.batching.order is not None
    assert (begun.batching.order.before, len(begun.batching.order)) == (((2, 6),), 3)
    begun.delivered.num_batches = 1
    assert state_of(resume, epochs, three)["parts"] == [[2, 6], [3, 3]]


def test_another_epoch_begins_anew_and_errors_change_nothing() -> None:
    resume, epochs = Resume(), EpochCounter(4)
    state = {**state_of(resume, epochs), "parts": [[2, 6]], "epoch": 5}
    resume.load(state, DATA, batching(), epochs, None)
    with pytest.raises(ValueError, match="seed is 9 in it, expected 4"):
        resume.load({**state, "seed": 9}, DATA, batching(), epochs, None)
    with pytest.raises(ValueError, match="choice_seed is 4 in it, expected 8"):
        resume.load(state, DATA, batching(), epochs, 8)
    assert state_of(resume, epochs) == state
    epochs.set_next(6)
    assert (state_of(resume, epochs)["epoch"], state_of(resume, epochs)["parts"]) == (6, [[2, 0]])
    begun = resume.begin(batching(), 4, 4, 6)
    assert begun.batching.order == ORDER
