# SPDX-License-Identifier: Apache-2.0
"""The CRC-32 of a whole file, block by block in threads."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._parallel import check_num_workers, map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts.file._header import Header


def check_block(handle: int, block_id: int) -> tuple[int, str]:
    """A block's CRC-32 as it is on the disk, and what is wrong with the block ("": nothing)."""
    crcs, problems = _native.check_blocks(handle, torch.tensor([block_id], device="cpu"))
    return int(crcs[0]), problems[0]


def require_kind(header: Header, path: str, *, has_blocks: bool) -> None:
    """Refuses a pixel file where blocks are wanted, and a file of blocks where pixels are.

    Raises:
        ValueError: The file is of the other kind.
    """
    if header.has_blocks == has_blocks:
        return
    if has_blocks:
        raise ValueError(
            f"{display(path)} is a pixel file ({header.dataset_type}): it has no blocks; its samples are "
            "in `pixels` and `labels`"
        )
    raise ValueError(
        f"{display(path)} is a file of encoded images in blocks: it has no pixels to read at once"
    )


def require_blocks(handle: int, header: Header, path: str, block_ids: Tensor) -> None:
    """Reads blocks one by one and compares their CRC-32 and index.

    Raises:
        CorruptFileError: The first block that is wrong.
        OSError: The disk can't be read.
    """
    for block_id in block_ids.tolist():
        _, problem = check_block(handle, block_id)
        if problem:
            raise CorruptFileError(path, _block_offset(header, block_id), problem)


def check_whole_file(handle: int, header: Header, path: str, num_workers: int | None = None) -> None:
    """Reads the whole file once and compares every CRC-32 that it holds.

    Raises:
        CorruptFileError: The first block that is wrong, else the file's CRC-32.
        OSError: The disk can't be read.
    """
    crcs: list[int] = []
    num_blocks = header.num_blocks if header.has_blocks else 0
    workers = check_num_workers(num_workers)
    text = f"checking {display(os.path.basename(path))}"
    shown = None if num_blocks else False  # the bytes of a pixel file are read by one call
    with Progress(text, num_blocks * header.block_size, shown, is_bytes=True) as bar:
        for block_id, (crc, problem) in map_in_order(
            lambda block_id: check_block(handle, block_id), range(num_blocks), workers
        ):
            if problem:
                raise CorruptFileError(path, _block_offset(header, block_id), problem)
            crcs.append(crc)
            bar.add(header.block_size)
    found = _native.file_crc(handle, torch.tensor(crcs, dtype=torch.int64, device="cpu"))
    _native.file_check_unchanged(handle)
    if found != header.crc_code:
        raise CorruptFileError(path, None, crc_problem(found, header.crc_code))


def _block_offset(header: Header, block_id: int) -> int:
    return header.header_bytes + block_id * header.block_size


def crc_problem(found: int, expected: int) -> str:
    """What to say when the CRC-32 of the whole file is wrong."""
    return f"the CRC-32 of the whole file is {found:#010x}, the header says {expected:#010x}"


def file_identity(path: str) -> tuple[int, ...]:
    """What tells two states of a file apart: device, inode, size and time; () where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return ()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
