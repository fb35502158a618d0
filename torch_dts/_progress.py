# SPDX-License-Identifier: Apache-2.0
"""A progress bar on stderr with rate and time left."""

from __future__ import annotations

import sys
from types import TracebackType

from tqdm import tqdm

DELAY_S = 1.0


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
