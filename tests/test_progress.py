# SPDX-License-Identifier: Apache-2.0
"""The progress bar."""

from __future__ import annotations

import sys

import pytest

from torch_dts._progress import Progress


def test_shown_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("writing", 2_000_000, True, is_bytes=True) as bar:
        bar.add(500_000)
        bar.add(1_500_000)
    out, err = capsys.readouterr()
    assert out == ""
    last = err.strip().splitlines()[-1].split("\r")[-1]
    assert "writing: 100%" in last
    assert "2.00M/2.00M" in last
    assert "B/s" in last


def test_counts_samples(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("checking", 7, True) as bar:
        bar.add(7)
    assert "7/7" in capsys.readouterr().err


@pytest.mark.parametrize("shown", [False, None])
def test_silent_when_unwanted_or_not_on_a_terminal(
    shown: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("writing", 10, shown) as bar:
        bar.add(10)
    assert capsys.readouterr() == ("", "")


def test_without_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    for shown in (None, True):
        with Progress("verifying", 100, shown) as bar:
            bar.add(100)
