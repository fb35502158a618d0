# SPDX-License-Identifier: Apache-2.0
"""What a rank delivers: its range, what is dropped, what comes once more."""

from __future__ import annotations

from typing import Any

import pytest

from torch_dts.datasets._shares import check_uneven, filler_places, rank_range, rank_share

SIZES = [(0, 3), (1, 1), (2, 3), (3, 3), (20, 1), (20, 3), (20, 7), (20, 64), (5000, 1024), (2**61, 7)]


@pytest.mark.parametrize(("num_samples", "num_replicas"), SIZES)
def test_shares_of_all_ranks(num_samples: int, num_replicas: int) -> None:
    ranges = [rank_range(num_samples, num_replicas, rank) for rank in range(num_replicas)]
    filled = [rank_share(num_samples, num_replicas, rank) for rank in range(num_replicas)]
    assert [share.num_own for share in filled] == [end - first for first, end in ranges]
    assert {share.num_samples for share in filled} == {-(-num_samples // num_replicas)}
    assert max(share.num_fillers for share in filled) <= 1
    dropped = {rank_share(num_samples, num_replicas, rank, drop_last=True) for rank in range(num_replicas)}
    assert dropped == {(num_samples // num_replicas, 0)}
    exact = [rank_share(num_samples, num_replicas, rank, uneven="exact") for rank in range(num_replicas)]
    assert sum(share.num_own for share in exact) == num_samples
    assert all(share.num_fillers == 0 for share in exact)


@pytest.mark.parametrize(
    ("num_own", "num_fillers", "places", "occurrences"),
    [
        (3, 0, [], []),
        (3, 2, [0, 1], [1, 1]),
        (3, 7, [0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 2, 2, 2, 3]),
        (0, 3, [0, 0, 0], [1, 2, 3]),
    ],
)
def test_fillers(num_own: int, num_fillers: int, places: list[int], occurrences: list[int]) -> None:
    found = filler_places(num_own, num_fillers)
    assert [values.tolist() for values in found] == [places, occurrences]


@pytest.mark.parametrize("uneven", ["Fill", None, 1, ("fill",)])
def test_wrong_words(uneven: Any) -> None:
    with pytest.raises(ValueError, match=r"^uneven is .*, expected 'fill' or 'exact'$"):
        check_uneven(uneven, False)


def test_exact_leaves_nothing_out() -> None:
    assert check_uneven("exact", False) == "exact"
    assert check_uneven("fill", True) == "fill"
    with pytest.raises(ValueError, match="drop_last=True leaves some out"):
        check_uneven("exact", True)
