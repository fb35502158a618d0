# SPDX-License-Identifier: Apache-2.0
"""On stderr: a progress bar with rate and time left; a line about what can't be counted."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from tqdm import tqdm

DELAY_S = 1.0
_NOTICE_DELAY_S = 2.0


class Progress:
    """A tqdm bar; nothing at all where none is wanted.

    Args:
        text: What is counted.
        total: Where it ends.
        shown: True, False, or None: on a terminal, once it has taken a second.
        is_bytes: Count in bytes with unit prefixes.
    """

    def __init__(self, text: str, total: int, shown: bool | None, is_bytes: bool = False) -> None:
        self._bar = tqdm(
            total=total,
            desc=text,
            unit="B" if is_bytes else " samples",
            unit_scale=is_bytes,
            # tqdm asks stderr whether it is a terminal; without a console there is none to ask
            disable=True if sys.stderr is None else None if shown is None else not shown,
            delay=DELAY_S if shown is None else 0.0,
            file=sys.stderr,
            dynamic_ncols=True,
        )

    def add(self, count: int) -> None:
        """Moves the bar on. One thread at a time."""
        self._bar.update(count)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()


@contextlib.contextmanager
def told_when_slow(text: str, shown: bool | None = None) -> Iterator[None]:
    """Says on a terminal what is going on, once it has taken two seconds. For what has no steps to count.

    Args:
        text: What is being done.
        shown: False: nothing is said.
    """
    if shown is False or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    stderr = sys.stderr
    is_told = threading.Event()

    def tell() -> None:
        is_told.set()
        _show(stderr, f"{text} ...")

    timer = threading.Timer(_NOTICE_DELAY_S, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if is_told.is_set():
            _show(stderr, f"\r{' ' * (len(text) + 4)}\r")


def _show(stderr: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a terminal that is gone is no reason to stop
        stderr.write(text)
        stderr.flush()
