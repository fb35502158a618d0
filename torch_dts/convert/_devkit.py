# SPDX-License-Identifier: Apache-2.0
"""ImageNet's development kit: which class its numbers 1 to 1000 mean, from meta.mat.

The numbers are the kit's own, in no order of the class names. meta.mat is a MATLAB 5 file: elements
of a type, a size and that many bytes, nested; nothing of it is run. Only what is needed is read:
the fields ILSVRC2012_ID and WNID of the array `synsets`.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display

GROUND_TRUTH = "ILSVRC2012_validation_ground_truth.txt"

_HEADER_BYTES = 128
_MAX_BYTES = 64 << 20
_MATRIX, _COMPRESSED = 14, 15
_CHAR_CLASS, _STRUCT_CLASS = 4, 2
# Of the types that numbers and characters are stored in.
_FORMATS = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q", 16: "B"}


def class_names(label_file: str, numbers: list[str]) -> list[str]:
    """The class (WNID) of each number in the kit's ground truth file.

    Raises:
        ValueError: meta.mat is not beside the file, or lacks a number.
        CorruptFileError: meta.mat is damaged.
    """
    path = os.path.join(os.path.dirname(label_file), "meta.mat")
    if not os.path.exists(path):
        raise ValueError(
            f"{display(label_file)} holds numbers of ImageNet's development kit, whose classes its meta.mat "
            f"names: keep the two in one folder"
        )
    names = read_meta(path)
    try:
        return [names[int(number)] for number in numbers]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{display(label_file)} has {error} as a label, which {display(path)} lacks"
        ) from None


def read_meta(path: str) -> dict[int, str]:
    """ILSVRC2012_ID -> WNID.

    Raises:
        CorruptFileError: No such MATLAB file.
        OSError: It can't be read.
    """
    with open(path, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    try:
        if len(data) > _MAX_BYTES or data[124:128] != b"\0\1IM":
            raise ValueError("no MATLAB 5 file of at most 64 MiB")
        for kind, content in _elements(data[_HEADER_BYTES:]):
            if kind == _COMPRESSED:
                kind, content = next(_elements(_inflate(content)))
            if kind == _MATRIX:
                name, fields = _struct_fields(content)
                if name == "synsets":
                    return {
                        int(each["ILSVRC2012_ID"]): str(each["WNID"]) for each in fields if len(each) == 2
                    }
        raise ValueError("it has no array `synsets`")
    except (ValueError, ArithmeticError, LookupError, struct.error, zlib.error, StopIteration) as error:
        raise CorruptFileError(path, None, f"not the meta.mat of the development kit: {error}") from error


def _inflate(data: bytes) -> bytes:
    return zlib.decompressobj().decompress(data, _MAX_BYTES)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of each element."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind >> 16:  # a small one: size and type share a word, four bytes of content follow
            kind, size, start, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        else:
            start, step = at + 8, 8 + size + (-size % 8 if kind != _COMPRESSED else 0)
        if start + size > len(data):
            raise ValueError(f"an element of {size} bytes at byte {at} of {len(data)}")
        yield kind, data[start : start + size]
        at += step


def _struct_fields(content: bytes) -> tuple[str, list[dict[str, float | str]]]:
    """Name of a struct array and the two fields of each of its elements; [] of other arrays."""
    parts = _elements(content)
    flags, dimensions, name = [next(parts)[1] for _ in range(3)]
    if flags[0] != _STRUCT_CLASS or name != b"synsets":
        return name.decode("ascii", "replace"), []
    (width,) = struct.unpack("<i", next(parts)[1])
    joined = next(parts)[1]
    if width <= 0:
        raise ValueError(f"field names of {width} bytes")
    names = [
        joined[at : at + width].split(b"\0")[0].decode("ascii", "replace")
        for at in range(0, len(joined), width)
    ]
    count = 1
    for size in struct.unpack(f"<{len(dimensions) // 4}i", dimensions):
        count *= size
    found: list[dict[str, float | str]] = []
    for number, (_, cell) in enumerate(parts):
        field = names[number % len(names)]
        if number % len(names) == 0:
            found.append({})
        if field in ("ILSVRC2012_ID", "WNID"):
            found[-1][field] = _value(cell)
    if len(found) != count:
        raise ValueError(f"{len(found)} of {count} elements")
    return "synsets", found


def _value(cell: bytes) -> float | str:
    """The number or the text in an array of one."""
    parts = _elements(cell)
    flags, _, _ = [next(parts)[1] for _ in range(3)]
    kind, content = next(parts)
    values = struct.unpack(f"<{len(content) // struct.calcsize(_FORMATS[kind])}{_FORMATS[kind]}", content)
    return "".join(map(chr, values)) if flags[0] == _CHAR_CLASS else values[0]
