# SPDX-License-Identifier: Apache-2.0
"""A progress bar for verify and extract, or nothing in its place."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from tqdm import tqdm


class Bar(Protocol):
    """The part of tqdm that is used here."""

    def update(self, n: int) -> object: ...


class _NoBar:
    def update(self, n: int) -> None:
        """Shows nothing."""


def progress_bar(progress: bool | None, num_bytes: int, doing: str) -> AbstractContextManager[Bar]:
    """A bar over `num_bytes` bytes on stderr; for `progress` None only where stderr is a terminal."""
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if not progress:
        return nullcontext(_NoBar())
    bar: AbstractContextManager[Bar] = tqdm(
        total=num_bytes, desc=doing, unit="B", unit_scale=True, unit_divisor=1024
    )
    return bar
