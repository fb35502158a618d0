# SPDX-License-Identifier: Apache-2.0
"""numpy's global generator: seeded, saved and restored in a few microseconds.

``numpy.random.get_state`` and ``set_state`` take 80 us each, more than a small image's whole
transform. The state is therefore copied as memory, through the address that numpy gives
out, after a check that the memory is laid out as expected; else those two do it.

numpy makes normal values in pairs and keeps the second one elsewhere. Whether there is one
shows when one is asked for: it comes without a step of the generator.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

_WORDS = 624
_STATE_BYTES = 4 * (_WORDS + 1)  # the key, then the position in it


def seed_numpy(number: int) -> None:
    """Seeds the global generator, of whichever kind it is, with 32 bits."""
    generator = _generator()
    if type(generator) is np.random.MT19937:
        np.random.seed(number)
    else:  # the user put it there; seed() would leave a normal value in store
        np.random.set_state(type(generator)(number).state)


def numpy_state() -> Any:
    """What `restore_numpy` takes; the generator is left as it is."""
    address = _address(_generator())
    if address == 0:
        return np.random.get_state(legacy=False)
    kept = ctypes.string_at(address, _STATE_BYTES)
    value = np.random.standard_normal()
    if ctypes.string_at(address, _STATE_BYTES) != kept:
        restore_numpy(kept)
        return kept
    state: dict[str, Any] = np.random.get_state(legacy=False)
    state |= {"has_gauss": 1, "gauss": value}  # it was in store, and is again
    np.random.set_state(state)
    return state


def restore_numpy(state: Any) -> None:
    """Puts the global generator into a state of `numpy_state`."""
    if isinstance(state, bytes):
        np.random.seed(0)  # forgets a normal value in store
        ctypes.memmove(_address(_generator()), state, _STATE_BYTES)
    else:
        np.random.set_state(state)


def _generator() -> Any:
    return np.random.mtrand._rand._bit_generator


def _address(generator: Any) -> int:
    """Where its state is; 0 where that is not as expected."""
    if type(generator) is not np.random.MT19937 or not _has_expected_layout():
        return 0
    return int(generator.ctypes.state_address)


@cache
def _has_expected_layout() -> bool:
    generator = np.random.MT19937(1)
    np.random.RandomState(generator).random_sample(7)
    state: Any = generator.state["state"]
    expected = state["key"].astype(np.uint32).tobytes() + np.int32(state["pos"]).tobytes()
    found = ctypes.string_at(generator.ctypes.state_address, _STATE_BYTES)
    return bool(found == expected)
