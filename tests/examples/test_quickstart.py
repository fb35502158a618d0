# SPDX-License-Identifier: Apache-2.0
"""examples/quickstart.py runs, and prints what its comments say."""

from __future__ import annotations

import pathlib
import re
import runpy
from collections.abc import Callable

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "quickstart.py"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run_example(*arguments: pathlib.Path) -> str:
        monkeypatch.setattr("sys.argv", [str(EXAMPLE), *map(str, arguments)])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        return capsys.readouterr().out

    return run_example


def test_with_its_own_pictures(run: Callable[..., str]) -> None:
    printed = run()
    assert "30 samples of 3 classes; pixels as in the folder: True" in printed
    assert "a batch of DTSDataset: (8, 3, 64, 64), labels (8,)" in printed
    epochs = re.findall(r"epoch \d: 30 samples in 4 batches, first (\[[\d, ]+\])", printed)
    assert len(epochs) == 2
    assert epochs[0] != epochs[1]


def test_with_a_folder(run: Callable[..., str], image_folder: Callable[..., pathlib.Path]) -> None:
    printed = run(image_folder(classes={"a": 9, "b": 4}))
    assert "13 samples of 2 classes; pixels as in the folder: True" in printed
    assert "13 samples in 2 batches" in printed
