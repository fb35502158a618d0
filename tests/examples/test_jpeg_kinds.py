# SPDX-License-Identifier: Apache-2.0
"""The benchmarks tell how a JPEG is coded."""

from __future__ import annotations

import importlib.util
import io
import pathlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

PATH = pathlib.Path(__file__).parents[2] / "examples" / "benchmarks" / "jpeg_kinds.py"


@pytest.fixture(scope="module")
def kinds() -> Any:
    spec = importlib.util.spec_from_file_location("jpeg_kinds", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kinds(kinds: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    for options, expected in (
        ({}, "standard tables"),
        ({"exif": b"Exif\0\0" + bytes(99)}, "standard tables"),
        ({"optimize": True}, "optimised tables"),
        ({"progressive": True}, "progressive"),
    ):
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "JPEG", **options)  # type: ignore[arg-type]
        assert kinds.kind_of(out.getvalue()) == expected
    assert kinds.kind_of(b"no picture") == "other"
    assert kinds.kind_of(b"\xff\xd8\xff\xff\xc4") == "other"
