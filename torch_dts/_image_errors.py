# SPDX-License-Identifier: Apache-2.0
"""What Pillow says of a bad image, in words that mean something to people."""

from __future__ import annotations

import re

from PIL import UnidentifiedImageError

# Such as <_io.BytesIO object at 0x7f0c5c0a1b20>, which Pillow puts into its messages.
_OBJECT = re.compile(r"<([\w.]+)(?: object)? at 0x[0-9A-Fa-f]+>")
_HEAD_BYTES = 12


def image_reason(error: Exception, data: bytes | memoryview) -> str:
    """Why an image can't be had.

    Args:
        error: What Pillow raised for it.
        data: The image's bytes, or the first twelve of them.
    """
    if not len(data):
        return "empty (0 bytes)"
    if isinstance(error, UnidentifiedImageError):
        return f"not an image that PIL knows; starts with {bytes(data[:_HEAD_BYTES])!r}"
    text = without_addresses(str(error))
    if isinstance(error, OSError) or type(error) is ValueError:
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}"


def without_addresses(text: str) -> str:
    """The text with names of types in place of objects that are shown by their place in memory."""
    return _OBJECT.sub(r"<\1>", text)
