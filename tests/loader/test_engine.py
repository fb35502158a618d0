# SPDX-License-Identifier: Apache-2.0
"""Engines: used again, never by two at once, never by another process."""

from __future__ import annotations

import os
import pathlib
import pickle
from typing import Any

import pytest
from loader_sets import FIXED
from torchvision.datasets import ImageFolder

from torch_dts.loader import _engine
from torch_dts.loader._batch_plan import BatchRule
from torch_dts.loader._engine import BATCH, END, Engine, EngineOptions, EnginePool, SharedBuffers
from torch_dts.loader._order import Order, Reading
from torch_dts.loader._pieces import SampleMap, planned_pieces
from torch_dts.loader._recognise import Recognised, recognise
from torch_dts.transforms._read import read

OPTIONS = EngineOptions(1, 2, True, (), 1, True)
PLAN = read(FIXED).plan.encode()  # type: ignore[union-attr]


@pytest.fixture
def recognised(photos: pathlib.Path) -> Recognised:
    found = recognise(ImageFolder(photos, FIXED), keep=0)
    assert isinstance(found, Recognised)
    return found


def run(engine: Engine, num_samples: int = 10) -> list[int]:
    """The labels of an epoch of the first samples, 4 at a time."""
    engine.start(PLAN, 0, 0)
    sample_map = SampleMap(None, num_samples)
    order = Order(num_samples)
    for piece in planned_pieces(order, order.stream(0, 0), sample_map, BatchRule(4), Reading(1e5)):
        engine.append(piece)
    engine.finish()
    labels: list[int] = []
    while (found := engine.next(10_000))[0] == BATCH:
        labels += found[2].tolist()
    assert found[0] == END
    return labels


def test_an_idle_engine_is_used_again(recognised: Recognised) -> None:
    pool = EnginePool()
    first = pool.take(recognised, PLAN, OPTIONS, None)
    expected = run(first)
    assert len(expected) == 10
    pool.give_back(first)
    again = pool.take(recognised, PLAN, OPTIONS, None)
    assert again is first
    assert run(again) == expected
    assert pool.stats().num_images == 20


def test_one_that_is_out_is_not(recognised: Recognised) -> None:
    pool = EnginePool()
    engines = [pool.take(recognised, PLAN, OPTIONS, None) for _ in range(3)]
    assert len(set(map(id, engines))) == 3
    for engine in engines:
        run(engine)
        pool.give_back(engine)
    assert [engine.is_usable for engine in engines] == [False, False, True]  # one is enough
    assert pool.stats().num_images == 30


@pytest.mark.parametrize("change", ["options", "source", "buffers"])
def test_one_of_another_kind_is_not(change: str, recognised: Recognised, photos: pathlib.Path) -> None:
    pool = EnginePool()
    first = pool.take(recognised, PLAN, OPTIONS, None)
    pool.give_back(first)
    other = recognise(ImageFolder(photos, FIXED), keep=0)
    assert isinstance(other, Recognised)
    second = pool.take(
        other if change == "source" else recognised,
        PLAN,
        OPTIONS._replace(num_workers=2) if change == "options" else OPTIONS,
        SharedBuffers() if change == "buffers" else None,
    )
    assert second is not first
    assert not first.is_usable
    assert len(run(second)) == 10


def test_closing_ends_those_that_are_out_too(recognised: Recognised) -> None:
    pool = EnginePool()
    out, idle = (pool.take(recognised, PLAN, OPTIONS, None) for _ in range(2))
    pool.give_back(idle)
    pool.close()
    assert not out.is_usable
    assert not idle.is_usable
    pool.give_back(out)  # as its iterator does later
    out.close()
    assert out.stats().num_images == 0


def test_an_engine_belongs_to_its_process(recognised: Recognised, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = EnginePool()
    engine = pool.take(recognised, PLAN, OPTIONS, None)
    pool.give_back(engine)
    pid = os.getpid()
    monkeypatch.setattr(_engine.os, "getpid", lambda: pid + 1)
    assert not engine.is_usable
    engine.stop()
    assert pool.stats().num_images == 0
    other = pool.take(recognised, PLAN, OPTIONS, None)
    assert other is not engine
    monkeypatch.undo()
    assert engine.is_usable  # nothing of it was touched


def test_shared_buffers_are_opened_once(recognised: Recognised) -> None:
    buffers = SharedBuffers()
    handle = buffers.handle()
    assert buffers.handle() == handle
    copy = pickle.loads(pickle.dumps(buffers))
    assert copy.handle() != handle
    engine = Engine(recognised, PLAN, OPTIONS, buffers)
    assert len(run(engine)) == 10


def test_pools_pickle_without_their_engines(recognised: Recognised) -> None:
    pool = EnginePool()
    pool.give_back(pool.take(recognised, PLAN, OPTIONS, None))
    assert pickle.loads(pickle.dumps(pool)).stats().num_images == 0


def test_options_are_compared_as_a_whole() -> None:
    changed: list[Any] = [OPTIONS._replace(**{name: 7}) for name in OPTIONS._fields]
    assert OPTIONS not in changed
