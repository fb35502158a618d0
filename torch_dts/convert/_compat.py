# SPDX-License-Identifier: Apache-2.0
"""compat=True: order and packing of the exporter that defined the format (docs/convert.md).

It numbers samples by file name and packs with Python's Mersenne Twister. What it fails on
(it takes from an empty list, or writes more samples than an index holds) is packed our way,
within what its readers take.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

import torch

from torch_dts import _native
from torch_dts.convert._folder import folder_root, is_path, is_val_name
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import BlockPlan, refuse_too_large
from torch_dts.convert._room import MIN_BLOCK_HEADER_BYTES, Room

BLOCK_SIZE = 16 << 20
# Samples a block that the format's first readers take, by level.
MOST_SAMPLES = (340, 1000, 1000, 1000)
# Blocks that its exporter starts from, by the number of samples of ImageNet-1k.
_MIN_BLOCKS = {1_281_167: 8700, 50_000: 400}
_ALIGNMENT = 64
_SEED = 42
_ROUNDS = 32

Blocks = list[list[int]]


def file_name(level: int, is_val: bool) -> str:
    """The name that its readers look for."""
    return f"imagenet_{'val' if is_val else 'train'}_lv{level}.dts"


def compat_path(path: Any, source: Any, level: int, split: str | None) -> Any:
    """The file to write for a `path` that is None or a folder; any other `path` as it is.

    Raises:
        ValueError: Nothing says whether the set is for training.
    """
    folder = os.path.expanduser(os.fsdecode(path)) if is_path(path) else None
    if path is not None and (folder is None or not os.path.isdir(folder)):
        return path
    root = folder_root(source)
    if root is None and (split is None or folder is None):
        raise ValueError(
            "compat=True needs split='train' or 'val' for the file's name, and the folder to write to, where "
            "the source is not a folder of images"
        )
    if folder is None:
        folder = os.path.dirname(os.path.abspath(str(root)))
    is_val = split == "val" if split is not None else is_val_name(str(root))
    return os.path.join(folder, file_name(level, is_val))


def plan_compat(kept: Kept, level: int, min_blocks: int | None) -> tuple[BlockPlan, str]:
    """Samples over blocks in its order.

    Args:
        min_blocks: Blocks to start from at level 0; None: those of ImageNet-1k, else a number that
            suits the set.

    Returns:
        The plan, and why it is not the exporter's own ("": it is).

    Raises:
        ValueError: A sample is larger than a block can hold.
    """
    header_bytes = MIN_BLOCK_HEADER_BYTES[level]
    refuse_too_large(kept, Room(BLOCK_SIZE, header_bytes, is_fixed=True))
    names = [os.path.basename(kept.samples.names[number]) for number in kept.numbers.tolist()]
    ranks = sorted(range(len(names)), key=names.__getitem__)  # sample ids, the sort is stable
    aligned = [-(-size // _ALIGNMENT) * _ALIGNMENT for size in kept.sizes[torch.tensor(ranks)].tolist()]
    room = BLOCK_SIZE - header_bytes
    most = MOST_SAMPLES[level]
    why = f"its own puts more than {most} samples into a block, which its readers refuse"
    if level:
        blocks = next_fit(aligned, room)
        if max(map(len, blocks)) <= most:
            why = ""
        else:
            blocks = next_fit(aligned, room, most)
    else:
        start = min_blocks or _MIN_BLOCKS.get(len(aligned)) or _suitable(sum(aligned), room)
        try:
            blocks = pack_tightly(aligned, room, start)
            if max(map(len, blocks)) <= most:
                why = ""
        except IndexError:
            why = f"its own fails on this set with min_blocks={start}"
        if why:
            return _pack_our_way(kept, header_bytes), why
    order = torch.tensor([ranks[sample] for block in blocks for sample in block], dtype=torch.int64)
    first = [0, *torch.cumsum(torch.tensor([len(block) for block in blocks]), 0).tolist()]
    return BlockPlan(order, first, BLOCK_SIZE, header_bytes), why


def next_fit(aligned: Sequence[int], room: int, most: int | None = None) -> Blocks:
    """Levels 1 to 3: shuffled once, then each block takes the next samples that fit (`most` at most)."""
    samples = list(range(len(aligned)))
    random.Random(_SEED).shuffle(samples)
    blocks: Blocks = []
    left = 0
    for sample in samples:
        if not blocks or aligned[sample] > left or len(blocks[-1]) == most:
            blocks.append([])
            left = room
        blocks[-1].append(sample)
        left -= aligned[sample]
    return blocks


def pack_tightly(aligned: Sequence[int], room: int, min_blocks: int) -> Blocks:
    """Level 0: large samples first, then random ones, then the gaps with small ones.

    Raises:
        IndexError: The samples run out too early; the exporter itself fails then.
    """
    rest = [[sample, size] for sample, size in enumerate(aligned)]
    rest.sort(key=lambda each: each[1])
    blocks: list[list[list[int]]] = [[rest.pop()] for _ in range(min_blocks)]
    left = [room - block[0][1] for block in blocks]

    random.Random(_SEED).shuffle(rest)
    for at, block in enumerate(blocks):
        while rest[-1][1] <= left[at]:
            left[at] -= rest[-1][1]
            block.append(rest.pop())

    for _ in range(_ROUNDS):
        pairs = sorted(zip(left, blocks, strict=True))
        left, blocks = [each for each, _ in pairs], [block for _, block in pairs]
        rest.sort(key=lambda each: each[1], reverse=True)
        for at, block in enumerate(blocks):
            if rest[-1][1] <= left[at]:
                left[at] -= rest[-1][1]
                block.append(rest.pop())

    random.Random(_SEED).shuffle(rest)
    at = min_blocks - 1
    while rest:
        if rest[-1][1] > left[at]:
            blocks.append([])
            left.append(room)
            at += 1
        left[at] -= rest[-1][1]
        blocks[at].append(rest.pop())
    return [[sample for sample, _ in block] for block in blocks]


def _pack_our_way(kept: Kept, header_bytes: int) -> BlockPlan:
    order, counts, _ = _native.pack_samples(kept.sizes, block_size=BLOCK_SIZE, block_header_size=header_bytes)
    return BlockPlan(order, [0, *torch.cumsum(counts, 0).tolist()], BLOCK_SIZE, header_bytes)


def _suitable(num_bytes: int, room: int) -> int:
    """A few blocks fewer than needed, as 8700 of 8768: the samples must outlast the gaps."""
    return max(1, num_bytes * 99 // (100 * room))
