# SPDX-License-Identifier: Apache-2.0
"""File names are bytes; Python's text of them may hold lone surrogates.

Here is how such names are shown, and how they cross into native code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import torch

_PLAIN = frozenset(range(0x21, 0x7F)) - frozenset(b"%|")


def display(path: str | bytes | os.PathLike[str]) -> str:
    """A path as printable text: bytes that are not UTF-8 show as ``\\xNN``, control characters escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape(path: str | os.PathLike[str]) -> str:
    """A path as ASCII text for native code (csrc/ops/paths.h)."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in os.fsencode(path))


def unescape(text: str) -> str:
    """The inverse of :func:`escape`."""
    raw = bytearray()
    i = 0
    while i < len(text):
        if text[i] == "%":
            raw.append(int(text[i + 1 : i + 3], 16))
            i += 3
        else:
            raw.append(ord(text[i]))
            i += 1
    return os.fsdecode(bytes(raw))


def join_paths(paths: Sequence[str | os.PathLike[str]]) -> torch.Tensor:
    """Many paths for native code: uint8 tensor of NUL-ended byte strings.

    Raises:
        ValueError: a path is empty or holds a NUL byte.
    """
    encoded = [os.fsencode(path) for path in paths]
    for i, path in enumerate(encoded):
        if not path or b"\0" in path:
            raise ValueError(f"path {i} is empty or holds a NUL byte: {path!r}")
    joined = bytearray(b"".join(path + b"\0" for path in encoded))
    return torch.from_numpy(np.frombuffer(joined, dtype=np.uint8))
