# SPDX-License-Identifier: Apache-2.0
"""Images made smaller and encoded anew by Pillow: export levels 1 to 3 (docs/convert.md), max_size.

Needs Pillow and the standard library only, since worker processes load this file by itself.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

SHORT_SIDE = 400
LONG_SIDE = 600

# Become RGB after a level's resize. The rest of those that a JPEG holds stay as they are.
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


def export_image(data: bytes | memoryview, level: int, max_size: int = 0) -> bytes:
    """An encoded image as a JPEG of the level.

    Args:
        level: 0: only made smaller by `max_size`, with the quality of level 1.
        max_size: Then the longer side is at most this many pixels; 0: no limit.

    Raises:
        ValueError: The image has a mode that a JPEG can't hold, at levels 1 to 3.
        Exception: Whatever Pillow raises for a damaged image.
    """
    out = io.BytesIO()
    image = export_pixels(data, level, max_size)
    image.save(out, "JPEG", quality=LEVELS[level or 1].quality)
    return out.getvalue()


def export_pixels(
    data: bytes | memoryview, level: int, max_size: int = 0, *, is_raw: bool = False
) -> Image.Image:
    """The image that `export_image` encodes.

    A level's rule comes first, in the image's own mode. What `max_size` makes smaller becomes RGB before
    it is resized, as torchvision's loader makes it, or stays L.

    Args:
        is_raw: Its pixels are to be stored: RGB, or L for a gray image. At level 0 without
            `max_size` they are those of torchvision's loader.

    Raises: as `export_image`.
    """
    with Image.open(io.BytesIO(data)) as opened:
        if level and opened.mode not in EXPORT_MODES:
            raise ValueError(mode_reason(opened.mode))
        image: Image.Image = opened
        if level:
            image = _apply_level(image, LEVELS[level])
        new = _limited_size(image.width, image.height, max_size)
        if image.mode != "L" and (not level or new != image.size):
            image = image.convert("RGB")
        if new != image.size:
            image = image.resize(new, Image.Resampling.LANCZOS)
        if image.mode in _TO_RGB or (is_raw and image.mode != "L"):
            image = image.convert("RGB")
        image.load()
        return image


def exported_size(width: int, height: int, level: int, max_size: int = 0) -> tuple[int, int]:
    """Width and height of what `export_pixels` makes of an image of this size."""
    if level:
        width, height = _level_size(width, height, LEVELS[level])
        if LEVELS[level].crops:
            width, height = _cropped_size(width, height)
    return _limited_size(width, height, max_size)


def _apply_level(image: Image.Image, rule: Level) -> Image.Image:
    new = _level_size(image.width, image.height, rule)
    if new != image.size:
        image = image.resize(new, Image.Resampling.LANCZOS)
    return _crop(image) if rule.crops else image


def _level_size(width: int, height: int, rule: Level) -> tuple[int, int]:
    short = min(width, height)
    if short <= rule.threshold:
        return width, height
    scale = float(SHORT_SIDE) / short
    return int(width * scale), int(height * scale)


def _limited_size(width: int, height: int, max_size: int) -> tuple[int, int]:
    longer = max(width, height)
    if not max_size or longer <= max_size:
        return width, height
    scale = max_size / longer
    # The longer side is max_size exactly, however the product is rounded.
    if width >= height:
        return max_size, max(1, int(height * scale))
    return max(1, int(width * scale)), max_size


def mode_reason(mode: str) -> str:
    """Why an image of this mode is a bad sample."""
    return f"an image of mode {mode}, which a JPEG can't hold"


def _cropped_size(width: int, height: int) -> tuple[int, int]:
    most = (LONG_SIDE, SHORT_SIDE) if width > height else (SHORT_SIDE, LONG_SIDE)
    return min(width, most[0]), min(height, most[1])


def _crop(image: Image.Image) -> Image.Image:
    width, height = image.size
    final = _cropped_size(width, height)
    if final == image.size:
        return image
    left, top = (width - final[0]) // 2, (height - final[1]) // 2
    return image.crop((left, top, left + final[0], top + final[1]))
