# SPDX-License-Identifier: Apache-2.0
"""The generators of Python transforms."""

import contextlib
import random
from typing import Any

import numpy as np
import torch

from torch_dts.transforms._seeds import seeded_generators


def numbers() -> list[Any]:
    return [random.random(), float(np.random.random()), float(torch.rand(()))]


def test_a_seed_decides_everything() -> None:
    with seeded_generators() as seed_all:
        seed_all(2**63 - 1)
        first = numbers()
        seed_all(5)
        assert numbers() != first
        seed_all(2**63 - 1)
        assert numbers() == first


def test_each_generator_has_its_seed() -> None:
    """numpy takes the upper bits: from the same 32 bits it would draw torch's numbers."""
    number = (7 << 32) + 12345
    expected = [random.Random(number).random(), float(np.random.RandomState(7).random_sample())]
    expected.append(float(torch.rand((), generator=torch.Generator().manual_seed(number))))
    with seeded_generators() as seed_all:
        seed_all(number)
        assert numbers() == expected


def test_states_come_back_also_after_an_error() -> None:
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    with contextlib.suppress(KeyError), seeded_generators() as seed_all:
        seed_all(1)
        numbers()
        raise KeyError
    assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
