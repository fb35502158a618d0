# SPDX-License-Identifier: Apache-2.0
"""Histograms as text, for ``torch-dts info --plot``."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torch_dts.cli._output import human_bytes
from torch_dts.file._survey import Survey

_MOST_BINS = 12
_MOST_WIDTH = 100
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def histograms(survey: Survey) -> dict[str, dict[str, Any]]:
    """Histograms of a survey, as plain values.

    Returns:
        By name: ``edges`` (n + 1 rising numbers; a bin has its lower edge and not its upper,
        the last one has both), ``counts`` (n), ``count``, ``min``, ``median``, ``mean`` and
        ``max`` (None where there is nothing).
    """
    width, height = survey.dimensions.double().unbind(1)
    values = {
        "block_fill": survey.block_fill,
        "sample_bytes": survey.sample_bytes.double(),
        "width": width,
        "height": height,
        "aspect": width / height.clamp(min=1),
    }
    return {name: _histogram(found, name in ("sample_bytes", "aspect")) for name, found in values.items()}


def _histogram(values: Tensor, is_log: bool) -> dict[str, Any]:
    values = values.sort().values
    count = values.numel()
    if not count:
        return {"count": 0, "edges": [], "counts": [], "min": None, "median": None, "mean": None, "max": None}
    least, most = float(values[0]), float(values[-1])
    edges = _edges(least, most, is_log)
    inner = torch.tensor(edges[1:-1], dtype=torch.float64)
    bins = torch.bucketize(values, inner, right=True)
    return {
        "count": count,
        "edges": edges,
        "counts": torch.bincount(bins, minlength=len(edges) - 1).tolist(),
        "min": least,
        "median": float(values[(count - 1) // 2] + values[count // 2]) / 2,
        "mean": float(values.mean()),
        "max": most,
    }


def _edges(least: float, most: float, is_log: bool) -> list[float]:
    """Round numbers from at most `least` to at least `most`: evenly apart, or by factors."""
    if is_log and least > 0 and most > 4 * least:
        # 2 ** (k / per_octave): as fine as _MOST_BINS allows.
        for per_octave in (4, 2, 1, 0.5, 0.25):
            first = math.floor(math.log2(least) * per_octave)
            last = max(first + 1, math.ceil(math.log2(most) * per_octave))
            if last - first <= _MOST_BINS:
                return [2.0 ** (k / per_octave) for k in range(first, last + 1)]
    step = _round_up((most - least) / _MOST_BINS) if most > least else max(abs(least), 1.0) / 10
    first = math.floor(least / step)
    last = max(first + 1, math.ceil(most / step))
    return [k * step for k in range(first, last + 1)]


def _round_up(step: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((power * factor for factor in (1, 2, 2.5, 5) if power * factor >= step), power * 10)


_TITLES: dict[str, tuple[str, Callable[[float], str]]] = {
    "block_fill": ("block fill (index and samples, of a block's bytes)", lambda x: f"{100 * x:.2f} %"),
    "sample_bytes": ("sample sizes", human_bytes),
    "width": ("width in pixels", lambda x: f"{x:.0f}"),
    "height": ("height in pixels", lambda x: f"{x:.0f}"),
    "aspect": ("width / height", lambda x: f"{x:.2f}"),
}


def as_text(plots: dict[str, dict[str, Any]], num_samples: int, num_probed: int, can_print: str) -> str:
    """The histograms for a terminal, as wide as it is.

    Args:
        plots: Of `histograms`.
        num_samples, num_probed: Of the file.
        can_print: The encoding of the terminal; bars are finer where it has block characters.
    """
    width = min(_MOST_WIDTH, shutil.get_terminal_size().columns)
    blocks = _EIGHTHS if _has(can_print, _EIGHTHS) else ""
    text = []
    for name, plot in plots.items():
        title, show = _TITLES[name]
        if name == "width" and num_probed < num_samples:
            title += f" (of {num_probed} samples, evenly spread)"
        text.append(_plot(title, plot, show, width, blocks))
    return "\n\n".join(text)


def _plot(title: str, plot: dict[str, Any], show: Callable[[float], str], width: int, blocks: str) -> str:
    if not plot["count"]:
        return f"{title}: nothing to show"
    edges = [show(edge) for edge in plot["edges"]]
    names = [f"{low} - {high}" for low, high in itertools.pairwise(edges)]
    name_width = max(map(len, names))
    count_width = len(str(max(plot["counts"])))
    room = max(5, width - name_width - count_width - 4)
    most = max(plot["counts"])
    lines = [f"{title}: " + ", ".join(f"{key} {show(plot[key])}" for key in ("min", "median", "mean", "max"))]
    for name, count in zip(names, plot["counts"], strict=True):
        lines.append(f"{name:>{name_width}}  {count:>{count_width}}  {_bar(count / most * room, blocks)}")
    return "\n".join(line.rstrip() for line in lines)


def _bar(length: float, blocks: str) -> str:
    """A bar; what is there shows, however little it is."""
    if not length:
        return ""
    if not blocks:
        return "#" * max(1, round(length))
    eighths = max(1, round(8 * length))
    return blocks[8] * (eighths // 8) + blocks[eighths % 8].strip()


def _has(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True
