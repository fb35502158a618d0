# SPDX-License-Identifier: Apache-2.0
"""Samples stored as pixels: a head of 16 bytes, then rows of pixels (docs/format.md)."""

from __future__ import annotations

import io
import struct
from typing import NamedTuple

from PIL import Image

MAX_SIDE = 0xFFFF
_HEAD = struct.Struct("<4sHHB7s")
_MAGIC = b"DTSR"
_MODES = {1: "L", 3: "RGB"}


class RawShape(NamedTuple):
    """Of an image of pixels."""

    height: int
    width: int
    channels: int
    """1: gray, 3: RGB."""


def raw_shape(data: bytes | memoryview) -> RawShape | None:
    """The shape of a stored sample of pixels; None where `data` is not, to the byte, such a sample."""
    if len(data) < _HEAD.size or bytes(data[:4]) != _MAGIC:
        return None
    _, height, width, channels, zeros = _HEAD.unpack_from(data)
    is_whole = len(data) - _HEAD.size == height * width * channels > 0
    return RawShape(height, width, channels) if channels in _MODES and is_whole and not any(zeros) else None


def raw_image(data: bytes | memoryview, shape: RawShape) -> Image.Image:
    """The PIL image (mode L or RGB) of a stored sample of this shape; a copy of its pixels."""
    return Image.frombytes(_MODES[shape.channels], (shape.width, shape.height), data[_HEAD.size :])


def raw_sample(image: Image.Image) -> bytes:
    """The stored sample of an image: mode L stays gray, every other mode becomes RGB.

    Raises:
        ValueError: A side of more than 65 535 pixels.
    """
    if max(image.size) > MAX_SIDE:
        raise ValueError(f"{image.width} x {image.height} pixels, a raw sample has at most {MAX_SIDE} a side")
    if image.mode != "L":
        image = image.convert("RGB")
    channels = len(image.getbands())
    return _HEAD.pack(_MAGIC, image.height, image.width, channels, b"") + image.tobytes()


def as_image_file(data: bytes | memoryview) -> memoryview:
    """The stored sample as a file that image programs open: pixels become a PNG, others stay."""
    shape = raw_shape(data)
    if shape is None:
        return memoryview(data)
    out = io.BytesIO()
    raw_image(data, shape).save(out, "PNG")
    return out.getbuffer()
