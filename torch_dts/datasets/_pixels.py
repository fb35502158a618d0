# SPDX-License-Identifier: Apache-2.0
"""Samples of pixel files, which are read whole and stay in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._rest import remaining_groups
from torch_dts.datasets._shares import RankShare
from torch_dts.file import DTSFile
from torch_dts.file._names import check_position


def load_pixels(file: DTSFile) -> None:
    """Reads the pixels of a pixel file now, so that processes forked later share them.

    Raises:
        CorruptFileError: The CRC-32 is wrong, or the file changed.
    """
    if not file.header.has_blocks:
        _ = file.pixels


def read_sample(file: DTSFile, index: int) -> memoryview:
    """`DTSFile.read`, from memory where the file is a pixel file."""
    if file.header.has_blocks:
        return file.read(index)
    # A copy: who gets it may write to it.
    return memoryview(bytearray(file.pixels.numpy()[check_position(index, len(file))].tobytes()))


def read_samples(file: DTSFile, indices: Sequence[int]) -> list[memoryview]:
    """`DTSFile.read_many`, from memory where the file is a pixel file."""
    if file.header.has_blocks:
        return file.read_many(indices)
    return [read_sample(file, index) for index in indices]


def share_of_epoch(
    num_samples: int, order: EpochOrder, share: Share, rank_share: RankShare | None = None
) -> Iterator[int]:
    """The samples of a pixel file that a worker takes of an epoch, in order.

    Data without blocks are shuffled uniformly, whatever the order's window is
    (docs/format.md section 5).
    """
    position = 0
    one_block = torch.tensor([num_samples], dtype=torch.int64, device="cpu")
    for stored_ids, *_ in remaining_groups(one_block, replace(order, shuffle_window=0), rank_share):
        taken = stored_ids[share.of(position, stored_ids.numel())]
        position += stored_ids.numel()
        yield from taken.tolist()
