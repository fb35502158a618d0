# SPDX-License-Identifier: Apache-2.0
"""Writing .dts files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from torch_dts._native._call import Path, call, release
from torch_dts._paths import escape, join_paths

STATEFUL_OPS = (
    "finish_block",
    "read_files_into",
    "writer_open",
    "writer_write_block",
    "writer_adopt_block",
    "writer_add_section",
    "writer_set_normalization",
    "writer_seal",
    "writer_publish",
    "writer_abort",
)


def finish_block(
    arena: Tensor, level: int, block_id: int, block_header_size: int, sizes: Tensor, labels: Tensor
) -> int:
    """Writes the index into a block whose samples are in place, zeros the gaps; the block's CRC-32."""
    return int(call("finish_block", arena, level, block_id, block_header_size, sizes, labels))


def read_files_into(paths: Sequence[Path], offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
    """Reads whole files to their places; CorruptFileError when one has another size by now."""
    call("read_files_into", join_paths(paths), offsets, sizes, arena)


def writer_open(
    path: Path,
    *,
    overwrite: bool,
    level: int,
    is_training: int,
    num_classes: int,
    num_blocks: int,
    block_size: int,
    block_header_size: int,
    has_raw: bool = False,
    resume: bool = False,
    num_volumes: int = 1,
    volume_id: int = 0,
) -> int:
    """A writer handle; the file is `<path>.partial` until writer_publish.

    Args:
        has_raw: Some samples may be pixels ("DTSR"): the file is of version 3.1.
        resume: The partial file keeps its blocks, for writer_adopt_block, and outlives the writer.
    """
    return int(
        call(
            "writer_open",
            escape(path),
            overwrite,
            level,
            is_training,
            num_classes,
            num_blocks,
            block_size,
            block_header_size,
            has_raw,
            resume,
            num_volumes,
            volume_id,
        )
    )


def writer_write_block(writer: int, block_id: int, arena: Tensor, crc: int, sizes: Tensor) -> None:
    """Thread-safe; blocks in any order, each once."""
    call("writer_write_block", writer, block_id, arena, crc, sizes)


def writer_adopt_block(writer: int, block_id: int, crc: int, sizes: Tensor, scratch: Tensor) -> bool:
    """Takes over a block of the resumed partial file; False when it is not one of this CRC-32.

    Args:
        scratch: uint8 [block_size], overwritten; the block, where it is taken over.
    """
    return bool(call("writer_adopt_block", writer, block_id, crc, sizes, scratch))


def writer_add_section(
    writer: int, tag: str, payload: bytes | Tensor, flags: int = 0, raw_bytes: int | None = None
) -> None:
    if not isinstance(payload, Tensor):
        payload = torch.from_numpy(np.frombuffer(bytearray(payload), dtype=np.uint8))
    call(
        "writer_add_section", writer, tag, payload, flags, payload.numel() if raw_bytes is None else raw_bytes
    )


def writer_set_normalization(writer: int, mean: Tensor, std: Tensor) -> None:
    """Mean and standard deviation of the set's pixels for the header, float32 [3], in 0 to 1."""
    call("writer_set_normalization", writer, mean, std)


def writer_seal(writer: int, max_pic_area: int, source_bytes: int, total_blocks: int = 0) -> None:
    """Lays out sections and header and flushes all to the disk; the file has no name yet.

    Args:
        total_blocks: Of all volumes; 0: the number is not known, its own stands for it.
    """
    call("writer_seal", writer, max_pic_area, source_bytes, total_blocks)


def writer_publish(writer: int) -> None:
    """Gives a sealed file its name; the handle is gone then."""
    call("writer_publish", writer)


def writer_abort(writer: int) -> None:
    """Gives up; removes the partial file unless the writer was opened with `resume`."""
    release("writer_abort", writer)
