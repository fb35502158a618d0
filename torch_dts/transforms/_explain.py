# SPDX-License-Identifier: Apache-2.0
"""`explain`: what of a transform runs natively and what in Python, with reasons."""

from __future__ import annotations

from typing import Any

from torch_dts.transforms._read import ReadStep
from torch_dts.transforms._views import Views, read_views


def explain(transform: Any) -> str:
    """Says of each operation of `transform` whether native code runs it, and how exactly.

    A transform runs natively as a whole or not at all: one operation that native code does
    not run, or an order that it does not, sends all of it to Python.

    "native" alone is byte-equal to torchvision (floats: within 1 unit in the last place). A
    bound holds for that operation; what comes behind it carries a difference on.

    Args:
        transform: A torchvision v1 or v2 transform, usually a Compose; or `Views`, whose
            parts are explained one by one.

    Returns:
        A line for each operation and a last line with the verdict.
    """
    reading = read_views(transform)
    verdict = (
        "The transform runs natively."
        if reading.plans is not None
        else f"The transform runs in Python. {reading.reason}"
    )
    lines = []
    for view, part in enumerate(reading.readings):
        if type(transform) is Views:
            lines.append(f"View {view}:")
        lines += [_line(step) for step in part.steps]
    return "\n".join([*lines, verdict])


def _line(step: ReadStep) -> str:
    if step.reason:
        return f"{step.text}: Python ({step.reason})"
    return f"{step.text}: native" + (f", {step.note}" if step.note else "")
