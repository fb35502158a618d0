# SPDX-License-Identifier: Apache-2.0
"""numpy's global generator is put back to the bit, whichever way its state is copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from torch_dts import _seeding_numpy
from torch_dts._seeding_numpy import numpy_state, restore_numpy, seed_numpy


def plain(state: Any) -> Any:
    """A state that can be compared."""
    if isinstance(state, dict):
        return {name: plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def now() -> Any:
    return plain(np.random.get_state(legacy=False))


def test_states_are_copied_as_memory() -> None:
    np.random.seed(1)
    assert isinstance(numpy_state(), bytes)


@pytest.mark.parametrize("has_expected_layout", [True, False])
@pytest.mark.parametrize("num_drawn", [0, 1, 619, 623, 624, 1000])
@pytest.mark.parametrize("num_normals", [0, 1, 2, 3])  # numpy keeps the second of each pair
@pytest.mark.parametrize("num_normals_between", [0, 1, 2])
def test_state_comes_back(
    has_expected_layout: bool,
    num_drawn: int,
    num_normals: int,
    num_normals_between: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_seeding_numpy, "_has_expected_layout", lambda: has_expected_layout)
    np.random.seed(5)
    np.random.randn(num_normals)
    np.random.randint(0, 1 << 32, num_drawn, dtype=np.uint32)
    before = now()
    assert before["has_gauss"] == num_normals % 2
    state = numpy_state()
    assert now() == before  # asking changes nothing
    seed_numpy(9)
    np.random.randn(num_normals_between)
    restore_numpy(state)
    assert now() == before


@pytest.fixture(params=[np.random.PCG64, np.random.Philox, np.random.SFC64])
def other_kind(request: pytest.FixtureRequest) -> Iterator[Any]:
    own = np.random.get_bit_generator()
    np.random.set_bit_generator(request.param(1))
    yield request.param
    np.random.set_bit_generator(own)


def test_generator_of_another_kind(other_kind: Any) -> None:
    np.random.randn()
    before = now()
    state = numpy_state()
    assert now() == before
    seed_numpy(7)
    expected = np.random.RandomState(other_kind(7))
    assert np.random.randn() == expected.randn()  # not the one in store
    assert np.random.rand(3).tolist() == expected.rand(3).tolist()
    restore_numpy(state)
    assert now() == before
