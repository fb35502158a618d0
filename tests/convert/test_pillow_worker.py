# SPDX-License-Identifier: Apache-2.0
"""The script that worker processes run, in this process."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from PIL import Image, ImageFile

from torch_dts.convert import _levels, _pillow_worker


@pytest.fixture
def hello(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", ImageFile.LOAD_TRUNCATED_IMAGES)
    monkeypatch.delitem(sys.modules, "levels", raising=False)
    return {
        "path": list(sys.path),
        "levels": _levels.__file__,
        "max_image_pixels": 12_345,
        "load_truncated_images": True,
    }


def test_load_levels_sets_limits(hello: dict[str, object]) -> None:
    levels = _pillow_worker.load_levels(hello)
    assert Image.MAX_IMAGE_PIXELS == 12_345
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True
    out = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(out, "PNG")
    assert _pillow_worker.export(levels, None, out.getvalue(), 1, 0) == (
        1,
        _levels.export_image(out.getvalue(), 1),
    )
    ok, reason = _pillow_worker.export(levels, None, b"no image", 1, 0)
    assert ok == 0
    assert reason.startswith(b"UnidentifiedImageError: ")
    sys.modules.pop("levels")


def test_read_exact() -> None:
    assert _pillow_worker.read_exact(io.BytesIO(b"abcd"), 3) == b"abc"
    with pytest.raises(EOFError, match="2 of 3 bytes"):
        _pillow_worker.read_exact(io.BytesIO(b"ab"), 3)


def test_a_parent_that_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-I", _pillow_worker.__file__], input=b"", capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"EOFError" in done.stderr
