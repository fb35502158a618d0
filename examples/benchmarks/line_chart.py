# SPDX-License-Identifier: Apache-2.0
"""Line charts as SVG, for the pages in docs: small text files that need no plotting library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
)  # told apart by colour-blind, too
WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 48
NAMES_WIDTH = 194


class Line(NamedTuple):
    """A line of a chart; `is_dashed` for what the others are held against."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    is_dashed: bool = False


class Axis(NamedTuple):
    """Its title, where it begins and ends, and the values that have a mark."""

    title: str
    low: float
    high: float
    marks: Sequence[float]
    show: Callable[[float], str] = lambda value: f"{value:g}"


def line_chart(title: str, lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """The chart; points outside of the axes are left out.

    Args:
        title: Above it.
        lines: At most as many as there are colours.
        x, y: The axes.
    """

    def across(value: float) -> float:
        return LEFT + (value - x.low) / (x.high - x.low) * (WIDTH - LEFT - RIGHT)

    def down(value: float) -> float:
        return HEIGHT - BOTTOM - (value - y.low) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{title}</text>',
    ]
    for mark in x.marks:
        at = f"{across(mark):.1f}"
        parts.append(f'<path d="M{at},{TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{at}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x.show(mark)}</text>')
    for mark in y.marks:
        at = f"{down(mark):.1f}"
        parts.append(f'<path d="M{LEFT},{at}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at}" dy="4" text-anchor="end">{y.show(mark)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{x.title}</text>')
    parts.append(
        f'<text transform="translate(14,{HEIGHT / 2})rotate(-90)" text-anchor="middle">{y.title}</text>'
    )
    all_points = [
        [
            (across(px), down(py))
            for px, py in zip(line.xs, line.ys, strict=True)
            if x.low <= px <= x.high and y.low <= py <= y.high
        ]
        for line in lines
    ]
    key = _free_side(all_points)
    for number, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        points = [f"{px:.1f},{py:.1f}" for px, py in all_points[number]]
        look = f'fill="none" stroke="{colour}" stroke-width="2"' + (
            ' stroke-dasharray="6 4"' if line.is_dashed else ""
        )
        parts.append(f'<polyline points="{" ".join(points)}" {look}/>')
        row = TOP + 16 + 18 * number
        parts.append(f'<path d="M{key},{row}h24" {look}/>')
        parts.append(f'<text x="{key + 30}" y="{row}" dy="4">{line.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _free_side(lines: Sequence[Sequence[tuple[float, float]]]) -> int:
    """Where the names of the lines begin: on the side where they hide fewer points."""

    def num_hidden(left: int) -> int:
        bottom = TOP + 16 + 18 * len(lines)
        return sum(left <= px < left + NAMES_WIDTH and py < bottom for line in lines for px, py in line)

    return min(WIDTH - RIGHT - NAMES_WIDTH, LEFT + 12, key=num_hidden)
