# SPDX-License-Identifier: Apache-2.0
"""Decoding, and errors that keep their type while their text grows."""

from __future__ import annotations

import io
import pathlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError
from torchvision.datasets.folder import pil_loader

import torch_dts
from torch_dts.datasets._decode import (
    PixelLoader,
    decode_rgb,
    default_loader,
    extend_message,
    load_sample,
    make_item,
)


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "CMYK", "1"])
def test_decode_rgb_is_torchvisions_loader(mode: str, tmp_path: pathlib.Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    path = tmp_path / "image.tif"
    Image.fromarray(noise).convert(mode).save(path)
    decoded = decode_rgb(memoryview(path.read_bytes()))
    assert decoded.mode == "RGB"
    assert decoded.size == (7, 9)
    assert decoded.tobytes() == pil_loader(path).tobytes()


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_pixel_loader(channels: int, mode: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    data = bytearray(pixels.tobytes())
    image = PixelLoader(5, 7, channels)(memoryview(data))
    assert (image.mode, image.size) == (mode, (7, 5))
    data[:] = bytes(len(data))  # the image has a copy
    assert np.array_equal(np.asarray(image).reshape(pixels.shape), pixels)


def test_default_loader(one_block: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with torch_dts.open(one_block) as file:
        assert default_loader(file) is decode_rgb
    path = torch_dts.convert([(np.zeros((5, 7, 3), np.uint8), 0)], tmp_path / "a.dts", encoding="pixels")
    with torch_dts.open(path) as file:
        assert default_loader(file) == PixelLoader(5, 7, 3)
    data = bytearray((tmp_path / "a.dts").read_bytes())
    struct.pack_into("<II", data, 36, 15, 7)  # 15 x 7 x 1 are as many bytes
    struct.pack_into("<I", data, 44, 1)
    (tmp_path / "a.dts").write_bytes(data)
    with torch_dts.open(path, ignore_sections=True) as file:
        assert default_loader(file) == PixelLoader(7, 15, 1)
    struct.pack_into("<III", data, 36, 3, 5, 0)
    struct.pack_into("<I", data, 44, 7)
    (tmp_path / "a.dts").write_bytes(data)
    message = "a.dts has images of 7 channels, expected 1 or 3: pass loader="
    with torch_dts.open(path, ignore_sections=True) as file, pytest.raises(ValueError, match=message):
        default_loader(file)


def test_decode_rgb_leaves_no_open_stream() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "PNG")
    decoded = decode_rgb(stream.getvalue())
    assert getattr(decoded, "fp", None) is None


def make_struct_error() -> Exception:
    try:
        struct.unpack("<I", b"")
    except struct.error as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (UnidentifiedImageError("cannot identify"), "cannot identify [sample 3]"),
        (OSError("image file is truncated"), "image file is truncated [sample 3]"),
        (OSError(5, "Input/output error"), "[Errno 5] Input/output error [sample 3]"),
        (OSError(2, "No such file", "x.jpg"), "[Errno 2] No such file [sample 3]: 'x.jpg'"),
        (SyntaxError("broken PNG file"), "broken PNG file [sample 3]"),
        (Image.DecompressionBombError("too large"), "too large [sample 3]"),
        (MemoryError(), "[sample 3]"),
        (make_struct_error(), "unpack requires a buffer of 4 bytes [sample 3]"),
        (KeyError("tag"), "'tag [sample 3]'"),
    ],
)
def test_extend_message_keeps_the_type(error: Exception, expected: str) -> None:
    kind = type(error)
    extend_message(error, "sample 3")
    assert type(error) is kind
    assert str(error) == expected


def test_extend_message_never_raises() -> None:
    class Stubborn(Exception):
        @property
        def args(self) -> Any:
            raise RuntimeError("no")

    extend_message(Stubborn(), "sample 3")

    error = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    before = str(error)
    extend_message(error, "sample 3")
    assert str(error) == before
    assert getattr(error, "__notes__", ["[sample 3]"]) == ["[sample 3]"]


def test_load_sample_names_the_sample_and_keeps_the_traceback(dts_file: Callable[..., pathlib.Path]) -> None:
    def broken_loader(data: memoryview) -> None:
        raise ValueError(f"{len(data)} bytes are no good")

    with torch_dts.open(dts_file()) as file:
        data = file.read(4)
        with pytest.raises(
            ValueError,
            match=rf"^{len(data)} bytes are no good \[sample 4 \(b/1.jpg, block 0\) of .*set1.dts\]$",
        ) as caught:
            load_sample(broken_loader, data, file, 4)
    assert caught.traceback[-1].name == "broken_loader"
    assert caught.value.__cause__ is None


def test_make_item_transforms_the_sample_first() -> None:
    calls: list[Any] = []

    def note(value: Any) -> Any:
        calls.append(value)
        return value * 2

    assert make_item(1, 10, note, note) == (2, 20)
    assert calls == [1, 10]
    assert make_item(1, 10, None, None) == (1, 10)
    assert make_item(1, 10, None, note) == (1, 20)
