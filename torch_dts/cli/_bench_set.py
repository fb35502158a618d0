# SPDX-License-Identifier: Apache-2.0
"""What ``torch-dts bench`` is pointed at: a ``.dts`` file, a set of volumes, or a folder of images."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch

from torch_dts.cli._bench_exports import MOST_BYTES, MOST_IMAGES
from torch_dts.cli._bench_measure import Piece, pieces_of
from torch_dts.file import DTSFile
from torch_dts.loader._datasets import files_of, open_path

_NUM_SIZES = 2000  # files of a folder that are asked for their size
_NUM_FILES = 4000  # and at most read
_NUM_PARTS = 16  # of a .dts file, read from one after the other
_PART_BYTES = 64 << 20


class BenchSet:
    """An open data set.

    Attributes:
        dataset: A DTSDataset or ImageFolder with the transform.
        file: The open file; None: a folder.
        kind: "folder", "blocks" or "pixels".
        num_samples: Of the set.
        total_bytes: Of all samples as they are stored; of a folder an estimate from some of them.
        level: Of a file's conversion; None: a folder.
        has_restart_markers: Whether a file says so; None: a folder.
        image_channels: Of a pixel file's images, else 3.

    Raises:
        OSError, CorruptFileError: It can't be opened.
        ValueError: It has no samples.
    """

    def __init__(self, path: str, transform: Any = None) -> None:
        self.dataset = open_path(path, transform, "blocks")
        files = files_of(self.dataset)
        self.file: DTSFile | None = files[0] if files else None
        self.num_samples = len(self.dataset)
        self.image_channels = 3
        self.level: int | None = None
        self.has_restart_markers: bool | None = None
        if not self.num_samples:
            raise ValueError(f"{path} has no samples")
        if self.file is None:
            self.kind = "folder"
            sizes = [os.stat(each).st_size for each in self._some_paths(_NUM_SIZES)]
            self.total_bytes = round(sum(sizes) / len(sizes) * self.num_samples)
            return
        header = self.file.header
        self.kind = "blocks" if header.has_blocks else "pixels"
        self.level = header.compress_level
        self.has_restart_markers = self.file.info.get("restart_interval") is not None
        if header.has_blocks:
            self.total_bytes = int(self.file.sizes.sum())
        else:
            self.image_channels = header.num_channels
            self.total_bytes = (
                self.num_samples * header.image_height * header.image_width * header.num_channels
            )

    def _some_paths(self, most: int) -> list[str]:
        """Files of a folder, evenly spread."""
        listed = self.dataset.samples
        count = min(most, len(listed))
        return [listed[i * len(listed) // count][0] for i in range(count)]

    def pieces(self) -> tuple[list[Piece], int]:
        """Parts of the data from all over the set, and how many threads to read them with."""
        if self.file is None:
            files = self._some_paths(_NUM_FILES)
            return [piece for each in files for piece in pieces_of(each, os.stat(each).st_size)], 4
        found: list[Piece] = []
        for volume in self.file.volumes:
            first = min(volume.header.header_bytes, volume.file_bytes) if self.kind == "blocks" else 0
            found += pieces_of(volume.absolute_path, volume.file_bytes, first)
        return list(_spread(found)), 1

    def samples(self) -> list[bytes | memoryview]:
        """Some encoded images from all over the set; none of a pixel file."""
        if self.kind == "pixels":
            return []
        if self.file is None:
            found: list[bytes | memoryview] = []
            total = 0
            for path in self._some_paths(MOST_IMAGES):
                size = os.stat(path).st_size
                if total + size <= MOST_BYTES:
                    total += size
                    with open(path, "rb") as stream:
                        found.append(stream.read())
            return found
        count = min(MOST_IMAGES, self.num_samples)
        chosen = self.file.positions_of(torch.arange(count) * self.num_samples // count)
        fits = self.file.sizes[chosen].cumsum(0) <= MOST_BYTES
        return list(self.file.read_many(chosen[fits]))

    def close(self) -> None:
        """Closes the file."""
        if self.file is not None:
            self.file.close()


def _spread(pieces: list[Piece]) -> Iterator[Piece]:
    """Runs of neighbouring pieces, from parts all over the file."""
    a_part = _PART_BYTES // max(1, pieces[0].size) if pieces else 1
    if len(pieces) <= _NUM_PARTS * a_part:
        yield from pieces
        return
    for part in range(_NUM_PARTS):
        start = part * len(pieces) // _NUM_PARTS
        yield from pieces[start : start + a_part]
