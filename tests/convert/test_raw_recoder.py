# SPDX-License-Identifier: Apache-2.0
"""Which samples become pixels, and which pixels."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from torch_dts._raw import raw_image, raw_sample, raw_shape
from torch_dts.convert._levels import export_pixels
from torch_dts.convert._raw_recoder import RawRecoder
from torch_dts.convert._recode import StoredSample


def encoded(seed: int, size: tuple[int, int], kind: str = "JPEG", mode: str = "RGB") -> bytes:
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    values = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(values, mode).save(out, kind)
    return out.getvalue()


IMAGES = [
    encoded(1, (30, 20)),
    encoded(2, (8, 50), "PNG"),
    encoded(3, (16, 16), "JPEG", "L"),
    encoded(4, (5, 4)),
    b"no image",
]


def recode(recoder: RawRecoder, images: list[bytes] = IMAGES) -> list[StoredSample]:
    sizes = torch.tensor([len(data) for data in images])
    arena = torch.frombuffer(bytearray(b"".join(images)), dtype=torch.uint8)
    try:
        return recoder.recode(arena, torch.cumsum(sizes, 0) - sizes, sizes)
    finally:
        recoder.close()


@pytest.mark.parametrize("num_workers", [1, 2])
def test_all_become_pixels(num_workers: int) -> None:
    made = recode(RawRecoder(0, 0, None, num_workers=num_workers))
    for data, stored in zip(IMAGES[:4], made, strict=False):
        image = Image.open(io.BytesIO(data))
        assert stored.data == raw_sample(image if image.mode == "L" else image.convert("RGB"))
        assert stored.area == image.width * image.height
        assert stored.kept_because == 0
    assert made[4].data == b""
    assert made[4].reason.startswith("not an image that PIL knows; starts with b'")


def test_max_pixels_counts_after_the_resize() -> None:
    made = recode(RawRecoder(0, 25, None, max_pixels=25 * 16, num_workers=1))
    # 30 x 20 becomes 25 x 16, 8 x 50 becomes 4 x 25; a JPEG may be larger than its pixels.
    shapes = [raw_shape(each.data) for each in made]
    assert shapes[:4] == [(16, 25, 3), (25, 4, 3), (16, 16, 1), (4, 5, 3)]
    assert bytes(made[4].data) == b"no image"
    assert made[4].kept_because == 1
    made = recode(RawRecoder(0, 25, None, max_pixels=25 * 16 - 1, num_workers=1))
    assert bytes(made[0].data) == IMAGES[0]
    assert raw_shape(made[1].data) == (25, 4, 3)


def test_a_fraction_by_checksum() -> None:
    images = [encoded(seed, (4, 4), "PNG") for seed in range(200)]
    made = recode(RawRecoder(0, 0, None, fraction=0.25, num_workers=1), images)
    is_raw = [raw_shape(each.data) is not None for each in made]
    assert is_raw == [zlib.crc32(data) < 2**30 for data in images]
    assert 25 <= sum(is_raw) <= 75
    kept = [each for each, raw in zip(made, is_raw, strict=True) if not raw]
    assert {each.kept_because for each in kept} == {1}
    assert [bytes(each.data) for each in kept] == [
        data for data, raw in zip(images, is_raw, strict=True) if not raw
    ]


def test_pixels_of_a_level_are_those_before_encoding() -> None:
    image = encoded(7, (900, 500))
    stored = recode(RawRecoder(2, 0, None, num_workers=1), [image])[0]
    shape = raw_shape(stored.data)
    assert shape == (400, 600, 3)
    expected = Image.open(io.BytesIO(image)).resize((720, 400), Image.Resampling.LANCZOS)
    assert raw_image(stored.data, shape).tobytes() == expected.crop((60, 0, 660, 400)).tobytes()
    assert export_pixels(image, 2).tobytes() == raw_image(stored.data, shape).tobytes()


def test_max_size_gives_its_exact_side() -> None:
    for size in [(1000, 333), (333, 1000), (777, 777), (1000, 1)]:
        image = encoded(1, size, "PNG")
        for limit in (500, 401, 333, 7):
            made = export_pixels(image, 0, limit, is_raw=True)
            assert max(made.size) == limit
            assert made.size == (
                max(1, int(size[0] * (limit / max(size)))) if size[0] < size[1] else limit,
                max(1, int(size[1] * (limit / max(size))))
                if size[1] <= size[0] and size[0] != size[1]
                else limit,
            )
