# SPDX-License-Identifier: Apache-2.0
"""Export levels 1 to 3: an image made smaller and encoded anew by Pillow (docs/convert.md).

Needs Pillow and the standard library only, since worker processes load this file by itself.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

SHORT_SIDE = 400
LONG_SIDE = 600

# Become RGB after the resize. The rest of those that a JPEG holds stay as they are.
_TO_RGB = frozenset({"RGBA", "LA", "P"})
_JPEG_MODES = frozenset({"1", "L", "RGB", "RGBX", "CMYK", "YCbCr"})
EXPORT_MODES = _TO_RGB | _JPEG_MODES


@dataclass(frozen=True)
class Level:
    """How an image is exported."""

    threshold: int
    """Images with a short side above this are made smaller."""
    crops: bool
    """Cut to at most 600 x 400 around the centre."""
    quality: int


LEVELS = {1: Level(400, False, 90), 2: Level(440, True, 90), 3: Level(440, True, 80)}


def export_image(data: bytes | memoryview, level: int) -> bytes:
    """An encoded image as a JPEG of the level.

    Raises:
        ValueError: The image has a mode that a JPEG can't hold.
        Exception: Whatever Pillow raises for a damaged image.
    """
    rule = LEVELS[level]
    with Image.open(io.BytesIO(data)) as opened:
        if opened.mode not in EXPORT_MODES:
            raise ValueError(mode_reason(opened.mode))
        image: Image.Image = opened
        short = min(image.size)
        if short > rule.threshold:
            scale = float(SHORT_SIDE) / short
            new = (int(image.width * scale), int(image.height * scale))
            image = image.resize(new, Image.Resampling.LANCZOS)
        if rule.crops:
            image = _crop(image)
        if image.mode in _TO_RGB:
            image = image.convert("RGB")
        out = io.BytesIO()
        image.save(out, "JPEG", quality=rule.quality)
    return out.getvalue()


def mode_reason(mode: str) -> str:
    """Why an image of this mode is a bad sample."""
    return f"an image of mode {mode}, which a JPEG can't hold"


def _crop(image: Image.Image) -> Image.Image:
    width, height = image.size
    most = (LONG_SIDE, SHORT_SIDE) if width > height else (SHORT_SIDE, LONG_SIDE)
    final = (min(width, most[0]), min(height, most[1]))
    if final == image.size:
        return image
    left, top = (width - final[0]) // 2, (height - final[1]) // 2
    return image.crop((left, top, left + final[0], top + final[1]))
