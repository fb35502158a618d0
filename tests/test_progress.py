# SPDX-License-Identifier: Apache-2.0
"""The progress bar."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from torch_dts import _progress
from torch_dts._progress import Progress, told_when_slow


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fail_once_written(terminal: Terminal) -> None:
    while not terminal.getvalue():
        time.sleep(0.001)
    raise ValueError("no")


def test_told_when_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with told_when_slow("quick"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(_progress, "_NOTICE_DELAY_S", 0.0)
    with pytest.raises(ValueError, match="no"), told_when_slow("reading x"):
        fail_once_written(terminal)
    assert terminal.getvalue() == "reading x ...\r             \r"


def test_nothing_is_told_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_NOTICE_DELAY_S", 0.0)
    for stderr in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stderr)
        before = threading.active_count()
        with told_when_slow("reading x"):
            assert threading.active_count() == before
        assert not (stderr and stderr.getvalue())
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with told_when_slow("reading x", False):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


def test_a_terminal_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            written.set()
            raise OSError("gone")

    written = threading.Event()
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr(_progress, "_NOTICE_DELAY_S", 0.0)
    with told_when_slow("reading x"):
        assert written.wait(10)
