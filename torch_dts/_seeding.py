# SPDX-License-Identifier: Apache-2.0
"""Seeds for Python code that transforms a sample: a function of (seed, epoch, index, occurrence) only."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from torch_dts import _native
from torch_dts._seeding_numpy import numpy_state, restore_numpy, seed_numpy

# docs/format.md section 5
_INDEX_MASK = (1 << 40) - 1
_OCCURRENCE_MASK = (1 << 16) - 1

_RANDOM: Any = random.seed.__self__  # type: ignore[attr-defined]
_seed_random = super(random.Random, _RANDOM).seed

Numbers = list[int] | np.ndarray[Any, np.dtype[np.int64]]


def sample_seeds(indices: Numbers, occurrences: Numbers, seed: int, epoch: int, view: int = 0) -> list[int]:
    """A number of 0 to 2^63 - 1 for each sample (op 32767 of docs/format.md section 5).

    Args:
        indices: ``[n]`` source indices of up to 64 bits, taken modulo 2^40.
        occurrences: ``[n]``, how often each came before in this epoch; empty: never.
        seed: Taken modulo 2^64.
        epoch: 0 to 2^32 - 1.
        view: Number of the augmentation, 0 to 255.
    """
    # A tenth of torch.tensor's time for a list of ints.
    numbers = torch.from_numpy(np.array(indices, dtype=np.int64) & _INDEX_MASK)
    counts = torch.from_numpy(np.array(occurrences, dtype=np.int64) & _OCCURRENCE_MASK)
    return _native.choose_seed(numbers, counts, seed, epoch, view).tolist()


def seed_generators(number: int) -> None:
    """Seeds the global generators of torch (CPU), random and numpy.

    torch.manual_seed would seed every GPU too and takes 90 us; this takes 9 us.

    Args:
        number: Of `sample_seeds`.
    """
    torch.default_generator.manual_seed(number)
    _seed_random(number)  # as random.seed, which spends a quarter of its time on looking at types
    _RANDOM.gauss_next = None
    # torch and numpy have the same generator, started with 32 bits: from the same bits both
    # would draw the same numbers, so that numpy gets the others.
    seed_numpy(number >> 32)


@contextlib.contextmanager
def kept_generators() -> Iterator[None]:
    """Gives the global generators back in the state in which they were."""
    states = generator_states()
    try:
        yield
    finally:
        restore_generators(states)


States = tuple[Any, Any, torch.Tensor]


def generator_states() -> States:
    """The states of the global generators of random, numpy and torch (CPU)."""
    return random.getstate(), numpy_state(), torch.default_generator.get_state()


def restore_generators(states: States) -> None:
    """Puts the global generators into states that `generator_states` returned."""
    random.setstate(states[0])
    restore_numpy(states[1])
    torch.default_generator.set_state(states[2])
