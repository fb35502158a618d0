# SPDX-License-Identifier: Apache-2.0
"""What the processes of test_scaling.py do."""

from __future__ import annotations

from collections.abc import Callable


def make(number: int, factor: int) -> tuple[Callable[[], int], Callable[[], tuple[int, int]]]:
    """Epochs of ``number * factor`` images; answers with the number and its epochs."""
    num_epochs = 0

    def run() -> int:
        nonlocal num_epochs
        num_epochs += 1
        return number * factor

    return run, lambda: (number, num_epochs)
