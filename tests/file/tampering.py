# SPDX-License-Identifier: Apache-2.0
"""Damages ``.dts`` files, and signs them anew where asked.

A change alone is found by the nearest CRC. To reach the check behind it, the CRCs on the
way are made to fit again: `resign_table`, `resign_head`, `resign_block`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from building import BLOCK_SIZE, HEADER_BYTES, TABLE, table_head

# Offsets of header fields (docs/format.md section 1).
HEADER_FIELDS = {
    "compress_level": 20,
    "num_classes": 28,
    "num_samples": 52,
    "num_volumes": 56,
    "volume_id": 60,
    "total_blocks": 64,
    "num_blocks": 68,
    "header_bytes": 80,
    "block_size": 92,
    "block_header_size": 96,
    "pic_alignment": 100,
    "crc_code": 140,
}
_ENTRY = "<4sIQQQII"
_ENTRY_FIELDS = ("tag", "flags", "offset", "stored_bytes", "raw_bytes", "crc", "zero")


@dataclass(frozen=True)
class Entry:
    """An entry of the section table and where it stands in the file."""

    at: int
    flags: int
    offset: int
    stored_bytes: int


def read(path: Path, offset: int, size: int) -> bytes:
    """Bytes of a file."""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)


def patch(path: Path, offset: int, data: bytes) -> None:
    """Overwrites bytes of a file."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path: Path, offset: int) -> None:
    """Flips the bits of one byte."""
    patch(path, offset, bytes([read(path, offset, 1)[0] ^ 0xFF]))


def cut(path: Path, size: int) -> None:
    """Truncates a file."""
    with open(path, "r+b") as file:
        file.truncate(size)


def strip_sections(path: Path) -> None:
    """Makes it a file as the original exporter writes it: header and blocks only."""
    patch(path, TABLE, bytes(HEADER_BYTES - TABLE))


def entries(path: Path) -> dict[str, Entry]:
    """The section table by tag."""
    (count,) = struct.unpack("<I", read(path, TABLE + 8, 4))
    found = {}
    for number in range(count):
        at = TABLE + 16 + 40 * number
        tag, flags, offset, stored, *_ = struct.unpack(_ENTRY, read(path, at, 40))
        found[tag.decode()] = Entry(at, flags, offset, stored)
    return found


def section(path: Path, tag: str) -> bytes:
    """The stored bytes of a section."""
    entry = entries(path)[tag]
    return read(path, entry.offset, entry.stored_bytes)


def set_entry(path: Path, tag: str, /, **values: int | bytes) -> None:
    """Changes fields of a section's entry; the table's CRC fits, the section's is as given."""
    at = entries(path)[tag].at
    fields = dict(zip(_ENTRY_FIELDS, struct.unpack(_ENTRY, read(path, at, 40)), strict=True))
    assert values.keys() <= fields.keys()
    fields.update(values)
    patch(path, at, struct.pack(_ENTRY, *fields.values()))
    resign_table(path)


def replace_section(path: Path, tag: str, content: bytes, /, **values: int) -> None:
    """Puts other bytes in the place of a section, with CRCs that fit; `values` as in set_entry."""
    entry = entries(path)[tag]
    others = [e.offset for e in entries(path).values() if e.offset > entry.offset]
    if others and entry.offset + len(content) > min(others):
        # Too long for its place: behind all others.
        end = max(e.offset + e.stored_bytes for e in entries(path).values())
        values = {"offset": -(-end // 64) * 64, **values}
    patch(path, entry.offset, bytes(entry.stored_bytes))
    patch(path, int(values.get("offset", entry.offset)), content)
    size = {"stored_bytes": len(content), "raw_bytes": len(content), "crc": zlib.crc32(content)}
    set_entry(path, tag, **{**size, **values})


def resign_table(path: Path, version: int = 1, count: int | None = None) -> None:
    """Makes the table's CRC fit its entries."""
    (found,) = struct.unpack("<I", read(path, TABLE + 8, 4))
    count = found if count is None else count
    patch(path, TABLE, table_head(read(path, TABLE + 16, 40 * count), version, count))


def set_header(path: Path, **values: int) -> None:
    """Changes header fields; HEAD fits again where there is one."""
    for name, value in values.items():
        patch(path, HEADER_FIELDS[name], struct.pack("<I", value))
    resign_head(path)


def resign_head(path: Path) -> None:
    """Makes HEAD fit the header."""
    if read(path, TABLE, 4) == b"DTSX" and "HEAD" in entries(path):
        replace_section(path, "HEAD", struct.pack("<I", zlib.crc32(read(path, 0, 140))))


def resign_block(path: Path, number: int = 0) -> None:
    """Makes the CRCs of a block and of the file fit what is in the blocks."""
    if read(path, TABLE, 4) == b"DTSX" and "BIDX" in entries(path):
        table = bytearray(section(path, "BIDX"))
        crc = zlib.crc32(read(path, HEADER_BYTES + number * BLOCK_SIZE, BLOCK_SIZE))
        struct.pack_into("<I", table, 8 * number + 4, crc)
        replace_section(path, "BIDX", bytes(table))
    with open(path, "rb") as file:
        file.seek(HEADER_BYTES)
        crc = 0
        while piece := file.read(1 << 22):
            crc = zlib.crc32(piece, crc)
    set_header(path, crc_code=crc)


def patch_index(path: Path, number: int, field: int, slot: int, value: int) -> None:
    """Changes a number of a block's index: `field` 0 offsets, 1 sizes, 2 labels. Not signed."""
    start = HEADER_BYTES + number * BLOCK_SIZE
    (n,) = struct.unpack("<I", read(path, start + 8, 4))
    patch(path, start + 12 + 4 * (field * n + slot), struct.pack("<I", value & 0xFFFFFFFF))
