# SPDX-License-Identifier: Apache-2.0
"""Sums of pixels against Pillow and numpy."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native


def sums_of(samples: list[bytes], shapes: list[tuple[int, int, int]] | None = None) -> Tensor:
    sizes = torch.tensor([len(sample) for sample in samples])
    arena = torch.from_numpy(np.frombuffer(bytearray(b"".join(samples)), dtype=np.uint8))
    rows = torch.tensor(shapes or [(0, 0, 0)] * len(samples)).reshape(-1, 3)
    return _native.pixel_sums(arena, sizes.cumsum(0) - sizes, sizes, rows)


def expected(pixels: np.ndarray[Any, Any]) -> list[int]:
    """The row of an image [H, W, 3]."""
    flat = pixels.reshape(-1, 3).astype(np.int64)
    return [0, len(flat), *flat.sum(0).tolist(), *(flat**2).sum(0).tolist()]


def test_odd_images(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    """What is decoded natively has Pillow's sums: gray, CMYK, progressive and other odd JPEGs."""
    names = [sample["path"] for sample in odd_expected["samples"] if sample["pil"]["ok"]]
    datas = [(odd_images / name).read_bytes() for name in names]
    rows = sums_of(datas)
    native = 0
    for name, data, row in zip(names, datas, rows.tolist(), strict=True):
        if row[0] == 0:
            native += 1
            with Image.open(io.BytesIO(data)) as image:
                assert row == expected(np.asarray(image.convert("RGB"))), name
        else:
            assert row[1:] == [0] * 7, name
    assert native > 20


def test_pixels() -> None:
    generator = np.random.default_rng(3)
    rgb = generator.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    gray = generator.integers(0, 256, (5, 4, 1), dtype=np.uint8)
    rows = sums_of([rgb.tobytes(), gray.tobytes()], [rgb.shape, gray.shape])
    assert rows.tolist() == [expected(rgb), expected(np.repeat(gray, 3, 2))]


def test_what_is_no_jpeg() -> None:
    rows = sums_of([b"no picture", b""])
    assert rows.tolist() == [[_native.DECODE_STATUS.index("no JPEG"), *[0] * 7]] * 2


def test_wrong_arguments() -> None:
    arena = torch.zeros(12, dtype=torch.uint8)
    zero, twelve = torch.tensor([0]), torch.tensor([12])
    with pytest.raises(IndexError, match=r"sample 0 \(offset 1, 12 bytes\) lies outside of the arena"):
        _native.pixel_sums(arena, torch.tensor([1]), twelve, torch.zeros(1, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="sample 0 has shape 2 x 2 x 2, expected that of its 12 bytes"):
        _native.pixel_sums(arena, zero, twelve, torch.tensor([[2, 2, 2]]))
    with pytest.raises(ValueError, match="4 channels, expected 1 or 3"):
        _native.pixel_sums(arena, zero, twelve, torch.tensor([[3, 1, 4]]))


def test_pillow_s_limit_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    Image.new("RGB", (20, 30), (9, 8, 7)).save(out, "JPEG")
    for limit, count in ((600, 600), (599, 0), (None, 600)):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert int(sums_of([out.getvalue()])[0, 1]) == count
