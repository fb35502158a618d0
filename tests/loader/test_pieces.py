# SPDX-License-Identifier: Apache-2.0
"""Epochs as pieces: batches, occurrences, indices, and samplers of the user's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from torch_dts.loader._batch_plan import BatchRule, IndexBatch, plan_share
from torch_dts.loader._order import Order, Reading
from torch_dts.loader._pieces import OccurrenceCounter, Piece, SampleMap, planned_pieces, sampled_pieces


def joined(pieces: list[Piece], name: str) -> list[int]:
    return [value for piece in pieces for value in getattr(piece, name).tolist()]


def planned(order: Order, batch_size: int, last_batch: Any = "partial", **kwargs: Any) -> list[Piece]:
    sample_map = kwargs.pop("sample_map", SampleMap(None, order.num_samples))
    rule = BatchRule(batch_size, last_batch)
    stream = order.stream(3, 1, plan_share(order, rule))
    return list(planned_pieces(order, stream, sample_map, rule, Reading(1e6)))


@pytest.mark.parametrize(
    ("num_samples", "batch_size", "drop_last", "expected"),
    [  # what torch's BatchSampler gives
        (5, 8, False, [5]),
        (5, 8, True, []),
        (100, 32, False, [32, 32, 32, 4]),
        (100, 32, True, [32, 32, 32]),
        (96, 32, False, [32, 32, 32]),
        (3, 1, False, [1, 1, 1]),
        (0, 4, False, []),
    ],
)
def test_batch_sizes(num_samples: int, batch_size: int, drop_last: bool, expected: list[int]) -> None:
    last_batch = "drop" if drop_last else "partial"
    pieces = planned(Order(num_samples, shuffle=num_samples > 0), batch_size, last_batch)
    assert joined(pieces, "batch_sizes") == expected
    samples = joined(pieces, "samples")
    order = Order(num_samples, shuffle=num_samples > 0).stream(3, 1).ids.tolist() if num_samples else []
    assert samples == order[: sum(expected)]
    assert sum(joined(pieces, "unit_sizes")) == len(samples)


def test_a_batch_is_announced_with_the_piece_that_completes_it() -> None:
    total = 0
    for piece in planned(Order(100, shuffle=True), 40):  # units of 16 samples
        before, total = total, total + piece.samples.numel()
        complete = total // 40 - before // 40 + (total == 100)
        assert piece.batch_sizes.numel() == complete


@pytest.mark.parametrize(("rank", "is_short"), [(0, True), (1, False), (2, True), (3, False)])
def test_fillers_have_occurrence_1(rank: int, is_short: bool) -> None:
    pieces = planned(Order(10, shuffle=True, num_replicas=4, rank=rank), 2)
    samples = joined(pieces, "samples")
    assert len(samples) == 3
    assert (samples[0] == samples[-1]) == is_short
    occurrences = [piece.occurrences.tolist() or [0] * piece.samples.numel() for piece in pieces]
    assert list(itertools.chain(*occurrences)) == ([0, 0, 1] if is_short else [0, 0, 0])


def test_a_rank_without_samples_has_a_filler_of_occurrence_1() -> None:
    (piece,) = planned(Order(2, num_replicas=4, rank=0), 2)
    assert (piece.samples.tolist(), piece.occurrences.tolist()) == ([0], [1])
    duplicates = SampleMap(torch.tensor([4, 4]), 2)
    (piece,) = planned(Order(2, num_replicas=4, rank=0), 2, sample_map=duplicates)
    assert (piece.samples.tolist(), piece.occurrences.tolist()) == ([4], [1])


def test_samples_of_a_subset_and_their_indices_in_it() -> None:
    subset = [40, 10, 30, 20]
    pieces = planned(Order(4, shuffle=True), 3, sample_map=SampleMap(torch.tensor(subset), 4))
    indices = joined(pieces, "indices")
    assert indices == Order(4, shuffle=True).stream(3, 1).ids.tolist()
    assert joined(pieces, "samples") == [subset[index] for index in indices]
    assert joined(pieces, "occurrences") == []


def test_a_subset_that_names_a_sample_twice_counts_it() -> None:
    pieces = planned(Order(5), 2, sample_map=SampleMap(torch.tensor([7, 2, 7, 7, 2]), 5))
    assert joined(pieces, "samples") == [7, 2, 7, 7, 2]
    assert joined(pieces, "occurrences") == [0, 0, 1, 2, 1]


def test_occurrences_are_counted_across_calls_and_modulo_65536() -> None:
    counter = OccurrenceCounter()
    assert counter.count(torch.tensor([5, 5, 0])).tolist() == [0, 1, 0]
    assert counter.count(torch.tensor([9, 5, 0, 5])).tolist() == [0, 2, 1, 3]
    assert counter.count(torch.tensor([], dtype=torch.int64)).tolist() == []
    counter = OccurrenceCounter()
    counts = counter.count(torch.full((65537,), 3))
    assert counts[:3].tolist() == [0, 1, 2]
    assert counts[65535:].tolist() == [65535, 0]


def test_occurrences_beside_the_plain_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    counter, seen = OccurrenceCounter(), {}
    for _ in range(20):
        batch = torch.randint(0, 12, (17,), generator=generator)
        expected = []
        for index in batch.tolist():
            expected.append(seen.get(index, 0))
            seen[index] = expected[-1] + 1
        assert counter.count(batch).tolist() == expected


def occurrences_of(pieces: list[Piece]) -> list[int]:
    return list(
        itertools.chain(*(piece.occurrences.tolist() or [0] * piece.samples.numel() for piece in pieces))
    )


def test_fillers_of_a_batch_go_round_and_are_marked() -> None:
    order = Order(7, shuffle=True, num_replicas=2, rank=0)
    pieces = planned(order, 9, "fill")
    own = order.stream(3, 1).ids.tolist()
    assert len(own) == 3
    assert joined(pieces, "samples") == own * 3
    assert occurrences_of(pieces) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert joined(pieces, "batch_sizes") == [9]
    assert [value for piece in pieces for value in piece.is_own().tolist()] == [True] * 3 + [False] * 6


def test_fillers_of_a_subset_with_duplicates_are_counted_in_the_list() -> None:
    pieces = planned(Order(3), 5, "fill", sample_map=SampleMap(torch.tensor([7, 2, 7]), 3))
    assert joined(pieces, "samples") == [7, 2, 7, 7, 2]
    assert occurrences_of(pieces) == [0, 0, 1, 2, 1]


# ---- samplers of the user's ----


def sampled(batches: Any, length: int = 50, samples: torch.Tensor | None = None) -> Iterator[Piece]:
    return sampled_pieces(map(IndexBatch, batches), SampleMap(samples, length), 1e5)


def test_a_samplers_batches_are_pieces() -> None:
    pieces = list(sampled([[3, 1], [-1], [3, 3]]))
    assert joined(pieces, "samples") == [3, 1, 49, 3, 3]
    assert joined(pieces, "indices") == [3, 1, 49, 3, 3]
    assert joined(pieces, "occurrences") == [0, 0, 0, 1, 2]
    assert joined(pieces, "batch_sizes") == [2, 1, 2]
    (filled,) = sampled_pieces([IndexBatch([4, 0, 4, 0], 2)], SampleMap(None, 5), 1e5)
    assert filled.occurrences.tolist() == [0, 0, 1, 1]
    assert filled.is_own().tolist() == [True, True, False, False]
    assert joined(pieces, "blocks") == []


def test_endless_samplers_are_asked_as_needed() -> None:
    asked: list[int] = []

    def endless() -> Iterator[list[int]]:
        for i in itertools.count():
            asked.append(i)
            yield [i % 50]

    pieces = sampled(endless())
    assert [next(pieces).samples.tolist() for _ in range(3)] == [[0], [1], [2]]
    assert asked == [0, 1, 2]


def test_indices_may_be_of_any_integer_type() -> None:
    import numpy as np

    batches = [[np.int32(4)], torch.tensor([5, 6]), (torch.tensor(7),), range(2)]
    assert joined(list(sampled(batches)), "samples") == [4, 5, 6, 7, 0, 1]


def test_large_batches_are_read_in_parts() -> None:
    (piece,) = sampled([list(range(50)) * 8])
    assert piece.batch_sizes.tolist() == [400]
    assert piece.unit_sizes.tolist() == [83, 83, 83, 83, 68]
    assert piece.unit_num_blocks.tolist() == [0] * 5


@pytest.mark.parametrize("index", [50, -51])
def test_indices_outside_of_the_dataset(index: int) -> None:
    pieces = sampled([[1], [2, index]])
    assert next(pieces).samples.tolist() == [1]
    with pytest.raises(IndexError, match=rf"the sampler gave index {index}, but the dataset has 50 samples"):
        next(pieces)


def test_indices_that_are_no_integers() -> None:
    for wrong, shown in [("a", r"'a' \(str\)"), (1.5, r"1\.5 \(float\)"), ((1, 2), r"\(1, 2\) \(tuple\)")]:
        with pytest.raises(TypeError, match=rf"^the sampler gave index {shown}, expected an integer$"):
            next(sampled([[3, wrong, 99]]))
    with pytest.raises(IndexError, match=rf"the sampler gave index {2**70}, but the dataset has 50 samples"):
        next(sampled([[3, 2**70]]))


def test_empty_batches_are_an_error_as_in_torch() -> None:
    with pytest.raises(IndexError, match="the sampler gave an empty batch"):
        next(sampled([[]]))
