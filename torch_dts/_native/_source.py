# SPDX-License-Identifier: Apache-2.0
"""Where a loader's samples come from, and the memory that loaders share.

A source numbers its samples from 0: a .dts file's by stored index, files and pixels in the order
given, joined sources one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts._native._call import Path, call, release, tensor
from torch_dts._paths import join_paths

STATEFUL_OPS = (
    "source_dts",
    "source_files",
    "source_pixels",
    "source_join",
    "source_info",
    "source_samples",
    "source_read",
    "source_keep",
    "source_close",
    "buffers_open",
    "buffers_close",
)


class SourceInfo(NamedTuple):
    """What a source is and how much of it is in memory.

    Attributes:
        num_samples: All of them.
        num_blocks, block_bytes: Of a .dts file; 0: samples are read singly.
        held_bytes: In memory, kept by the source itself.
        is_shared: Other processes of this user may have the same memory.
        is_complete: No read goes to the disk any more.
    """

    num_samples: int
    num_blocks: int
    block_bytes: int
    held_bytes: int
    is_shared: bool
    is_complete: bool


def source_dts(file: int, keep: int = 0) -> int:
    """The samples of an open .dts file, by stored index. Their indices are source indices.

    Args:
        file: Handle of file_open; it may be closed before the source is.
        keep: 0 nothing; 1 blocks that were read stay in memory; 2 in memory that all processes of
            this user share, where the system has such memory.
    """
    return int(call("source_dts", file, keep))


def source_files(paths: Tensor | Sequence[Path], labels: Tensor, keep: int = 0) -> int:
    """Encoded images, a file each.

    Args:
        paths: One per sample, or what torch_dts._paths.join_paths makes of them.
        labels: int64 [n].
        keep: 1: a file's bytes stay in memory after they are read first.
    """
    joined = paths if isinstance(paths, Tensor) else join_paths(paths)
    return int(call("source_files", joined, labels, keep))


def source_pixels(pixels: Tensor, labels: Tensor) -> int:
    """Images in memory; the tensor is used in place and held.

    Args:
        pixels: uint8 [n, H, W] or [n, H, W, C].
        labels: int64 [n].
    """
    return int(call("source_pixels", pixels, labels))


def source_join(sources: Sequence[int]) -> int:
    """Several sources one behind the other; a sample's index is its position in the whole.

    They may be closed before the new one is.
    """
    return int(call("source_join", list(sources)))


def source_info(source: int) -> SourceInfo:
    num_samples, num_blocks, block_bytes, held, shared, complete = tensor(
        call("source_info", source)
    ).tolist()
    return SourceInfo(num_samples, num_blocks, block_bytes, held, bool(shared), bool(complete))


def source_samples(source: int, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Of each sample: label, and index for its random choices; int64 [n] each."""
    labels, indices = call("source_samples", source, samples)
    return labels, indices


def source_read(source: int, samples: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Copies of samples, as run_plan takes them.

    Returns:
        arena, uint8; offsets and sizes, int64 [n], the places in it (size -1: a file that can't
        be read); shapes, int64 [n, 3]: height, width, channels of pixels, or 0, 0, 0 for an
        encoded image.
    """
    arena, offsets, sizes, shapes = call("source_read", source, samples)
    return arena, offsets, sizes, shapes


def source_keep(source: int, num_blocks: int | None = None, check: bool = True) -> int:
    """Reads up to `num_blocks` (None: all) more blocks of what the source keeps.

    Returns:
        The number of blocks read. Blocks that others have begun to read are left to them.
    """
    limit = torch.iinfo(torch.int64).max if num_blocks is None else num_blocks
    return int(call("source_keep", source, limit, check))


def source_close(source: int) -> None:
    release("source_close", source)


def buffers_open() -> int:
    """The memory for groups of blocks that several loaders may use in turn."""
    return int(call("buffers_open"))


def buffers_close(buffers: int) -> None:
    release("buffers_close", buffers)
