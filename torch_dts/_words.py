# SPDX-License-Identifier: Apache-2.0
"""The words for numbers of things."""

from __future__ import annotations


def num_of(count: int, one: str, many: str | None = None) -> str:
    """'1 sample', '1,200 samples'; `many` where the plural is not `one` and s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
