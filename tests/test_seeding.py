# SPDX-License-Identifier: Apache-2.0
"""Seeds of Python code: the numbers of the format, three different streams, states given back."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from torch_dts import _native
from torch_dts._seeding import kept_generators, sample_seeds, seed_generators


def draws() -> tuple[list[float], list[float], list[float]]:
    return torch.rand(4).tolist(), [random.random() for _ in range(4)], np.random.rand(4).tolist()


def test_seeds_are_those_of_the_format() -> None:
    found = sample_seeds([3, 0, 3, 3 + (1 << 40), -1], [0, 0, 1, 1 << 16, 0], -7, 5)
    indices = torch.tensor([3, 0, 3, 3, (1 << 40) - 1])
    expected = _native.choose_seed(indices, torch.tensor([0, 0, 1, 0, 0]), (1 << 64) - 7, 5)
    assert found == expected.tolist()
    assert len(set(found)) == 4  # the fourth is the first
    assert sample_seeds([3, 0], [], -7, 5) == found[:2]
    assert all(0 <= number < 1 << 63 for number in found)


def test_equal_seeds_give_equal_draws() -> None:
    seed_generators((1 << 63) - 1)
    first = draws()
    random.gauss(0, 1)
    np.random.randn()
    torch.randn(3)
    seed_generators((1 << 63) - 1)
    assert draws() == first
    seed_generators(0x1234567812345678)
    assert all(a != b for a, b in zip(draws(), first, strict=True))


def test_each_generator_has_its_seed() -> None:
    """numpy takes the upper bits: from the same 32 bits it would draw torch's numbers."""
    number = (7 << 32) + 12345
    seed_generators(number)
    torch_generator = torch.Generator().manual_seed(number)
    plain, numpy_plain = random.Random(number), np.random.RandomState(7)
    expected = torch.rand(4, generator=torch_generator).tolist(), [plain.random() for _ in range(4)]
    assert draws() == (*expected, numpy_plain.rand(4).tolist())


def test_torch_and_numpy_draw_different_numbers() -> None:
    number = sample_seeds([1], [], 2, 3)[0]
    seed_generators(number)
    words = torch.randint(0, 1 << 32, (100,)).tolist()
    assert not set(words) & set(np.random.randint(0, 1 << 32, 1000, dtype=np.uint64).tolist())


def test_states_come_back() -> None:
    random.gauss(0, 1)
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def fail() -> None:
        seed_generators(1)
        draws()
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"), kept_generators():
        fail()
    found = np.random.randn(), random.gauss(0, 1), torch.rand(1)
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
    assert (np.random.randn(), random.gauss(0, 1), torch.rand(1)) == found
