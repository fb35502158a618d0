# SPDX-License-Identifier: Apache-2.0
"""Reading .dts files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from torch_dts._native._call import Path, call, release, tensor
from torch_dts._paths import escape, unescape

STATEFUL_OPS = (
    "file_open",
    "file_close",
    "file_describe",
    "file_head",
    "file_section",
    "file_block_table",
    "file_sample_table",
    "file_labels",
    "file_check_unchanged",
    "read_blocks",
    "index_samples",
    "read_samples",
    "check_blocks",
    "file_crc",
    "crc32",
    "crc32_backend",
)


def file_open(paths: Path | Sequence[Path], ignore_sections: bool = False) -> int:
    """One file, or all volumes of a set in any order. The handle numbers volumes by volume_id."""
    files = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return int(call("file_open", "|".join(map(escape, files)), ignore_sections))


def file_close(handle: int) -> None:
    release("file_close", handle)


def file_describe(handle: int) -> dict[str, Any]:
    """header (a dict by field, of the whole set) and volumes, a list of dicts: path, header, sections
    (a list of dicts), file_bytes, index_room."""
    described: dict[str, Any] = json.loads(call("file_describe", handle))
    for volume in described["volumes"]:
        volume["path"] = unescape(volume["path"])
    return described


def file_head(handle: int, volume: int = 0) -> Tensor:
    """uint8: a volume's 144 header bytes, then its section table's (none: 144 bytes only)."""
    return tensor(call("file_head", handle, volume))


def file_section(handle: int, tag: str, volume: int = 0) -> Tensor | None:
    """uint8: a section's raw bytes, CRC checked; None when the volume has none of that tag."""
    try:
        return tensor(call("file_section", handle, volume, tag))
    except IndexError:
        return None


def file_block_table(handle: int) -> tuple[Tensor, Tensor]:
    """num_samples [num_blocks], crc32 [num_blocks] (-1: not known)."""
    num_samples, crc32s = call("file_block_table", handle)
    return num_samples, crc32s


def file_sample_table(handle: int) -> tuple[Tensor, Tensor, Tensor]:
    """By stored index: offset in its file, size in bytes, source index; each [num_samples]."""
    offsets, sizes, source_index = call("file_sample_table", handle)
    return offsets, sizes, source_index


def file_labels(handle: int) -> Tensor:
    """[num_samples] by source index."""
    return tensor(call("file_labels", handle))


def file_check_unchanged(handle: int) -> None:
    call("file_check_unchanged", handle)


def read_blocks(handle: int, block_ids: Tensor, out: Tensor, check: bool = True) -> None:
    """Fills `out` (uint8, len(block_ids) * block_size; CPU, pinned or CUDA) with whole blocks."""
    call("read_blocks", handle, block_ids, out, check)


def index_samples(handle: int, arena: Tensor, block_ids: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Block id, offset in the arena, size and label of each sample of the blocks in `arena`."""
    block, offsets, sizes, labels = call("index_samples", handle, arena, block_ids)
    return block, offsets, sizes, labels


def read_samples(handle: int, stored_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A new arena (uint8) with the samples, and the offset and size of each, in the order asked."""
    arena, offsets, sizes = call("read_samples", handle, stored_ids)
    return arena, offsets, sizes


def check_blocks(handle: int, block_ids: Tensor) -> tuple[Tensor, list[str]]:
    """CRC-32 of each block as it is on the disk, and what is wrong with it ("": nothing)."""
    crc32s, problems = call("check_blocks", handle, block_ids)
    return crc32s, problems.split("\n")[:-1]


def file_crc(handle: int, block_crcs: Tensor, volume: int = 0) -> int:
    """CRC-32 of a volume's [header_bytes, end of file) from its blocks' CRCs and what lies behind them."""
    return int(call("file_crc", handle, volume, block_crcs))


def crc32(data: Tensor) -> int:
    """zlib's CRC-32 of a uint8 tensor."""
    return int(call("crc32", data))


def crc32_backend() -> str:
    return str(call("crc32_backend"))
