# SPDX-License-Identifier: Apache-2.0
"""The checks of examples/benchmarks/gpu_checks.py, one by one."""

from __future__ import annotations

import pathlib

import pytest
from gpu_checks import CHECKS


@pytest.mark.cuda
@pytest.mark.parametrize("name", CHECKS)
def test_holds(name: str, photos_path: pathlib.Path) -> None:
    assert CHECKS[name](photos_path)
