# SPDX-License-Identifier: Apache-2.0
"""Samples and batches of each rank, beside the rules spelled out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from torch_dts.loader._batch_plan import (
    PARTIAL_BY_DEFAULT,
    BatchRule,
    IndexBatch,
    check_last_batch,
    filled_batches,
    meant,
    num_batches,
    plan_share,
)
from torch_dts.loader._order import Order

SAMPLES = [0, 1, 6, 20, 64, 1025]
RANKS = [1, 3, 7, 64, 1024]
SIZES = [1, 7, 5000]


def orders(num_samples: int, num_replicas: int, **kwargs: Any) -> list[Order]:
    return [
        Order(num_samples, num_replicas=num_replicas, rank=rank, **kwargs) for rank in range(num_replicas)
    ]


def test_a_default_is_told_from_what_the_caller_says() -> None:
    assert type(meant(PARTIAL_BY_DEFAULT, False)) is str
    assert [meant(PARTIAL_BY_DEFAULT, needs) for needs in (False, True)] == ["partial", "fill"]
    assert [meant("drop", needs) for needs in (False, True)] == ["drop", "drop"]
    assert meant("partial", False) == "partial"
    with pytest.raises(
        ValueError, match="but last_batch is 'partial': take 'fill', 'drop' or drop_last=True"
    ):
        meant("partial", True)


@pytest.mark.parametrize("num_replicas", RANKS)
def test_ranks_make_equal_batches(num_replicas: int) -> None:
    for num_samples, size in itertools.product(SAMPLES, SIZES):
        longest = -(-num_samples // num_replicas)
        expected = {
            "partial": (longest, -(-longest // size)),
            "drop": (longest // size * size, longest // size),
            "fill": (-(-longest // size) * size, -(-longest // size)),
        }
        for last_batch, (samples, batches) in expected.items():
            rule = BatchRule(size, last_batch)  # type: ignore[arg-type]
            shares = [plan_share(order, rule) for order in orders(num_samples, num_replicas)]
            assert {share.num_samples for share in shares} == {samples}
            assert {num_batches(share.num_samples, rule) for share in shares} == {batches}
            if last_batch != "drop":
                assert sum(share.num_own for share in shares) == num_samples
        dropped = orders(num_samples, num_replicas, drop_last=True)
        whole = num_samples // num_replicas // size * size
        assert {plan_share(order, BatchRule(size, "drop")) for order in dropped} == {(whole, 0)}


@pytest.mark.parametrize("num_replicas", RANKS)
def test_exact_ranks_deliver_all_in_equal_numbers_of_batches(num_replicas: int) -> None:
    for num_samples, size in itertools.product(SAMPLES, SIZES):
        batches = math.ceil(math.ceil(num_samples / num_replicas) / size)
        for last_batch in ("partial", "fill"):
            rule = BatchRule(size, last_batch)  # type: ignore[arg-type]
            exact = orders(num_samples, num_replicas, uneven="exact")
            shares = [plan_share(order, rule) for order in exact]
            assert [share.num_own for share in shares] == [len(order) for order in exact]
            assert sum(share.num_own for share in shares) == num_samples
            assert {num_batches(share.num_samples, rule) for share in shares} == {batches}
            for share in shares:
                is_out = -(-share.num_own // size) < batches
                if last_batch == "fill":
                    assert share.num_samples == batches * size
                else:
                    assert share.num_fillers == int(is_out)


def test_batches_of_a_sampler_are_filled_from_the_first_indices() -> None:
    def filled(batches: list[list[Any]], size: int, last_batch: Any = "fill") -> list[IndexBatch]:
        return list(filled_batches(batches, BatchRule(size, last_batch)))

    assert filled([[5, 6, 7], [8]], 3) == [IndexBatch([5, 6, 7]), IndexBatch([8, 5, 6], 2)]
    assert filled([[5, 6]], 7) == [IndexBatch([5, 6, 5, 6, 5, 6, 5], 5)]
    assert filled([[5, 6], [7, 8]], 2) == [IndexBatch([5, 6]), IndexBatch([7, 8])]
    assert filled([[5, 6], [7]], 2, "partial") == [IndexBatch([5, 6]), IndexBatch([7])]
    assert filled([], 2) == []


def test_batches_of_a_sampler_come_one_by_one() -> None:
    asked: list[int] = []

    def endless() -> Any:
        while True:
            asked.append(1)
            yield [1, 2]

    batches = filled_batches(endless(), BatchRule(2, "fill"))
    next(batches)
    next(batches)
    assert len(asked) == 2


@pytest.mark.parametrize("last_batch", ["Fill", None, True, 1])
def test_wrong_words(last_batch: Any) -> None:
    with pytest.raises(ValueError, match=r"^last_batch is .*, expected 'partial', 'drop' or 'fill'$"):
        check_last_batch(last_batch, False, "fill")


def test_what_excludes_each_other() -> None:
    assert check_last_batch("drop", True, "fill") == "drop"
    assert check_last_batch("fill", False, "exact") == "fill"
    with pytest.raises(ValueError, match="last_batch='fill' and drop_last=True exclude each other"):
        check_last_batch("fill", True, "fill")
    with pytest.raises(ValueError, match="last_batch='drop' leaves some out"):
        check_last_batch("drop", False, "exact")
