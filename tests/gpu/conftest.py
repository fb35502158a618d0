# SPDX-License-Identifier: Apache-2.0
"""Everything here needs a CUDA device, and says so where there is none."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import pytest
import torch

BENCHMARKS = pathlib.Path(__file__).parents[2] / "examples" / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


@pytest.fixture(autouse=True)
def _needs_a_gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device here")


@pytest.fixture
def photos_path(dts_file: Callable[..., pathlib.Path]) -> pathlib.Path:
    """A file of 100 small photos in two classes."""
    return dts_file(classes={"a": 60, "b": 40}, size=(96, 80))
