# SPDX-License-Identifier: Apache-2.0
"""Indices with their seeds: which index counts, how often it came, what samplers may give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, ConcatDataset, SequentialSampler, Subset, TensorDataset
from torchvision.datasets import MNIST, VisionDataset

from torch_dts import _native
from torch_dts._seeding import sample_seeds
from torch_dts.loader import _fallback_keys
from torch_dts.loader._batch_plan import IndexBatch
from torch_dts.loader._fallback_keys import Occurrences, SeededSampler, choice_indices
from torch_dts.loader._recognise import Recognised, recognise


def numbers(length: int) -> TensorDataset:
    return TensorDataset(torch.arange(length))


def chosen(dataset: Any) -> list[int] | None:
    found = choice_indices(dataset)
    return None if found is None else found.tolist()


def test_index_of_subset_and_concat() -> None:
    ten, five = numbers(10), numbers(5)
    part = Subset(ten, [7, -1, 2, 7])
    assert chosen(ten) is None
    assert chosen(part) == [7, 9, 2, 7]
    assert chosen(Subset(part, np.array([3, 1]))) == [7, 9]
    assert chosen(ConcatDataset([ten, five])) is None
    assert chosen(ConcatDataset([five, part, five])) == [0, 1, 2, 3, 4, 12, 14, 7, 12, 15, 16, 17, 18, 19]
    assert chosen(Subset(ConcatDataset([ten, five]), range(9, 12))) == [9, 10, 11]
    assert chosen(Subset(ten, [10])) is None  # torch's error comes with the sample
    assert chosen(Subset(ten, ["a"])) is None  # type: ignore[list-item]


def test_indices_of_a_concat_are_those_of_the_native_source() -> None:
    def mnist(length: int) -> Any:
        made = MNIST.__new__(MNIST)
        VisionDataset.__init__(made, "somewhere")
        made.data, made.targets = torch.zeros(length, 4, 5, dtype=torch.uint8), [0] * length
        return made

    dataset = ConcatDataset([mnist(4), Subset(mnist(6), [5, 0]), Subset(mnist(3), [2])])
    recognised = recognise(dataset, keep=0)
    assert isinstance(recognised, Recognised)
    assert recognised.samples is not None
    _, indices = _native.source_samples(recognised.source, recognised.samples)
    assert indices.tolist() == chosen(dataset) == [0, 1, 2, 3, 9, 4, 12]
    recognised.resource.close()


@pytest.mark.parametrize("most_counted", [1 << 26, 50])
def test_occurrences_are_counted(most_counted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fallback_keys, "_MOST_COUNTED", most_counted)
    generator = np.random.default_rng(0)
    counts = Occurrences()
    seen: dict[int, int] = {}
    for size in (5, 0, 40, 1, 200):
        batch = generator.integers(-2, 60, size)
        expected = []
        for number in batch.tolist():
            expected.append(seen.get(number, 0))
            seen[number] = expected[-1] + 1
        assert list(counts.count(batch)) == expected


def test_batches_with_seeds() -> None:
    sampler = SeededSampler([[3, 1], torch.tensor([3]), (np.int64(1), 2), []], True, numbers(5))
    sampler.seed, sampler.epoch = 9, 4
    assert len(sampler) == 4
    found = list(sampler)
    seeds = sample_seeds([3, 1, 3, 1, 2], [0, 0, 1, 1, 0], 9, 4)
    assert [key.seeds for key in found] == [seeds[:2], seeds[2:3], seeds[3:], []]
    assert found[0].index == [3, 1]
    assert found[2].index == (1, 2)
    assert [key.seeds for key in sampler] == [key.seeds for key in found]


def test_fillers_are_counted_and_marked() -> None:
    batches = [IndexBatch([3, 1]), IndexBatch([3, 1], 1)]
    found = list(SeededSampler(batches, True, numbers(5)))
    seeds = sample_seeds([3, 1, 3, 1], [0, 0, 1, 1], 0, 0)
    assert [(key.index, key.seeds, key.num_fillers) for key in found] == [
        ([3, 1], seeds[:2], 0),
        ([3, 1], seeds[2:], 1),
    ]
    # A rank without samples: its filler came on another rank.
    (key,) = SeededSampler([IndexBatch([2, 2], 2, 1)], True, numbers(5))
    assert key.seeds == sample_seeds([2, 2], [1, 2], 0, 0)
    (single,) = SeededSampler([IndexBatch([4], 1)], False, numbers(5))
    assert (single.index, single.num_fillers) == (4, 1)


def test_epoch_is_that_of_the_iter() -> None:
    sampler = SeededSampler(SequentialSampler(range(2)), False, numbers(2))
    first = iter(sampler)
    sampler.epoch = 8
    assert [key.seeds for key in first] == [[n] for n in sample_seeds([0, 1], [], 0, 0)]


def test_what_is_no_index() -> None:
    names = SeededSampler([["x", "y"], ["z"]], True, numbers(5))
    seeds = sample_seeds([0, 1, 2], [], 0, 0)
    assert [key.seeds for key in names] == [seeds[:2], seeds[2:]]
    once = SeededSampler([iter([4, 2])], True, numbers(5))
    assert [key.index for key in once] == [[4, 2]]
    whole = SeededSampler([5, 6], True, numbers(5))  # batches that only the dataset understands
    assert [key.index for key in whole] == [5, 6]
    far = SeededSampler([[1 << 70]], True, numbers(5))
    assert [key.seeds for key in far] == [seeds[:1]]
    beyond = SeededSampler([[7]], True, Subset(numbers(5), [1]))
    assert [key.seeds for key in beyond] == [sample_seeds([7], [], 0, 0)]
    assert list(BatchSampler(SequentialSampler(range(3)), 2, False)) == [[0, 1], [2]]
