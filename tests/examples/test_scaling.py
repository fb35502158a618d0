# SPDX-License-Identifier: Apache-2.0
"""The benchmark of threads, ranks and sizes counts what it says."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import counting
import pytest


@pytest.fixture(scope="module")
def scaling(benchmark_module: Callable[[str], ModuleType]) -> Any:
    return benchmark_module("scaling")


@pytest.fixture
def folder(image_folder: Callable[..., pathlib.Path]) -> str:
    return str(image_folder(classes={"a": 5, "b": 4}))


def test_numbers_of_threads(scaling: Any) -> None:
    assert scaling.powers_up_to(1) == [1]
    assert scaling.powers_up_to(2) == [1, 2]
    assert scaling.powers_up_to(12) == [1, 2, 4, 8, 12]


def test_digests_are_of_values_and_order(scaling: Any, folder: str) -> None:
    few, many = (scaling.open_loader(folder, 7, n, batch_size=3, size=8) for n in (1, 16))
    assert scaling.digest(few) == scaling.digest(many)
    other = scaling.open_loader(folder, 7, 1, batch_size=3, size=8, seed=2)
    assert scaling.digest(few) != scaling.digest(other)


def test_a_crowd_of_threads(scaling: Any, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "num_cpus", lambda: 2)
    monkeypatch.setattr(scaling, "count_futex_calls", lambda command, count: [18, 9])
    given = scaling.parsed([folder, "--crowd", "1,2,16", "--rounds", "1", "--batch-size", "3"])
    rows = scaling.crowd(folder, given)
    assert [row["threads"] for row in rows] == [2, 16]  # not fewer than CPUs
    assert [row["futex calls per 1000 samples"] for row in rows] == [2000, 1000]
    assert rows[0]["digest"] == rows[1]["digest"]
    assert max(row["of the best, %"] for row in rows) == pytest.approx(100)


def test_ranks_give_every_sample(scaling: Any, folder: str, benchmark_module: Any) -> None:
    processes = benchmark_module("scaling_processes")
    parts = []
    for rank in range(2):
        run, answer = processes.rank_epochs(rank, folder, 9, 2, 1, 2)
        assert run() == 5
        parts.append(answer())
    assert len(parts[0]) == len(parts[1]) == 5  # one is a filler
    assert set(parts[0]) | set(parts[1]) == set(range(9))


def test_processes_run_together(benchmark_module: Any) -> None:
    processes = benchmark_module("scaling_processes")
    with processes.Processes(3, counting.make, (10,)) as group:
        assert group.run_first(1)() == 0
        assert group.run_first(3)() == 0 + 10 + 20
        assert group.ask() == [(0, 2), (1, 1), (2, 1)]


def test_marks_in_a_log_of_strace(benchmark_module: Any) -> None:
    processes = benchmark_module("scaling_processes")
    mark = f'7 access("{processes.MARK}", F_OK) = -1 ENOENT'
    call = "8 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 1"
    cut = ["8 futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>", "8 <... futex resumed>) = 0"]
    lines = [call, mark, call, *cut, mark, call, mark, mark]
    assert processes.between_marks(lines) == [2, 0]


def test_without_strace_nothing_is_counted(benchmark_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = benchmark_module("scaling_processes")
    monkeypatch.setattr(processes.shutil, "which", lambda name: None)
    assert processes.count_futex_calls(["true"], 1) is None


def test_a_plot(scaling: Any) -> None:
    names = ("threads", "images/s", "bare work in N processes, images/s")
    rows = [dict(zip(names, row, strict=True)) for row in ((1, 800.0, 900.0), (2, 1500.0, 1600.0))]
    text = scaling.plot(rows)
    assert text.count("<polyline") == 3
    assert text.startswith("<svg")
    assert "N times one thread" in text
