# SPDX-License-Identifier: Apache-2.0
"""DALI that is missing, can't be loaded, or has no CUDA."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from dali_sets import RANDOM

import torch_dts
from torch_dts.backends import _dali_import
from torch_dts.backends._dali_import import import_dali, require_dali


def test_dali_is_here() -> None:
    require_dali()
    dali = import_dali()
    assert dali.types.UINT8 is not None
    assert import_dali() is dali


EXIT = """
import sys, torch_dts
from torchvision import transforms
transform = transforms.Compose([transforms.RandomResizedCrop(8), transforms.ToTensor()])
batches = iter(torch_dts.DataLoader(sys.argv[1], 2, transform=transform, backend="dali", num_workers=1))
next(batches)
sys.exit(7)
"""


def test_the_interpreter_exits_with_a_live_iterator(photos_file: pathlib.Path) -> None:
    command = [sys.executable, "-c", EXIT, str(photos_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_missing_dali_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, photos_file: pathlib.Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"not installed: .*pip install torch-dts\[dali-cuda130\].*\[dali\]"
    ):
        torch_dts.DataLoader(photos_file, transform=RANDOM, backend="dali")


def test_missing_parent_package_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(ImportError, match="not installed"):
        require_dali()


def test_dali_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Any:
        raise ImportError("libnvimgcodec.so.0: cannot open shared object file")

    _dali_import.import_dali.cache_clear()
    monkeypatch.setattr(importlib, "import_module", load)
    with pytest.raises(ImportError, match=r"can't be loaded \(libnvimgcodec.*pip install"):
        import_dali()
    monkeypatch.undo()
    import_dali()
