# SPDX-License-Identifier: Apache-2.0
"""Horizontal bar charts as SVG, for the pages in docs: small text files that need no plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

COLOURS = ("#0072b2", "#999999")  # what the chart is about, and the others
WIDTH, LEFT, RIGHT, TOP, BOTTOM, ROW = 720, 220, 90, 40, 16, 24


class Bar(NamedTuple):
    """A row of a chart; low and high are the ends of the spread."""

    name: str
    value: float
    low: float
    high: float
    is_ours: bool


def bar_chart(title: str, bars: Sequence[Bar]) -> str:
    """The chart: a bar a row in the order given, its value at its end, its spread as a line."""
    height = TOP + ROW * len(bars) + BOTTOM
    scale = (WIDTH - LEFT - RIGHT) / max([bar.high for bar in bars], default=1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="20" font-size="14">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        top = TOP + ROW * number
        middle = top + ROW / 2 - 2
        low, high = LEFT + scale * bar.low, LEFT + scale * bar.high
        parts += [
            f'<text x="{LEFT - 8}" y="{middle}" dy="4" text-anchor="end">{escape(bar.name)}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{scale * bar.value:.1f}" height="{ROW - 5}" '
            f'fill="{COLOURS[0 if bar.is_ours else 1]}"/>',
            f'<path d="M{low:.1f},{middle}H{high:.1f}" stroke="black"/>',
            f'<text x="{high + 6:.1f}" y="{middle}" dy="4">{bar.value:,.0f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
