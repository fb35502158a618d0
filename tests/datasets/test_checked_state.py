# SPDX-License-Identifier: Apache-2.0
"""Parts of an epoch, joined and split; what the errors name."""

from __future__ import annotations

from typing import Any

import pytest

from torch_dts.datasets._checked_state import (
    check_facts,
    check_int,
    check_keys,
    check_seed,
    problem,
    read_parts,
    split_parts,
    with_part,
)
from torch_dts.datasets._shares import Part


def test_parts() -> None:
    assert with_part((), 2, 3) == (Part(2, 3),)
    assert with_part((Part(2, 3), Part(4, 0)), 2, 5) == (Part(2, 8),)
    assert with_part((Part(2, 3),), 4, 0) == (Part(2, 3), Part(4, 0))
    assert split_parts((Part(2, 3), Part(4, 5), Part(3, 0)), 4) == ((Part(2, 3),), 5)
    assert split_parts((Part(2, 3), Part(4, 5)), 2) == ((Part(2, 3), Part(4, 5)), 0)
    assert read_parts([[2, 3], (4, 0)]) == (Part(2, 3), Part(4, 0))


@pytest.mark.parametrize(
    "parts", [None, [3], [[1, 2, 3]], [[1]], [[0, 1]], [[1, -1]], [[True, 1]], [[2**21, 1]]]
)
def test_other_parts_are_refused(parts: Any) -> None:
    with pytest.raises(ValueError, match="this state can't be loaded: parts"):
        read_parts(parts)


def test_messages_name_both_values() -> None:
    assert str(problem("seed", 3, 4, " as here")) == (
        "this state can't be loaded: seed is 3 in it, expected 4 as here"
    )
    assert len(str(problem("order", "x" * 5000, 1))) < 300
    check_seed("seed", -1, 2**64 - 1)
    with pytest.raises(ValueError, match="seed is 3 in it, expected 4 as here"):
        check_seed("seed", 3, 4)
    assert check_int("epoch", 3) == 3
    with pytest.raises(ValueError, match=r"epoch is 3\.5 in it, expected an int from 0 to 9"):
        check_int("epoch", 3.5, 0, 10)


def test_keys_and_facts() -> None:
    state = {"version": 1, "fingerprint": "aa", "order": {"shuffle": True}}
    keys = ("version", "fingerprint", "order")
    assert check_keys(state, keys) is state
    check_facts(state, {"shuffle": True}, "aa")
    with pytest.raises(ValueError, match="version is True in it, expected 1"):
        check_keys({**state, "version": True}, keys)
    with pytest.raises(ValueError, match="its keys are "):
        check_keys({"version": 1}, keys)
    with pytest.raises(ValueError, match="the dataset's fingerprint is 'aa' in it, expected bb"):
        check_facts(state, {"shuffle": True}, "bb")
    with pytest.raises(ValueError, match="shuffle is True in it, expected False as here"):
        check_facts(state, {"shuffle": False}, "aa")
    with pytest.raises(ValueError, match="order is 3 in it"):
        check_facts({**state, "order": 3}, {"shuffle": False}, "aa")
