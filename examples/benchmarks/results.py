# SPDX-License-Identifier: Apache-2.0
"""Tables of the benchmarks: as Markdown, for people and the docs, and as JSON, for plots."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from measuring import machine


@dataclasses.dataclass
class Table:
    """A title, column names and rows; a number is shown with as many digits as it deserves."""

    title: str
    columns: Sequence[str]
    rows: list[list[Any]] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, *cells: Any) -> None:
        self.rows.append(list(cells))

    def markdown(self) -> str:
        """The table as Markdown, columns aligned so that it reads well in a terminal too."""
        lines = [list(self.columns), *[[_shown(cell) for cell in row] for row in self.rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        numbers = [
            bool(self.rows) and all(isinstance(row[i], (int, float, type(None))) for row in self.rows)
            for i in range(len(self.columns))
        ]

        def row(cells: Sequence[str]) -> str:
            padded = [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(cells, widths, numbers, strict=True)
            ]
            return f"| {' | '.join(padded)} |"

        rule = [
            "-" * (width - 1) + (":" if number else "-")
            for width, number in zip(widths, numbers, strict=True)
        ]
        text = [f"### {self.title}", "", row(lines[0]), row(rule), *[row(line) for line in lines[1:]]]
        if self.notes:
            text += ["", *self.notes]
        return "\n".join(text) + "\n"


def of_rows(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """The table of rows by column; the first row's keys are the columns."""
    columns = list(rows[0])
    return Table(title, columns, [[row.get(column) for column in columns] for row in rows])


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else str(cell)
    size = abs(cell)
    if size >= 100:
        return f"{cell:,.0f}"
    return f"{cell:.1f}" if size >= 10 else f"{cell:.2f}" if size >= 1 or cell == 0 else f"{cell:.3f}"


def save(path: str | os.PathLike[str], benchmark: str, tables: Sequence[Table]) -> None:
    """Writes tables with the machine, the command line and the date; replaces an older file."""
    found = {
        "benchmark": benchmark,
        "machine": machine(),
        "command": shlex.join(["python", *sys.argv]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "tables": [dataclasses.asdict(table) for table in tables],
    }
    part = pathlib.Path(f"{os.fspath(path)}.part")
    part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
