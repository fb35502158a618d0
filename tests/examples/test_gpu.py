# SPDX-License-Identifier: Apache-2.0
"""examples/benchmarks/gpu.py: what of it needs no GPU."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import torch_dts

BENCHMARKS = pathlib.Path(__file__).parents[2] / "examples" / "benchmarks"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    yield importlib.import_module("gpu")
    for name in ("gpu", "gpu_checks", "gpu_dali", "measuring", "synthetic_photos"):
        if name not in before:
            sys.modules.pop(name, None)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so(gpu: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 1
    assert "torch finds no CUDA device here; nothing was run" in capsys.readouterr().out


def test_covered_time(gpu: Any) -> None:
    ranges = [SimpleNamespace(start=start, end=end) for start, end in ((5, 7), (0, 2), (1, 3), (6, 9))]
    assert gpu.covered(0, 10, ranges) == 7
    assert gpu.covered(2.5, 6, ranges) == 1.5
    assert gpu.covered(3, 5, ranges) == 0
    assert gpu.covered(8, 20, []) == 0


def test_a_check_that_fails_does_not_end_the_others(
    gpu: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(path: pathlib.Path) -> str:
        raise AssertionError("a batch differs")

    monkeypatch.setattr(gpu, "CHECKS", {"first": fails, "second": lambda path: f"saw {path}"})
    rows, all_hold = gpu.run_checks(pathlib.Path("some.dts"))
    assert not all_hold
    assert rows[0][1].startswith("FAILED: AssertionError: a batch differs (")
    assert rows[1][1].startswith("saw some.dts (")
    assert "second" in capsys.readouterr().out


def test_rows_end_with_the_time(gpu: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = iter([("first", "1"), ("second", "2")])
    gpu.show_all(rows, float("inf"))
    gpu.show_all((row for row in [("third", "3")]), 0.0)
    told = capsys.readouterr().out
    assert "first" in told
    assert "second" in told
    assert "third" not in told
    assert "the time is over" in told
    assert gpu.versus(8.0, 10.0, "a copy", 0.8) == "80% of a copy (goal 80%: met)"
    assert gpu.versus(7.9, 10.0, "a copy", 0.8) == "79% of a copy (goal 80%: missed)"


def test_rates_of_the_cpu_parts(gpu: Any, dts_file: Any, tmp_path: pathlib.Path) -> None:
    """The rows of the back ends and of DALI's own pipeline, as far as they run without a GPU."""
    folder = tmp_path / "photos"
    file = dts_file(classes={"a": 6, "b": 4}, size=(60, 50))
    torch_dts.extract(file, folder)
    rates: dict[str, float] = {}
    name, told = next(gpu.loader_rows(file, 4, 0.01, 1e9, rates))
    assert (name, told) == (gpu.CPU, f"{rates[gpu.CPU]:.0f} images/s")
    rates[gpu.DALI] = 1e9
    rows = dict(gpu.reader_rows(folder, 4, 0.01, rates, on_gpu=False))
    assert list(rows) == [gpu.READER, "DALI's reader and decoder alone"]
    assert "the dali back end makes" in rows[gpu.READER]
    assert "(goal 90%: met)" in rows[gpu.READER]
    assert all(value > 0 for value in rates.values())
