# SPDX-License-Identifier: Apache-2.0
"""A loader's state as plain values: written, read, and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torch_dts.datasets._shares import Part
from torch_dts.loader._state import Facts, Place, read, written

FACTS = Facts({"kind": "shuffled", "num_samples": 40, "shuffle": True}, 4, "aa")
PLACE = Place(3, 7, 8, (Part(2, 8), Part(3, 4)))


def test_what_is_written_is_read() -> None:
    state = written(PLACE, FACTS)
    assert state["parts"] == [[2, 8], [3, 4]]
    assert read(json.loads(json.dumps(state)), FACTS) == PLACE
    state["parts"].append([1, 1])
    assert written(PLACE, FACTS)["parts"] == [[2, 8], [3, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 0}, "version is 0 in it, expected 1"),
        ({"epoch": 2**32}, "epoch is 4294967296 in it"),
        ({"seed": None}, "seed is None in it, expected an int"),
        ({"choice_seed": "1"}, "choice_seed is '1' in it"),
        ({"num_batches": -1}, "num_batches is -1 in it"),
        ({"batch_size": 0}, "batch_size is 0 in it"),
        (
            {"order": {"kind": "elastic", "shuffle": True}},
            "order is 'elastic' in it, expected shuffled as here",
        ),
        ({"fingerprint": None}, "the dataset's fingerprint is None in it, expected aa"),
        ({"parts": "1"}, "parts is '1' in it"),
        (
            {"parts": [[2, 21]]},
            "parts: samples consumed is 21 in it, expected at most 20, as 40 were left for 2",
        ),
        (
            {"parts": [[2, 8], [5, 6]]},
            "parts: samples consumed is 6 in it, expected at most 5, as 24 were left",
        ),
        ({"sampler": "zz"}, "sampler is 'zz' in it, expected None"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"this state can't be loaded: {message}"):
        read({**written(PLACE, FACTS), **change}, FACTS)


def test_batches_of_a_sampler_must_be_as_large() -> None:
    facts = FACTS._replace(order={"kind": "sampler"})
    with pytest.raises(ValueError, match="batch_size is 4 in it, expected 5 as in the loader"):
        read(written(PLACE, facts), facts._replace(batch_size=5))
    assert read(written(PLACE, FACTS), FACTS._replace(batch_size=5)) == PLACE
