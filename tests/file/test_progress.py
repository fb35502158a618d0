# SPDX-License-Identifier: Apache-2.0
import sys

import pytest

from torch_dts.file._progress import progress_bar


@pytest.mark.parametrize("progress", [False, None])
def test_nothing_is_shown(capsys, progress):
    with progress_bar(progress, 100, "verify") as bar:
        bar.update(100)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_stderr(capsys):
    with progress_bar(True, 2 << 20, "verify") as bar:
        bar.update(1 << 20)
        bar.update(1 << 20)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "verify: 100%" in shown.err
    assert "2.00M/2.00M" in shown.err


def test_without_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress_bar(None, 100, "verify") as bar:
        bar.update(100)
