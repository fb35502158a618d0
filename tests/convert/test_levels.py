# SPDX-License-Identifier: Apache-2.0
"""The image rule of levels 1 to 3, against a second writing of it from the format's words."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image

from torch_dts.convert._levels import EXPORT_MODES, export_image, export_pixels


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Smooth noise, so that resizing and encoding both change it."""
    generator = np.random.default_rng(width * 7 + height)
    shape = (height // 8 + 1, width // 8 + 1)
    bands = [
        Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8))
        for _ in Image.new(mode, (1, 1)).getbands()
    ]
    small = Image.merge(mode, bands) if len(bands) > 1 else bands[0]
    return small.resize((width, height), Image.Resampling.BICUBIC)


def expected_box(width: int, height: int, level: int) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """Size after the resize and box of the crop."""
    short = min(width, height)
    if short > {1: 400, 2: 440, 3: 440}[level]:
        scale = 400.0 / short
        width, height = math.trunc(width * scale), math.trunc(height * scale)
    if level == 1:
        return (width, height), (0, 0, width, height)
    new_w = min(width, 600 if width > height else 400)
    new_h = min(height, 400 if width > height else 600)
    left, top = (width - new_w) // 2, (height - new_h) // 2
    return (width, height), (left, top, left + new_w, top + new_h)


SIZES = [
    (400, 400),
    (401, 401),
    (440, 440),
    (441, 441),
    (441, 600),
    (600, 441),
    (430, 700),
    (700, 430),
    (1000, 500),
    (1237, 499),
    (501, 1300),
    (300, 2000),
    (2000, 300),
    (399, 5),
    (1, 1),
    (603, 603),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_bytes_are_those_of_pillow(size: tuple[int, int], level: int) -> None:
    image = noise(*size)
    new, box = expected_box(*size, level)
    resized = image if new == size else image.resize(new, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    resized.crop(box).save(out, "JPEG", quality={1: 90, 2: 90, 3: 80}[level])
    assert export_image(encoded(image), level) == out.getvalue()


def test_sampling_and_kind() -> None:
    with Image.open(io.BytesIO(export_image(encoded(noise(500, 450)), 2))) as image:
        assert image.format == "JPEG"
        assert image.size == (444, 400)
        assert [each[1:3] for each in image.layer] == [(2, 2), (1, 1), (1, 1)]  # type: ignore[attr-defined]
        assert "progressive" not in image.info


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_modes_that_become_rgb_after_the_resize(mode: str) -> None:
    image = (
        noise(900, 600, "LA" if mode == "LA" else "RGBA").convert(mode)
        if mode != "P"
        else noise(900, 600).quantize(64)
    )
    with Image.open(io.BytesIO(encoded(image))) as again:
        assert again.mode == mode
        out = io.BytesIO()
        again.resize((600, 400), Image.Resampling.LANCZOS).convert("RGB").save(out, "JPEG", quality=80)
    assert export_image(encoded(image), 3) == out.getvalue()


@pytest.mark.parametrize(
    ("mode", "kind", "found"), [("L", "PNG", "L"), ("1", "PNG", "L"), ("CMYK", "TIFF", "CMYK")]
)
def test_modes_that_stay(mode: str, kind: str, found: str) -> None:
    image = noise(500, 450, "L" if mode == "1" else mode).convert(mode)
    with Image.open(io.BytesIO(export_image(encoded(image, kind), 1))) as exported:
        assert (exported.mode, exported.size) == (found, (444, 400))


@pytest.mark.parametrize("mode", ["I;16", "F"])
def test_modes_that_no_jpeg_holds(mode: str) -> None:
    assert mode not in EXPORT_MODES
    data = encoded(Image.new(mode, (20, 20)), "TIFF")
    with pytest.raises(ValueError, match=f"an image of mode {mode}, which a JPEG can't hold"):
        export_image(data, 1)


def test_the_orientation_tag_turns_nothing() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    noise(700, 500).save(out, "JPEG", exif=exif)
    with Image.open(io.BytesIO(export_image(out.getvalue(), 1))) as image:
        assert image.size == (560, 400)
        assert 0x0112 not in image.getexif()


def test_damage_raises() -> None:
    data = encoded(noise(500, 450), "JPEG")
    with pytest.raises(OSError, match="truncated"):
        export_image(data[: len(data) // 2], 1)


MODES = ["RGB", "RGBA", "LA", "P", "CMYK", "YCbCr", "LAB", "1", "L", "I;16"]


def of_mode(mode: str, width: int, height: int) -> bytes:
    if mode == "P":
        return encoded(noise(width, height).quantize(64), "TIFF")
    if mode == "I;16":
        values = np.arange(width * height, dtype=np.uint16).reshape(height, width)
        return encoded(Image.fromarray(values), "TIFF")
    if mode == "LAB":
        return encoded(Image.frombytes("LAB", (width, height), noise(width, height).tobytes()), "TIFF")
    base = "L" if mode == "1" else "RGB" if mode == "YCbCr" else mode
    return encoded(noise(width, height, base).convert(mode), "TIFF")


@pytest.mark.parametrize("mode", MODES)
def test_max_size_resizes_what_training_sees(mode: str) -> None:
    """RGB as torchvision's loader makes it, or L: the same pixels whether they are encoded or stored."""
    data = of_mode(mode, 120, 90)
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == mode
        seen = image if mode == "L" else image.convert("RGB")
        expected = seen.resize((50, 37), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    expected.save(out, "JPEG", quality=90)
    assert export_image(data, 0, 50) == out.getvalue()
    raw = export_pixels(data, 0, 50, is_raw=True)
    assert (raw.mode, raw.tobytes()) == (expected.mode, expected.tobytes())


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "CMYK", "L"])
@pytest.mark.parametrize("size", [(600, 500), (300, 200)])
def test_max_size_behind_a_level(mode: str, size: tuple[int, int]) -> None:
    """The level's resize is in the image's own mode, that of max_size is not."""
    data = of_mode(mode, *size)
    with Image.open(io.BytesIO(data)) as image:
        step = image.resize((480, 400), Image.Resampling.LANCZOS) if size == (600, 500) else image
        seen = step if mode == "L" else step.convert("RGB")
        expected = seen.resize((100, 83 if size == (600, 500) else 66), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    expected.save(out, "JPEG", quality=90)
    assert export_image(data, 1, 100) == out.getvalue()
    assert export_pixels(data, 1, 100, is_raw=True).tobytes() == expected.tobytes()
    # What max_size does not touch is the level's.
    assert export_image(data, 1, 1000) == export_image(data, 1)
