# SPDX-License-Identifier: Apache-2.0
"""Files of idx format."""

from __future__ import annotations

import gzip
import pathlib
import struct

import numpy as np
import pytest

from torch_dts import CorruptFileError
from torch_dts.convert._idx import read_idx, read_int_idx

GOOD = struct.pack(">4B2I", 0, 0, 8, 2, 3, 4) + bytes(range(12))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_reading(tmp_path: pathlib.Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(gzip.compress(GOOD) if ending else GOOD)
    assert np.array_equal(read_idx(str(path), 2), np.arange(12, dtype=np.uint8).reshape(3, 4))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            r"at byte 0: it starts with b'', expected b'\\x00\\x00\\x08\\x02': an idx file of unsigned bytes",
        ),
        (GOOD.replace(b"\x08", b"\x09", 1), "an idx file of unsigned bytes with 2 dimensions"),
        (GOOD[:3] + b"\x03" + GOOD[4:], "an idx file"),
        (GOOD[:-1], r"it holds 11 bytes of content, expected 12 for \(3, 4\)"),
        (GOOD + b"x", "it holds more bytes of content, expected 12"),
        (GOOD[:4] + b"\xff" * 8, "bytes, expected less than 4 GiB"),
    ],
)
def test_damage(tmp_path: pathlib.Path, content: bytes, message: str) -> None:
    for ending in ("", ".gz"):
        path = tmp_path / f"x{ending}"
        path.write_bytes(gzip.compress(content) if ending else content)
        with pytest.raises(CorruptFileError, match=message):
            read_idx(str(path), 2)


@pytest.mark.parametrize("cut", [5, 15, -9, -1])
def test_damaged_compression(tmp_path: pathlib.Path, cut: int) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(GOOD)[:cut])
    with pytest.raises(CorruptFileError, match=r"x\.gz: the compressed data is damaged"):
        read_idx(str(tmp_path / "x.gz"), 2)


def test_integers(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x"
    values = np.array([[7, -1, 1 << 30], [8, 0, 2]])
    head = struct.pack(">4B2I", 0, 0, 12, 2, 2, 3)
    path.write_bytes(head + values.astype(">i4").tobytes())
    assert np.array_equal(read_int_idx(str(path)), values)
    for content, message in (
        (GOOD, "expected .* an idx file of 32-bit integers with 2 dimensions"),
        (head + bytes(23), r"it holds 23 bytes of content, expected 24 for \(2, 3\)"),
        (head + bytes(25), "it holds more bytes of content"),
        (struct.pack(">4B2I", 0, 0, 12, 2, 1 << 30, 1), "expected less than 4 GiB"),
        (struct.pack(">4B2I", 0, 0, 12, 2, 5, 0), "its rows are empty"),
    ):
        path.write_bytes(content)
        with pytest.raises(CorruptFileError, match=message):
            read_int_idx(str(path))
