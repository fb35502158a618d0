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


def test_states_come_back_also_after_an_error() -> None:
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    with contextlib.suppress(KeyError), seeded_generators() as seed_all:
        seed_all(1)
        numbers()
        raise KeyError
    assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
