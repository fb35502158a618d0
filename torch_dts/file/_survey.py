# SPDX-License-Identifier: Apache-2.0
"""How full the blocks of a file are, and how large its samples are, in bytes and in pixels."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native
from torch_dts._progress import Progress
from torch_dts._raw import raw_shape
from torch_dts.file._contents import byte_view
from torch_dts.file._file import DTSFile

MOST_PROBED = 2000
_MOST_READ_BYTES = 512 << 20  # large photos are looked into less often
_READ_TOGETHER_BYTES = 32 << 20


@dataclass(frozen=True)
class Survey:
    """Numbers about a file of blocks.

    Attributes:
        block_fill: float64 ``[num_blocks]``: the part of each block that its index area and its
            samples (with their padding) take, 0 to 1.
        sample_bytes: int64 ``[num_samples]``: the bytes of each sample.
        dimensions: int64 ``[n, 2]``: width and height of the samples that were looked into.
        num_probed: How many were looked into.
    """

    block_fill: Tensor
    sample_bytes: Tensor
    dimensions: Tensor
    num_probed: int


def survey(file: DTSFile, progress: bool | None) -> Survey:
    """Looks at all blocks and sizes in the tables, and into samples evenly spread over the file.

    Args:
        file: A file of blocks.
        progress: Whether to show a bar on stderr; None: when that is a terminal.

    Raises:
        ValueError: It is a pixel file.
        CorruptFileError: Its tables are damaged.
        OSError: The disk can't be read.
    """
    counts = file.block_table.num_samples
    sizes = torch.empty(len(file), dtype=torch.int64)
    sizes[file.stored_index] = file.sizes
    alignment = max(1, file.header.pic_alignment)
    padded = (sizes + alignment - 1) // alignment * alignment
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), padded.cumsum(0)])[counts.cumsum(0)]
    used = ends.diff(prepend=torch.zeros(1, dtype=torch.int64)) + file.header.block_header_size
    stored = torch.arange(len(file))
    most = min(MOST_PROBED, max(1, _MOST_READ_BYTES * len(file) // max(1, int(sizes.sum()))))
    if len(file) > most:  # as far apart as they can be, so that no part of the file is left out
        stored = torch.arange(most) * len(file) // most
    dimensions = _dimensions(file, file.positions_of(stored), progress)
    return Survey(used.double() / file.block_size, file.sizes, dimensions, stored.numel())


def _dimensions(file: DTSFile, indices: Tensor, progress: bool | None) -> Tensor:
    found = []
    with Progress("looking into samples", indices.numel(), progress) as bar:
        for part in _parts(file.sizes[indices]):
            samples = file.read_many(indices[part])
            found.append(_probe(samples))
            bar.add(len(samples))
    return torch.cat(found) if found else torch.empty(0, 2, dtype=torch.int64)


def _parts(sizes: Tensor) -> list[slice]:
    """Neighbours whose bytes together are few enough to be read at once."""
    parts, first, total = [], 0, 0
    for i, size in enumerate(sizes.tolist()):
        if i > first and total + size > _READ_TOGETHER_BYTES:
            parts.append(slice(first, i))
            first, total = i, 0
        total += size
    if sizes.numel():
        parts.append(slice(first, sizes.numel()))
    return parts


def _probe(samples: list[memoryview]) -> Tensor:
    """Width and height of each sample that tells them."""
    sizes = torch.tensor([len(sample) for sample in samples])
    arena = torch.from_numpy(np.frombuffer(bytearray(b"".join(samples)), dtype=np.uint8))
    scanned = _native.scan_samples(arena, sizes.cumsum(0) - sizes, sizes)
    view = byte_view(arena)
    offset = 0
    for row, size in zip(scanned, sizes.tolist(), strict=True):
        if row[0] == 0:
            row[0], row[1], row[2] = _ask_pillow(view[offset : offset + size])
        offset += size
    return scanned[scanned[:, 0] == 1, 1:3]


def _ask_pillow(data: memoryview) -> tuple[int, int, int]:
    """1, width, height; zeros for what it can't read."""
    shape = raw_shape(data)
    if shape is not None:
        return 1, shape.width, shape.height
    try:
        with Image.open(io.BytesIO(data)) as image:
            return 1, image.width, image.height
    except Exception:  # its plugins raise all kinds
        return 0, 0, 0
