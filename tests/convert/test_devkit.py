# SPDX-License-Identifier: Apache-2.0
"""The numbers of ImageNet's development kit."""

from __future__ import annotations

import contextlib
import pathlib
import struct
import zlib

import pytest

from torch_dts import CorruptFileError
from torch_dts.convert._devkit import GROUND_TRUTH, read_meta
from torch_dts.convert._labels import read_labels

WNIDS = {1: "n02119789", 2: "n02100735", 3: "n00000001", 1000: "n04252077"}


def element(kind: int, content: bytes) -> bytes:
    if 0 < len(content) <= 4:
        return struct.pack("<I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(kind: int, dimensions: tuple[int, ...], name: bytes, *parts: bytes) -> bytes:
    head = element(6, struct.pack("<II", kind, 0)) + element(
        5, struct.pack(f"<{len(dimensions)}i", *dimensions)
    )
    return element(14, head + element(1, name) + b"".join(parts))


def meta(wnids: dict[int, str]) -> bytes:
    """A file as MATLAB writes it: numbers in the smallest type, text in 16 bits or bytes."""
    cells = b""
    for number, wnid in wnids.items():
        stored = element(9, struct.pack("<d", number)) if number > 255 else element(2, bytes([number]))
        text = element(4, wnid.encode("utf-16-le")) if number % 2 else element(16, wnid.encode())
        cells += matrix(6, (1, 1), b"", stored) + matrix(4, (1, len(wnid)), b"", text)
        cells += matrix(6, (0, 0), b"", element(9, b""))
    fields = b"".join(name.ljust(16, b"\0") for name in (b"ILSVRC2012_ID", b"WNID", b"children"))
    synsets = matrix(
        2, (len(wnids), 1), b"synsets", element(5, struct.pack("<i", 16)), element(1, fields), cells
    )
    packed = zlib.compress(synsets)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    return (
        header + matrix(6, (1, 1), b"other", element(2, b"\1")) + struct.pack("<II", 15, len(packed)) + packed
    )


def test_meta_and_ground_truth(tmp_path: pathlib.Path) -> None:
    (tmp_path / "meta.mat").write_bytes(meta(WNIDS))
    assert read_meta(str(tmp_path / "meta.mat")) == WNIDS
    (tmp_path / GROUND_TRUTH).write_text("1000\n1\n2\n3\n1\n")
    table = read_labels(tmp_path / GROUND_TRUTH)
    labels, classes = table.match([f"ILSVRC2012_val_{i}.JPEG" for i in range(5)], None)
    assert classes == sorted(WNIDS.values())
    assert [classes[label] for label in labels.tolist()] == [WNIDS[i] for i in (1000, 1, 2, 3, 1)]


def test_what_does_not_fit(tmp_path: pathlib.Path) -> None:
    (tmp_path / GROUND_TRUTH).write_text("1\n7\n")
    with pytest.raises(ValueError, match=r"whose classes its meta\.mat names: keep the two in one folder"):
        read_labels(tmp_path / GROUND_TRUTH)
    (tmp_path / "meta.mat").write_bytes(meta(WNIDS))
    with pytest.raises(ValueError, match=r"has 7 as a label, which .*meta\.mat lacks"):
        read_labels(tmp_path / GROUND_TRUTH)


def test_damaged_meta(tmp_path: pathlib.Path) -> None:
    good = meta(WNIDS)
    path = tmp_path / "meta.mat"
    for size in (0, 127, 128, 200, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(CorruptFileError, match=r"not the meta\.mat of the development kit"):
            read_meta(str(path))
    for at in range(120, len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        with contextlib.suppress(CorruptFileError):
            read_meta(str(path))
