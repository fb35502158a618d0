# SPDX-License-Identifier: Apache-2.0
"""The iterator alone, with an engine that only writes down what it is told."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import default_collate

from torch_dts.loader import _iterator
from torch_dts.loader._batch_plan import BatchRule, IndexBatch, plan_share
from torch_dts.loader._delivery import Delivery
from torch_dts.loader._engine import BATCH, END, TIMEOUT
from torch_dts.loader._epoch import Epoch
from torch_dts.loader._iterator import LoaderIterator
from torch_dts.loader._order import Order, Reading
from torch_dts.loader._pieces import Piece, SampleMap, planned_pieces, sampled_pieces

EMPTY = torch.empty(0, dtype=torch.int64)


class FakeEngine:
    """Delivers what was appended, after `num_timeouts` waits for each batch."""

    def __init__(self, num_workers: int = 1, num_timeouts: int = 0) -> None:
        self.options = SimpleNamespace(num_workers=num_workers, prefetch_batches=2)
        self.is_usable = True
        self.samples: list[int] = []
        self.sizes: list[int] = []
        self.is_finished = False
        self.waiting = 0
        self.num_timeouts = self.timeouts_left = num_timeouts
        self.slices: list[int] = []
        self.slots = EMPTY
        self.num_views = 1

    def append(self, piece: Piece) -> None:
        self.samples += piece.samples.tolist()
        self.sizes += piece.batch_sizes.tolist()
        self.waiting += piece.unit_sizes.numel()

    def finish(self) -> None:
        self.is_finished = True

    def num_waiting(self) -> int:
        return self.waiting

    def next(self, timeout_ms: int) -> Any:
        self.slices.append(timeout_ms)
        if self.timeouts_left:
            self.timeouts_left -= 1
            return TIMEOUT, [], EMPTY, EMPTY, EMPTY
        self.timeouts_left = self.num_timeouts
        if not self.sizes:
            return (END if self.is_finished else TIMEOUT), [], EMPTY, EMPTY, EMPTY
        size = self.sizes.pop(0)
        labels = torch.tensor(self.samples[:size])
        del self.samples[:size]
        self.waiting = max(0, self.waiting - 1)
        return BATCH, [torch.zeros(size, 3, 2, 2)] * self.num_views, labels, labels, self.slots


class FakePool:
    """Remembers what comes back."""

    def __init__(self) -> None:
        self.returned: list[Any] = []
        self.consumer_seconds = 0.0
        self.num_repeated = 0

    def count_batch(self) -> None:
        self.num_repeated += 1

    def give_back(self, engine: Any) -> None:
        self.returned.append(engine)

    def add_consumer_time(self, seconds: float) -> None:
        self.consumer_seconds += seconds


class FakeDesk:
    """Fills nothing."""

    def __init__(self) -> None:
        self.filled: list[Any] = []
        self.is_cleared = False
        self.has_any = False
        self.num_collected = 0

    def collect(self, engine: Any) -> None:
        self.num_collected += 1

    def fill(self, batch: int, images: Any, slots: list[int]) -> None:
        self.filled.append((batch, slots))
        if batch == 1:
            raise ValueError("cannot identify image file")

    def clear(self) -> None:
        self.is_cleared = True


def make(
    pieces: Iterator[Piece], engine: FakeEngine, *, reads_blocks: bool = False, **kwargs: Any
) -> tuple[LoaderIterator, FakePool, FakeDesk]:
    pool, desk = FakePool(), FakeDesk()
    arguments: dict[str, Any] = {
        "delivery": Delivery(default_collate),
        "num_batches": None,
        "timeout": 0.0,
        **kwargs,
    }
    epoch = Epoch(0, 0, pieces, reads_blocks)
    made: Any = LoaderIterator(pool, engine, epoch, foreign=desk, **arguments)  # type: ignore[arg-type]
    return made, pool, desk


def pieces_of(
    order: Order, samples: torch.Tensor | None, batch_size: int, mean_bytes: float
) -> Iterator[Piece]:
    stream = order.stream(0, 0)
    sample_map = SampleMap(samples, order.num_samples)
    return planned_pieces(order, stream, sample_map, BatchRule(batch_size), Reading(mean_bytes))


def ten(batch_size: int = 4) -> Iterator[Piece]:
    return pieces_of(Order(10), None, batch_size, 1e9)


def test_an_epoch() -> None:
    engine = FakeEngine()
    batches, pool, desk = make(ten(), engine, num_batches=3)
    assert len(batches) == 3
    assert iter(batches) is batches
    assert [batch[1].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert pool.returned == [engine]
    assert desk.is_cleared
    assert next(batches, None) is None


def test_a_length_that_nobody_knows() -> None:
    with pytest.raises(TypeError, match="object of type 'LoaderIterator' has no len"):
        len(make(ten(), FakeEngine())[0])


def test_a_sampler_is_asked_for_few_batches_at_a_time() -> None:
    asked: list[int] = []

    def endless() -> Iterator[IndexBatch]:
        while True:
            asked.append(1)
            yield IndexBatch([1, 2])

    engine = FakeEngine()
    batches, _, _ = make(sampled_pieces(endless(), SampleMap(None, 10), 1e5), engine)
    for number in range(5):
        next(batches)
        assert len(asked) == number + 4  # two in work, one before and one behind them


def test_groups_of_blocks_are_appended_two_ahead() -> None:
    engine = FakeEngine()
    batches, _, _ = make(
        pieces_of(Order(1000), None, 100, 1e5),
        engine,
        reads_blocks=True,
    )
    engine.waiting = -10
    next(batches)
    assert sum(engine.sizes) == 800  # more than the 4 batches asked for, until 2 units wait


@pytest.mark.parametrize("how", ["closed", "dropped", "interrupted"])
def test_the_engine_comes_back(how: str) -> None:
    engine = FakeEngine()
    batches, pool, desk = make(ten(), engine)
    next(batches)
    if how == "closed":
        batches.close()
        batches.close()
    elif how == "dropped":
        del batches
        gc.collect()
    else:

        def interrupted(timeout_ms: int) -> Any:
            raise KeyboardInterrupt

        engine.next = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            next(batches)
        assert next(batches, None) is None
    assert pool.returned == [engine]
    assert desk.is_cleared or how == "dropped"


def test_waits_are_short_so_that_signals_are_seen() -> None:
    engine = FakeEngine(num_timeouts=5)
    batches, _, _ = make(ten(), engine)
    assert len(list(batches)) == 3
    assert set(engine.slices) == {100}


def test_the_timeout_is_the_whole_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(_iterator.time, "monotonic", lambda: now[0])
    engine = FakeEngine(num_timeouts=100)
    batches, pool, _ = make(ten(), engine, timeout=2.5)
    fake_next = engine.next

    def passing(timeout_ms: int) -> Any:
        now[0] += timeout_ms / 1000
        return fake_next(timeout_ms)

    engine.next = passing  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 2.5 seconds$"):
        next(batches)
    assert 2.5 <= now[0] < 2.7
    assert pool.returned == []
    engine.timeouts_left = 0
    assert next(batches)[1].tolist() == [0, 1, 2, 3]


def test_a_bad_sample_does_not_end_the_epoch() -> None:
    engine = FakeEngine()
    engine.slots = torch.tensor([1])
    batches, pool, desk = make(ten(), engine)
    next(batches)
    with pytest.raises(ValueError, match="cannot identify image file"):
        next(batches)
    assert pool.returned == []
    assert next(batches)[1].tolist() == [8, 9]
    assert desk.filled == [(0, [1]), (1, [1]), (2, [1])]


def test_indices_go_with_their_batches_however_they_are_read() -> None:
    samples = torch.arange(100, 200)
    pieces = pieces_of(Order(100, shuffle=True), samples, 7, 1e9)
    delivery = Delivery(default_collate, returns_index=True, returns_mask=True)
    batches, _, _ = make(pieces, FakeEngine(), delivery=delivery)
    found = list(batches)
    assert [index.numel() for _, _, index, _ in found] == [7] * 14 + [2]
    assert all(torch.equal(labels, index + 100) for _, labels, index, _ in found)
    assert all(mask.dtype == torch.bool and mask.all() for *_, mask in found)


def test_a_mask_tells_fillers_from_samples() -> None:
    order, rule = Order(10), BatchRule(4, "fill")
    stream = order.stream(0, 0, plan_share(order, rule))
    pieces = planned_pieces(order, stream, SampleMap(None, 10), rule, Reading(1e9))
    batches, _, _ = make(pieces, FakeEngine(), delivery=Delivery(default_collate, returns_mask=True))
    *_, (_, labels, mask) = batches
    assert labels.tolist() == [8, 9, 0, 1]
    assert mask.tolist() == [True, True, False, False]


def test_without_workers_the_callers_time_is_counted() -> None:
    batches, pool, _ = make(ten(), FakeEngine(num_workers=0))
    next(batches)
    time.sleep(0.05)
    next(batches)
    assert 0.05 <= pool.consumer_seconds < 5
    batches, pool, _ = make(ten(), FakeEngine(num_workers=1))
    list(batches)
    assert pool.consumer_seconds == 0


def test_samples_for_python_are_asked_for_once_there_are_some() -> None:
    engine = FakeEngine()
    batches, _, desk = make(ten(2), engine)
    next(batches)
    assert desk.num_collected == 0
    engine.slots = torch.tensor([1])
    with pytest.raises(ValueError, match="cannot identify"):
        next(batches)
    assert desk.num_collected == 1
    engine.slots = EMPTY
    next(batches)
    assert desk.num_collected == 1
    desk.has_any = True  # a real one says so from the first that it found
    next(batches)
    assert desk.num_collected == 2
