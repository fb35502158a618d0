# SPDX-License-Identifier: Apache-2.0
"""The generators that Python transforms draw from, seeded sample by sample and given back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import numpy as np
import torch


@contextlib.contextmanager
def seeded_generators() -> Iterator[Callable[[int], None]]:
    """Lends the global generators of torch (CPU), random and numpy, and restores their states.

    Yields a function that seeds all three with a number of 0 to 2^63 - 1 (torch_dts._native.choose_seed).
    torch.manual_seed would seed every GPU, too, and costs 90 us a sample; transforms draw on the CPU.
    """
    states = random.getstate(), np.random.get_state(legacy=False), torch.random.get_rng_state()
    try:
        yield _seed
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.random.set_rng_state(states[2])


def _seed(number: int) -> None:
    random.seed(number)
    # torch and numpy have the same generator, started with 32 bits: from the same bits both
    # would draw the same numbers.
    np.random.seed(number >> 32)
    torch.default_generator.manual_seed(number)
