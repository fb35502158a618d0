# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest
import torch

from torch_dts.cli import _plot
from torch_dts.cli._plot import as_text, histograms
from torch_dts.file._survey import Survey


def surveyed(fill=(0.5, 1.0), sizes=(10, 20), dimensions=((30, 20), (40, 40))):
    return Survey(
        torch.tensor(fill, dtype=torch.float64),
        torch.tensor(sizes, dtype=torch.int64),
        torch.tensor(dimensions, dtype=torch.int64).reshape(-1, 2),
        len(dimensions),
    )


def count(values, edges):
    """Numbers a bin, by hand: the upper edge belongs to the next bin, but for the last."""
    last = len(edges) - 2
    return [
        sum(low <= v < high or (i == last and v == high) for v in values)
        for i, (low, high) in enumerate(itertools.pairwise(edges))
    ]


@pytest.mark.parametrize(
    "sizes", [range(1000, 9000, 7), [5], [5, 5], [0, 3], [1, 10**9], [7, 8, 9, 12], [64, 128, 256, 512]]
)
def test_counts(sizes):
    plot = histograms(surveyed(sizes=list(sizes)))["sample_bytes"]
    edges = plot["edges"]
    assert edges == sorted(set(edges))
    assert edges[0] <= min(sizes)
    assert edges[-1] >= max(sizes)
    assert len(edges) <= 15
    assert plot["counts"] == count(sizes, edges)
    assert sum(plot["counts"]) == plot["count"] == len(sizes)
    assert (plot["min"], plot["max"]) == (min(sizes), max(sizes))
    ordered = sorted(sizes)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    assert plot["median"] == middle
    assert plot["mean"] == pytest.approx(sum(sizes) / len(sizes))


def test_dimensions():
    plots = histograms(surveyed())
    assert (plots["width"]["min"], plots["width"]["max"]) == (30, 40)
    assert (plots["height"]["min"], plots["height"]["max"]) == (20, 40)
    assert (plots["aspect"]["min"], plots["aspect"]["max"]) == (1.0, 1.5)


def test_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    plots = histograms(surveyed(sizes=[10] * 8 + [12] * 2 + [14]))
    text = as_text({"sample_bytes": plots["sample_bytes"]}, 11, 11, "utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("sample sizes: min 10 bytes, median 10 bytes, mean 11 bytes, max 14 bytes")
    bars = {line.split("  ")[-1]: line for line in lines[1:]}
    assert max(map(len, lines[1:])) == 60
    longest = max(bars, key=len)
    assert set(longest) == {"█"}
    assert len(longest) == max(len(bar) for bar in bars)


def test_ascii_and_what_is_little_shows():
    plots = histograms(surveyed(sizes=[10] * 100_000 + [100]))
    text = as_text(plots, 2, 1, "ascii")
    text.encode("ascii")
    rows = text.split("\n\n")[1].splitlines()[1:]
    assert rows[-1].endswith("1  #")
    assert "width in pixels (of 1 samples, evenly spread): min 30" in text


def test_nothing():
    plots = histograms(surveyed([], [], []))
    assert as_text(plots, 0, 0, "utf-8").splitlines()[0].endswith("nothing to show")
    assert plots["width"]["min"] is None


def test_round_steps():
    assert [_plot._round_up(x) for x in (0.9, 1.0, 1.1, 2.2, 3.0, 6.0)] == [1, 1, 2, 2.5, 5, 10]
