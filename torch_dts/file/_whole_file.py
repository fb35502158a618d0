# SPDX-License-Identifier: Apache-2.0
"""The CRC-32 of a whole file, block by block in threads."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._parallel import check_num_workers, map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts.file._header import Header
from torch_dts.file._volumes import Volume, volume_of_block


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


def require_blocks(handle: int, volumes: Sequence[Volume], block_ids: Tensor) -> None:
    """Reads blocks one by one and compares their CRC-32 and index.

    Args:
        volumes: The files of the handle.
        block_ids: Numbers in the whole set.

    Raises:
        CorruptFileError: The first block that is wrong.
        OSError: The disk can't be read.
    """
    for block_id in block_ids.tolist():
        _, problem = check_block(handle, block_id)
        if problem:
            raise _block_error(volumes, block_id, problem)


def check_whole_file(handle: int, volumes: Sequence[Volume], num_workers: int | None = None) -> None:
    """Reads all files once and compares every CRC-32 that they hold.

    Raises:
        CorruptFileError: The first block that is wrong, else a file's CRC-32.
        OSError: The disk can't be read.
    """
    crcs: list[int] = []
    num_blocks = sum(volume.header.num_blocks for volume in volumes if volume.header.has_blocks)
    workers = check_num_workers(num_workers)
    text = f"checking {display(os.path.basename(volumes[0].path))}"
    block_size = volumes[0].header.block_size
    shown = None if num_blocks else False  # the bytes of a pixel file are read by one call
    with Progress(text, num_blocks * block_size, shown, is_bytes=True) as bar:
        for block_id, (crc, problem) in map_in_order(
            lambda block_id: check_block(handle, block_id), range(num_blocks), workers
        ):
            if problem:
                raise _block_error(volumes, block_id, problem)
            crcs.append(crc)
            bar.add(block_size)
    all_crcs = torch.tensor(crcs, dtype=torch.int64, device="cpu")
    for volume in volumes:
        end = volume.first_block + volume.header.num_blocks
        found = _native.file_crc(handle, all_crcs[volume.first_block : end], volume.number)
        _native.file_check_unchanged(handle)
        if found != volume.header.crc_code:
            raise CorruptFileError(volume.path, None, crc_problem(found, volume.header.crc_code))


def _block_error(volumes: Sequence[Volume], block_id: int, problem: str) -> CorruptFileError:
    volume = volume_of_block(volumes, block_id)
    return CorruptFileError(volume.path, volume.block_offset(block_id), problem)


def crc_problem(found: int, expected: int) -> str:
    """What to say when the CRC-32 of the whole file is wrong."""
    return f"the CRC-32 of the whole file is {found:#010x}, the header says {expected:#010x}"


def files_identity(volumes: Sequence[Volume]) -> tuple[int, ...]:
    """What tells two states of files apart: device, inode, size and time; () where one is not there."""
    try:
        states = [os.stat(volume.absolute_path) for volume in volumes]
    except OSError:
        return ()
    return tuple(n for s in states for n in (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns))
