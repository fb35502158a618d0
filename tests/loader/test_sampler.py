# SPDX-License-Identifier: Apache-2.0
"""Samplers count epochs, are torch's own kinds, and give the order's indices."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from torch_dts.loader._order import Order
from torch_dts.loader._sampler import (
    DistributedEpochs,
    EpochCounter,
    PlainSampler,
    ShuffledSampler,
    distributed_order,
    is_distributed_shuffle,
)

DATA = list(range(20))


def shuffled(seed: int | None = 0, num_replicas: int = 1, rank: int = 0) -> ShuffledSampler:
    order = Order(len(DATA), shuffle=True, num_replicas=num_replicas, rank=rank)
    return ShuffledSampler(DATA, order, EpochCounter(seed))


def test_each_iteration_is_a_new_epoch_and_set_epoch_says_which() -> None:
    sampler = shuffled()
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == DATA
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first
    assert list(sampler) == second
    sampler.set_epoch(7)
    assert list(sampler) == Order(20, shuffle=True).stream(0, 7).ids.tolist()


def test_the_epoch_is_claimed_by_iter_not_by_the_first_next() -> None:
    sampler = shuffled()
    first = iter(sampler)
    sampler.set_epoch(5)
    assert list(first) == list(shuffled())


def test_they_are_torchs_kinds() -> None:
    assert isinstance(shuffled(), RandomSampler)
    plain = PlainSampler(DATA, Order(len(DATA)), EpochCounter(None))
    assert isinstance(plain, SequentialSampler)
    assert list(plain) == list(plain) == DATA
    assert len(plain) == 20


def test_an_empty_dataset_is_torchs_error() -> None:
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samp"):
        ShuffledSampler([], Order(0, shuffle=True), EpochCounter(0))


def test_repr() -> None:
    assert repr(shuffled()) == "ShuffledSampler(20 of 20 samples)"
    assert repr(shuffled(0, 3, 1)) == "ShuffledSampler(7 of 20 samples, rank 1 of 3)"


def test_a_copy_goes_on_from_where_the_original_was() -> None:
    sampler = shuffled()
    list(sampler)
    copy = pickle.loads(pickle.dumps(sampler))
    assert list(copy) == list(sampler)


@pytest.mark.parametrize("epoch", [-1, 2**32])
def test_epochs_out_of_range(epoch: int) -> None:
    with pytest.raises(ValueError, match=rf"epoch is {epoch}, expected 0 to 4294967295"):
        shuffled().set_epoch(epoch)


def test_the_last_epoch_is_followed_by_the_first() -> None:
    counter = EpochCounter(1)
    counter.set_next(2**32 - 1)
    assert [counter.claim(), counter.claim()] == [(1, 2**32 - 1), (1, 0)]


def test_without_a_seed_one_is_drawn_once_at_the_first_epoch() -> None:
    torch.manual_seed(5)
    expected = int(torch.empty((), dtype=torch.int64).random_())
    state = torch.get_rng_state()
    torch.manual_seed(5)
    counter = EpochCounter(None)
    assert counter.claim() == (expected, 0)
    assert counter.claim() == (expected, 1)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_generator_is_drawn_from_instead() -> None:
    state = torch.get_rng_state()
    seeds = [EpochCounter(None, torch.Generator().manual_seed(3)).seed for _ in range(2)]
    assert seeds[0] == seeds[1]
    assert torch.equal(torch.get_rng_state(), state)


def test_ranks_without_a_seed_have_seed_0() -> None:
    state = torch.get_rng_state()
    assert EpochCounter(None, is_sharded=True).seed == 0
    assert EpochCounter(8, is_sharded=True).seed == 8
    assert torch.equal(torch.get_rng_state(), state)


# ---- torch's DistributedSampler ----


def distributed(**kwargs: object) -> DistributedSampler[int]:
    return DistributedSampler(DATA, num_replicas=3, rank=1, **kwargs)  # type: ignore[arg-type]


def test_set_epoch_of_a_distributed_sampler_is_seen_and_forgetting_it_too() -> None:
    sampler = distributed(seed=11)
    epochs = DistributedEpochs(sampler)
    assert [epochs.claim() for _ in range(3)] == [(11, 0), (11, 1), (11, 2)]
    sampler.set_epoch(9)
    assert [epochs.claim() for _ in range(2)] == [(11, 9), (11, 10)]
    sampler.set_epoch(9)  # the same number again
    assert epochs.claim() == (11, 9)
    epochs.set_next(4)
    assert epochs.claim() == (11, 4)
    assert sampler.epoch == 4


def test_two_loaders_over_one_distributed_sampler_count_for_themselves() -> None:
    sampler = distributed()
    one, other = DistributedEpochs(sampler), DistributedEpochs(sampler)
    assert [one.claim()[1], other.claim()[1], one.claim()[1], other.claim()[1]] == [0, 0, 1, 1]
    sampler.set_epoch(5)
    assert [one.claim()[1], other.claim()[1]] == [5, 5]


def test_a_read_distributed_sampler_is_still_torchs() -> None:
    sampler = distributed(seed=2)
    sampler.set_epoch(3)
    expected = list(sampler)
    DistributedEpochs(sampler).claim()
    assert list(sampler) == expected
    assert list(pickle.loads(pickle.dumps(sampler))) == expected


def test_counting_survives_a_pickle() -> None:
    epochs = DistributedEpochs(distributed())
    epochs.claim()
    assert pickle.loads(pickle.dumps(epochs)).claim() == epochs.claim() == (0, 1)


def test_which_samplers_are_taken_over() -> None:
    class Subclass(DistributedSampler[int]):
        pass

    assert is_distributed_shuffle(distributed())
    assert not is_distributed_shuffle(distributed(shuffle=False))
    assert not is_distributed_shuffle(Subclass(DATA, num_replicas=1, rank=0))
    assert not is_distributed_shuffle(RandomSampler(DATA))


@pytest.mark.parametrize("drop_last", [False, True])
def test_the_order_of_a_distributed_sampler_has_its_ranks_and_length(drop_last: bool) -> None:
    sampler = distributed(drop_last=drop_last)
    order = distributed_order(sampler, Order(len(DATA)))
    assert (order.num_replicas, order.rank, order.shuffle) == (3, 1, True)
    assert len(order) == len(sampler)
