# SPDX-License-Identifier: Apache-2.0
"""numpy's global generator is put back to the bit, whichever way its state is copied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from torch_dts.loader import _seeding_numpy
from torch_dts.loader._seeding_numpy import numpy_state, restore_numpy, seed_numpy


def test_states_are_copied_as_memory() -> None:
    assert isinstance(numpy_state(), bytes)


@pytest.mark.parametrize("has_expected_layout", [True, False])
@pytest.mark.parametrize("num_drawn", [0, 1, 623, 624, 1000])
def test_state_comes_back(has_expected_layout: bool, num_drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_seeding_numpy, "_has_expected_layout", lambda: has_expected_layout)
    np.random.seed(5)
    np.random.randint(0, 1 << 32, num_drawn, dtype=np.uint32)
    before = np.random.get_state(legacy=False)
    state = numpy_state()
    seed_numpy(9)
    np.random.randn()  # leaves the second of a pair of normals in store
    restore_numpy(state)
    after = np.random.get_state(legacy=False)
    assert np.array_equal(before["state"]["key"], after["state"]["key"])
    assert before["state"]["pos"] == after["state"]["pos"]
    assert after["has_gauss"] == 0
    expected = np.random.RandomState(5)
    expected.randint(0, 1 << 32, num_drawn, dtype=np.uint32)
    assert np.random.randn() == expected.randn()


@pytest.fixture
def other_generator() -> Iterator[None]:
    own = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(1))
    yield
    np.random.set_bit_generator(own)


@pytest.mark.usefixtures("other_generator")
def test_generator_of_another_kind() -> None:
    state = numpy_state()
    first = np.random.rand(3).tolist()
    seed_numpy(7)
    seeded = np.random.rand(3).tolist()
    restore_numpy(state)
    assert np.random.rand(3).tolist() == first != seeded
    seed_numpy(7)
    assert np.random.rand(3).tolist() == seeded
