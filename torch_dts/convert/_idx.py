# SPDX-License-Identifier: Apache-2.0
"""Files of the idx format, in which MNIST and its kin are published; plain or gzip-compressed."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from torch_dts._errors import CorruptFileError

MAX_BYTES = (1 << 32) - 1
_UBYTE = 8
_INT = 12


def read_idx(path: str, num_dimensions: int) -> NDArray[np.uint8]:
    """The array in an idx file of unsigned bytes.

    Raises:
        CorruptFileError: No idx file of unsigned bytes and that many dimensions, or one that is
            cut off, too long, or damaged.
        OSError: The file can't be read.
    """
    return _open(path, num_dimensions, _UBYTE)


def read_int_idx(path: str) -> NDArray[np.int64]:
    """The array ``[n, k]``, k at least 1, in an idx file of 32-bit integers. Raises as `read_idx`."""
    found = _open(path, 2, _INT)
    if not found.shape[1]:
        raise CorruptFileError(path, 8, "its rows are empty, expected a class number in each")
    return found.astype(np.int64)


def _open(path: str, num_dimensions: int, kind: int) -> NDArray[Any]:
    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as file:
        try:
            return _read(file, path, num_dimensions, kind)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CorruptFileError(path, None, f"the compressed data is damaged: {error}") from error


def _read(file: IO[bytes] | gzip.GzipFile, path: str, num_dimensions: int, kind: int) -> NDArray[Any]:
    head = file.read(4 + 4 * num_dimensions)
    if len(head) < 4 + 4 * num_dimensions or head[:3] != bytes([0, 0, kind]) or head[3] != num_dimensions:
        raise CorruptFileError(
            path,
            0,
            f"it starts with {head[:4]!r}, expected {bytes([0, 0, kind, num_dimensions])!r}: an idx file "
            f"of {'unsigned bytes' if kind == _UBYTE else '32-bit integers'} with {num_dimensions} "
            "dimensions",
        )
    shape = struct.unpack(f">{num_dimensions}I", head[4:])
    size = math.prod(shape) * (1 if kind == _UBYTE else 4)
    if size > MAX_BYTES:
        raise CorruptFileError(path, 4, f"its dimensions {shape} are {size} bytes, expected less than 4 GiB")
    data = file.read(size)
    if len(data) < size or file.read(1):
        found = f"{len(data)}" if len(data) < size else "more"
        raise CorruptFileError(path, None, f"it holds {found} bytes of content, expected {size} for {shape}")
    return np.frombuffer(data, dtype=np.uint8 if kind == _UBYTE else ">i4").reshape(shape)
