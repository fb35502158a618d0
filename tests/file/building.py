# SPDX-License-Identifier: Apache-2.0
"""Builds ``.dts`` files by hand from docs/format.md, without the library's writer.

So a test of reading knows every byte, and what reader and writer might get wrong alike shows.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

MIB = 1 << 20
HEADER_BYTES = 16 * MIB
BLOCK_SIZE = 16 * MIB
TABLE = 4096
TAGS = ("HEAD", "INFO", "CLSS", "BIDX", "SIZE", "LABL", "ORDR", "PATH")


@dataclass(frozen=True)
class Sample:
    """A sample as it goes into a file."""

    path: bytes
    label: int
    data: bytes


@lru_cache(maxsize=256)
def jpeg(seed: int, size: tuple[int, int] = (32, 24)) -> bytes:
    """A small picture that no other seed gives."""
    noise = np.random.default_rng(seed).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).save(stream, "JPEG", quality=90)
    return stream.getvalue()


def samples_of(classes: dict[str, int]) -> list[Sample]:
    """JPEGs ``<class>/<i>.jpg`` in the order of a folder."""
    found = []
    for label, (name, count) in enumerate(classes.items()):
        for i in range(count):
            found.append(Sample(os.fsencode(f"{name}/{i}.jpg"), label, jpeg(len(found))))
    return found


def build(
    path: Path,
    samples: Sequence[Sample],
    classes: Sequence[bytes],
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    level: int = 0,
    block_header_size: int = 4096,
    tags: Sequence[str] = TAGS,
    num_classes: int | None = None,
) -> Path:
    """Writes a file.

    `blocks` holds the source indices of each block; by default one block with all of
    them, last first, so that stored and source order differ. With no `tags` it is a file
    as the original exporter writes it.
    """
    if blocks is None:
        blocks = [list(range(len(samples)))[::-1]]
    pieces = _pieces(
        tuple(samples),
        tuple(classes),
        tuple(map(tuple, blocks)),
        level,
        block_header_size,
        tuple(tags),
        len(classes) if num_classes is None else num_classes,
    )
    with open(path, "wb") as file:
        # What is zero stays a hole.
        file.truncate(HEADER_BYTES + len(blocks) * BLOCK_SIZE)
        for offset, content in pieces:
            file.seek(offset)
            file.write(content)
    return path


@lru_cache(maxsize=64)
def _pieces(
    samples: tuple[Sample, ...],
    classes: tuple[bytes, ...],
    blocks: tuple[tuple[int, ...], ...],
    level: int,
    block_header_size: int,
    tags: tuple[str, ...],
    num_classes: int,
) -> list[tuple[int, bytes]]:
    """What of a file is not zero, with offsets. Kept, as summing the blocks takes a while."""
    stored = [index for block in blocks for index in block]
    pieces = []
    payload_crc = 0
    block_entries = b""
    for number, block in enumerate(blocks):
        content = build_block(number, [samples[i] for i in block], level, block_header_size)
        pieces.append((HEADER_BYTES + number * BLOCK_SIZE, content))
        padding = bytes(BLOCK_SIZE - len(content))
        payload_crc = zlib.crc32(padding, zlib.crc32(content, payload_crc))
        block_entries += struct.pack("<II", len(block), zlib.crc32(padding, zlib.crc32(content)))
    header = build_header(
        num_samples=len(samples),
        num_classes=num_classes,
        num_blocks=len(blocks),
        level=level,
        block_header_size=block_header_size,
        crc=payload_crc,
        max_per_block=max((len(block) for block in blocks), default=0),
    )
    contents = {
        "HEAD": struct.pack("<I", zlib.crc32(header[:140])),
        "INFO": json.dumps({"writer": "by hand", "level": level}).encode(),
        "CLSS": build_classes(classes),
        "BIDX": block_entries,
        "SIZE": struct.pack(f"<{len(stored)}I", *(len(samples[i].data) for i in stored)),
        "LABL": struct.pack(f"<{len(samples)}i", *(sample.label for sample in samples)),
        "ORDR": struct.pack(f"<{len(stored)}I", *stored),
        "PATH": build_paths([sample.path for sample in samples]),
    }
    pieces.append((0, header))
    return pieces + (build_sections({tag: contents[tag] for tag in tags}) if tags else [])


def build_header(
    *,
    num_samples: int,
    num_classes: int,
    num_blocks: int,
    level: int = 0,
    block_header_size: int = 4096,
    crc: int = 0,
    max_per_block: int = 0,
) -> bytes:
    """The 144 bytes of a file of JPEG blocks."""
    payload = num_blocks * BLOCK_SIZE
    return struct.pack(
        "<4s4B8sIIII4sIII4sIIIIIQIQIIIIIf3f3fI",
        *(b".DTS", 3, 0, 0, 0, b"IMAGENET", 1, level, 0, num_classes, b"NHWC", 0, 0, 3, b" RGB"),
        *(num_samples, 1, 0, num_blocks, num_blocks, HEADER_BYTES + payload, HEADER_BYTES, payload),
        *(BLOCK_SIZE, block_header_size, 64, 32 * 24, max_per_block, 1.0),
        *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, crc),
    )


def build_block(number: int, samples: Sequence[Sample], level: int, block_header_size: int) -> bytes:
    """A block up to the end of its last sample."""
    offsets = []
    at = block_header_size
    for sample in samples:
        offsets.append(at)
        at += -(-len(sample.data) // 64) * 64
    n = len(samples)
    block = bytearray(at)
    struct.pack_into("<4sII", block, 0, f"LV{level}B".encode(), number, n)
    struct.pack_into(f"<{n}I", block, 12, *offsets)
    struct.pack_into(f"<{n}I", block, 12 + 4 * n, *(len(sample.data) for sample in samples))
    struct.pack_into(f"<{n}i", block, 12 + 8 * n, *(sample.label for sample in samples))
    for offset, sample in zip(offsets, samples, strict=True):
        block[offset : offset + len(sample.data)] = sample.data
    return bytes(block)


def build_classes(names: Sequence[bytes]) -> bytes:
    """The CLSS section."""
    return struct.pack("<I", len(names)) + b"".join(struct.pack("<H", len(name)) + name for name in names)


def build_paths(paths: Sequence[bytes]) -> bytes:
    """The PATH section."""
    streams = [
        zlib.compress(b"".join(path + b"\0" for path in paths[start : start + 65536]))
        for start in range(0, len(paths), 65536)
    ]
    ends = np.cumsum([len(stream) for stream in streams]).tolist()
    return struct.pack(f"<{len(ends)}I", *ends) + b"".join(streams)


def build_sections(contents: dict[str, bytes], compressed: Sequence[str] = ()) -> list[tuple[int, bytes]]:
    """Table and sections in the header area, each with its offset in the file."""
    at = -(-(TABLE + 16 + 40 * len(contents)) // 64) * 64
    entries = b""
    pieces = []
    for tag, content in contents.items():
        flags, raw = int(tag in compressed), len(content)
        stored = zlib.compress(content) if flags else content
        pieces.append((at, stored))
        crc = zlib.crc32(stored)
        entries += struct.pack("<4sIQQQII", tag.encode(), flags, at, len(stored), raw, crc, 0)
        at += -(-len(stored) // 64) * 64
    assert at <= HEADER_BYTES, "the sections don't fit"
    return [(TABLE, table_head(entries) + entries), *pieces]


def table_head(entries: bytes, version: int = 1, count: int | None = None) -> bytes:
    """The 16 bytes in front of the entries, CRC included."""
    count = len(entries) // 40 if count is None else count
    crc = zlib.crc32(struct.pack("<4sIII", b"DTSX", version, count, 0) + entries)
    return struct.pack("<4sIII", b"DTSX", version, count, crc)


def build_pixels(path: Path, num_samples: int) -> Path:
    """A CIFAR-10 file as the original exporter writes it, with samples of one value each."""
    payload = bytes(i % 10 for i in range(num_samples))
    payload += b"".join(bytes([i % 256]) * 3072 for i in range(num_samples))
    size = len(payload)
    header = struct.pack(
        "<4s4B8sIIII4sIII4sIIIIIQIQIIIIIf3f3fI",
        *(b".DTS", 3, 0, 0, 0, b" CIFAR10", 1, 0, 0, 10, b"NHWC", 32, 32, 3, b" RGB"),
        *(num_samples, 1, 0, 1, 1, 256 + size, 256, size, size, 0, 0, 1024, num_samples, 1.0),
        *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, zlib.crc32(payload)),
    )
    path.write_bytes(header.ljust(256, b"\0") + payload)
    return path
