# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def results(benchmark_module: Callable[[str], ModuleType]) -> Any:
    return benchmark_module("results")


def test_a_table(results: Any) -> None:
    rows = [{"what": "a", "rate": 1234.56, "ms": 0.12345}, {"what": "longer", "rate": 45.678}]
    assert results.of_rows("Rates", rows).markdown().splitlines() == [
        "### Rates",
        "",
        "| what   |  rate |    ms |",
        "| ------ | ----: | ----: |",
        "| a      | 1,235 | 0.123 |",
        "| longer |  45.7 |       |",
    ]


def test_notes_and_numbers(results: Any) -> None:
    table = results.Table("Rates", ["way", "images/s", "ratio"], notes=["A note."])
    table.add("ours", 12345.6, 0.5)
    table.add("theirs", 99, None)
    assert table.markdown().splitlines() == [
        "### Rates",
        "",
        "| way    | images/s | ratio |",
        "| ------ | -------: | ----: |",
        "| ours   |   12,346 | 0.500 |",
        "| theirs |       99 |       |",
        "",
        "A note.",
    ]


def test_json(results: Any, tmp_path: pathlib.Path) -> None:
    table = results.of_rows("Rates", [{"rate": 2.5}])
    results.save(tmp_path / "found.json", "scaling", [table])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["tables"] == [{"title": "Rates", "columns": ["rate"], "rows": [[2.5]], "notes": []}]
    assert (found["benchmark"], found["machine"]) == ("scaling", results.machine())
