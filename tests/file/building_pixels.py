# SPDX-License-Identifier: Apache-2.0
"""Builds pixel files by hand from docs/format.md, without the library's writer."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from building import build_classes

FOOTER_BYTES = 16


@dataclass(frozen=True)
class Built:
    """A file and where its parts are."""

    path: Path
    labels: np.ndarray
    pixels: np.ndarray
    payload_end: int
    table: int
    places: dict[str, int]

    @property
    def size(self) -> int:
        return self.path.stat().st_size


def build_pixel_file(
    path: Path,
    num_samples: int,
    shape: tuple[int, int, int] = (32, 32, 3),
    dataset_type: bytes = b" CIFAR10",
    *,
    classes: Sequence[bytes] = tuple(b"class%d" % i for i in range(10)),
    tags: Sequence[str] = ("HEAD", "INFO", "CLSS"),
    label: int | None = None,
    claimed_bytes: int | None = None,
    is_training: int = 1,
) -> Built:
    """Writes a pixel file of noise.

    Args:
        tags: Its sections; none: a file as the original exporter writes it.
        label: Of the last sample.
        claimed_bytes: What the header says of a sample, its label included.
    """
    random = np.random.default_rng(num_samples)
    labels = random.integers(0, len(classes), num_samples, dtype=np.uint8)
    if label is not None:
        labels[-1] = label
    pixels = random.integers(0, 256, (num_samples, *shape), dtype=np.uint8)
    payload = labels.tobytes() + pixels.tobytes()
    payload_end = 256 + len(payload)
    table = -(-payload_end // 64) * 64
    sizes = {"HEAD": 4, "INFO": 16, "CLSS": len(build_classes(classes))}
    places, end = {}, table + 16 + 40 * len(tags)
    for tag in tags:
        places[tag] = -(-end // 64) * 64
        end = places[tag] + sizes[tag]
    file_bytes = end + FOOTER_BYTES if tags else payload_end
    claimed = len(payload) if claimed_bytes is None else num_samples * claimed_bytes
    height, width, channels = shape
    header = struct.pack(
        "<4s4B8sIIII4sIII4sIIIIIQIQIIIIIf3f3f",
        *(b".DTS", 3, 0, 0, 0, dataset_type, is_training, 0, 0, len(classes), b"NHWC", width, height),
        *(channels, b" RGB" if channels == 3 else b"GRAY", num_samples, 1, 0, 1, 1),
        *(file_bytes if claimed_bytes is None else 256 + claimed, 256, claimed, claimed, 0, 0),
        *(width * height, num_samples, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )
    assert len(header) == 140
    tail = b""
    if tags:
        contents = {
            "HEAD": struct.pack("<I", zlib.crc32(header)),
            "INFO": b'{"made":"by me"}',
            "CLSS": build_classes(classes),
        }
        area = bytearray(file_bytes - payload_end)
        entries = b""
        for tag, at in places.items():
            content = contents[tag]
            area[at - payload_end : at - payload_end + len(content)] = content
            size = len(content)
            entries += struct.pack("<4sIQQQII", tag.encode(), 0, at, size, size, zlib.crc32(content), 0)
        head = struct.pack("<4sIII", b"DTSX", 1, len(tags), 0)
        head = head[:12] + struct.pack("<I", zlib.crc32(head + entries))
        area[table - payload_end : table - payload_end + 16 + len(entries)] = head + entries
        footer = struct.pack("<Q4s", table, b"DTSX")
        area[-FOOTER_BYTES:] = footer + struct.pack("<I", zlib.crc32(footer))
        tail = bytes(area)
    crc = zlib.crc32(tail, zlib.crc32(payload))
    path.write_bytes((header + struct.pack("<I", crc)).ljust(256, b"\0") + payload + tail)
    return Built(path, labels, pixels, payload_end, table, places)


def resign(built: Built) -> None:
    """Makes the header's CRC-32 fit what is behind it; HEAD leaves that field out."""
    data = bytearray(built.path.read_bytes())
    struct.pack_into("<I", data, 140, zlib.crc32(data[256:]))
    built.path.write_bytes(data)
