# SPDX-License-Identifier: Apache-2.0
"""One item of a map-style data set -> a file's path or encoded bytes, and a class number."""

from __future__ import annotations

import io
import os
from operator import index
from typing import Any

import torch
from PIL import Image, ImageFile

from torch_dts._image_errors import without_addresses
from torch_dts.convert._samples import OUR_TROUBLE
from torch_dts.convert._spool import as_bytes

Encoded = bytes | bytearray | memoryview


class MadePNG(bytes):
    """A PNG made of a PIL image whose file's bytes are not known."""


# What PNG keeps exactly. Other modes are stored as the RGB that torchvision's loader gives.
_PNG_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I;16"})

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", ".jpg"),
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"BM", ".bmp"),
    (b"II*\0", ".tif"),
    (b"MM\0*", ".tif"),
    (b"GIF8", ".gif"),
    (b"P5", ".pgm"),
    (b"P6", ".ppm"),
)


def read_item(item: object, where: str, has_label: bool = True) -> tuple[str, Encoded, int]:
    """Takes an item apart.

    Args:
        item: (path | encoded bytes | PIL image, class number).
        where: What to call it in an error.
        has_label: False: the second part may be anything, and counts as 0.

    Returns:
        path ("" for an item without a file), encoded bytes (b"" for a path), class number.

    Raises:
        TypeError, ValueError: Another shape or type; the message says what was found.
    """
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise TypeError(f"{where} must be (image, class number), found {describe(item)}")
    image, label = item
    number = class_number(label, where) if has_label else 0
    if isinstance(image, (str, os.PathLike)):
        return _file_path(image, where), b"", number
    if isinstance(image, (bytes, bytearray)):
        return "", image, number
    if isinstance(image, memoryview):
        return "", image if image.c_contiguous else image.tobytes(), number
    if isinstance(image, Image.Image):
        return "", image_bytes(image, where), number
    if isinstance(image, torch.Tensor) and image.dtype == torch.uint8 and image.ndim == 1:
        return "", as_bytes(image), number
    if _is_byte_array(image):
        return "", image.tobytes(), number
    raise TypeError(
        f"{where}: the image must be a path, encoded bytes (bytes, bytearray, memoryview, a 1-D uint8 "
        f"tensor) or a PIL image, found {describe(image)}. A data set with a transform gives transformed "
        f"images: convert it without"
    )


def image_bytes(image: Image.Image, where: str) -> bytes:
    """The bytes of the file a PIL image was opened from, if it is as opened; else a `MadePNG` of it.

    Raises:
        OSError: It can't be loaded or stored.
    """
    original = _file_bytes(image)
    if original is not None:
        return original
    try:
        kept = image if image.mode in _PNG_MODES else image.convert("RGB")
        out = io.BytesIO()
        kept.save(out, format="PNG")
    except MemoryError:
        raise
    except Exception as error:  # PIL's plugins raise nearly anything on damaged files
        if isinstance(error, OSError) and error.errno in OUR_TROUBLE:
            raise
        raise OSError(
            f"{where}: {describe(image)} can't be stored as PNG: {without_addresses(str(error))}"
        ) from error
    return MadePNG(out.getvalue())


def extension_of(data: Encoded) -> str:
    """File name ending by content: ".jpg", ".png", ...; ".img" when unknown."""
    head = bytes(memoryview(data)[:16])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ".webp"
    for signature, extension in _SIGNATURES:
        if head.startswith(signature):
            return extension
    return ".img"


def _file_bytes(image: Image.Image) -> bytes | None:
    # PIL drops `fp` when the pixels are loaded; an image that was loaded may have been changed.
    fp = getattr(image, "fp", None)
    if not isinstance(image, ImageFile.ImageFile) or fp is None or image.tell() != 0:
        return None
    try:
        place = fp.tell()
        fp.seek(0)
        data = fp.read()
        fp.seek(place)
        # draft() and the like change what loading would give; then the bytes are not the image.
        with Image.open(io.BytesIO(data)) as again:
            same = (again.format, again.mode, again.size) == (image.format, image.mode, image.size)
    except (AttributeError, OSError, ValueError):
        return None
    return data if same and isinstance(data, bytes) else None


def _file_path(image: str | os.PathLike[Any], where: str) -> str:
    path = os.fsdecode(image)
    if not path or "\0" in path:
        raise ValueError(f"{where}: {path!r} is not the path of a file")
    return path


def class_number(label: object, where: str) -> int:
    """The class number of an item; TypeError naming `where` for anything but an integer."""
    try:
        if isinstance(label, torch.Tensor) and label.ndim != 0:
            raise TypeError
        return index(label)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{where}: the class number must be an int, found {describe(label)}") from None


def _is_byte_array(value: object) -> bool:
    """True for a 1-D uint8 NumPy array."""
    return getattr(value, "ndim", None) == 1 and str(getattr(value, "dtype", "")) == "uint8"


def describe(value: object) -> str:
    """What a value is, for an error."""
    name = type(value).__name__
    if isinstance(value, Image.Image):
        return f"{name} of mode {value.mode}, {value.width} x {value.height}"
    if isinstance(value, (tuple, list)):
        return f"{name} of {len(value)}: ({', '.join(type(each).__name__ for each in value[:8])})"
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{name} of shape {tuple(shape)}, {getattr(value, 'dtype', '?')}"
    text = repr(value)
    return f"{name} {text if len(text) <= 60 else text[:57] + '...'}"
