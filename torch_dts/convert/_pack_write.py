# SPDX-License-Identifier: Apache-2.0
"""Packing -> blocks -> writer.

    sizes -> plan_blocks -> BlockPlan -> [thread: read samples, scan, index, CRC, write] -> Totals

Each thread owns one arena of block_size bytes; nothing else grows with the data.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._parallel import map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts.convert._journal import Journal
from torch_dts.convert._kept import Kept
from torch_dts.convert._room import MIN_BLOCK_HEADER_BYTES, Room
from torch_dts.convert._stats import PixelStats

ALIGNMENT = 64


@dataclass(frozen=True)
class BlockPlan:
    """Which sample lies in which block."""

    order: Tensor
    """int64 [n] sample (rank among those kept) by stored index."""
    first: list[int]
    """[num_blocks + 1] stored index of each block's first sample."""
    block_size: int
    block_header_size: int

    @property
    def num_blocks(self) -> int:
        return len(self.first) - 1

    def room_bytes(self, sizes: Tensor) -> int:
        """Bytes of the blocks that hold neither index nor sample."""
        capacity = self.block_size - self.block_header_size
        return self.num_blocks * capacity - int(_padded(sizes).sum())

    def digest(self, kept: Kept) -> bytes:
        """SHA-256 of which sample lies where: two equal plans make equal blocks."""
        digest = hashlib.sha256(f"{self.block_size} {self.block_header_size}".encode())
        for column in (self.order, torch.tensor(self.first), kept.numbers, kept.sizes, kept.labels):
            digest.update(column.contiguous().numpy().tobytes())
        return digest.digest()


@dataclass
class Totals:
    """What the copied bytes told."""

    max_area: int = 0
    num_missing_eoi: int = 0
    num_resumed: int = 0
    """Blocks taken over from an interrupted run."""

    def joined(self, other: Totals) -> Totals:
        """Those of two files."""
        return Totals(
            max(self.max_area, other.max_area),
            self.num_missing_eoi + other.num_missing_eoi,
            self.num_resumed + other.num_resumed,
        )


def plan_blocks(kept: Kept, block_size: int, order: str, seed: int, level: int = 0) -> BlockPlan:
    """Distributes the samples over blocks.

    Raises:
        ValueError: A sample is larger than a block can hold; names it and what makes room.
    """
    min_header_size = MIN_BLOCK_HEADER_BYTES[level]
    refuse_too_large(kept, Room(block_size, min_header_size))
    stored_order, counts, block_header_size = _native.pack_samples(
        kept.sizes,
        block_size=block_size,
        min_block_header_size=min_header_size,
        shuffled=order == "shuffled",
        seed=seed,
    )
    first = [0, *torch.cumsum(counts, 0).tolist()]
    return BlockPlan(stored_order, first, block_size, block_header_size)


def write_blocks(
    writer: int,
    plan: BlockPlan,
    kept: Kept,
    num_workers: int,
    bar: Progress,
    level: int = 0,
    finished: FinishedBlocks | None = None,
    stats: PixelStats | None = None,
) -> Totals:
    """Copies all samples into blocks and gives them to the writer.

    Args:
        bar: Counts the bytes of the samples.
        finished: Knows the blocks that an earlier run has left in the partial file, and gets the
            others. The writer is a resumed one then.
        stats: Gets the pixels of all samples.

    Raises:
        OSError: A source can't be read, or the disk is full.
        CorruptFileError: A source file changed its size since it was listed.
    """
    totals = Totals()
    fill = _BlockFiller(writer, plan, kept, level, {} if finished is None else finished.blocks, stats)
    num_threads = min(num_workers, plan.num_blocks)
    for block_id, done in map_in_order(fill.write_block, range(plan.num_blocks), num_threads):
        facts, is_adopted = done
        totals.num_resumed += is_adopted
        if finished is not None and not is_adopted:
            finished.add(block_id, facts)
        _, num_bytes, max_area, num_missing_eoi = facts
        totals.max_area = max(totals.max_area, max_area)
        totals.num_missing_eoi += num_missing_eoi
        bar.add(num_bytes)
    return totals


@dataclass(frozen=True)
class FinishedBlocks:
    """What a journal knows of one file's blocks."""

    journal: Journal
    first: int
    """The journal's number of the file's first block."""
    blocks: dict[int, list[int]]
    """Finished ones by number in the file (see `Journal.begin_blocks`)."""

    def add(self, block_id: int, facts: list[int]) -> None:
        """A block that is whole in the partial file."""
        self.journal.add_block(self.first + block_id, facts)


def finished_blocks(journal: Journal, plans: Sequence[tuple[BlockPlan, Kept]]) -> list[FinishedBlocks]:
    """What a journal knows of the blocks of each file of a set."""
    digests = [plan.digest(kept) for plan, kept in plans]
    whole = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()
    known = journal.begin_blocks(whole)
    found, first = [], 0
    for plan, _ in plans:
        end = first + plan.num_blocks
        own = {block_id - first: facts for block_id, facts in known.items() if first <= block_id < end}
        found.append(FinishedBlocks(journal, first, own))
        first = end
    return found


class _BlockFiller:
    """Fills and writes one block at a time on each thread that calls it."""

    def __init__(
        self,
        writer: int,
        plan: BlockPlan,
        kept: Kept,
        level: int,
        finished: dict[int, list[int]],
        stats: PixelStats | None,
    ) -> None:
        self._writer = writer
        self._plan = plan
        self._kept = kept
        self._level = level
        self._finished = finished
        self._stats = stats
        self._own = threading.local()

    def write_block(self, block_id: int) -> tuple[list[int], bool]:
        """Writes a block, unless an earlier run has.

        Returns:
            Its CRC-32, its sample bytes, its largest area and its JPEGs without EOI; whether it
            was there already.
        """
        plan, kept = self._plan, self._kept
        chosen = plan.order[plan.first[block_id] : plan.first[block_id + 1]]
        sizes = kept.sizes[chosen]
        arena = self._arena()
        facts = self._finished.get(block_id)
        padded = _padded(sizes)
        offsets = torch.cumsum(padded, 0) - padded + plan.block_header_size
        if facts is not None and _native.writer_adopt_block(self._writer, block_id, facts[0], sizes, arena):
            self._add_pixels(arena, offsets, sizes)  # the block was read to be checked
            return facts, True
        kept.read_into(chosen, offsets, sizes, arena)
        self._add_pixels(arena, offsets, sizes)
        scanned = _native.scan_samples(arena, offsets, sizes)
        is_jpeg = scanned[:, 0] == 1
        max_area = int((scanned[:, 1] * scanned[:, 2] * is_jpeg).max())
        num_missing_eoi = int((is_jpeg & (scanned[:, 3] == 0)).sum())
        labels = kept.labels[chosen]
        crc = _native.finish_block(arena, self._level, block_id, plan.block_header_size, sizes, labels)
        _native.writer_write_block(self._writer, block_id, arena, crc, sizes)
        return [crc, int(sizes.sum()), max_area, num_missing_eoi], False

    def _add_pixels(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> None:
        if self._stats is not None:
            self._stats.add_samples(arena, offsets, sizes)

    def _arena(self) -> Tensor:
        arena: Tensor | None = getattr(self._own, "arena", None)
        if arena is None:
            arena = self._own.arena = torch.empty(self._plan.block_size, dtype=torch.uint8)
        return arena


def _padded(sizes: Tensor) -> Tensor:
    return (sizes + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def refuse_too_large(kept: Kept, room: Room) -> None:
    """Raises ValueError for a sample that no block holds; names it and what makes room."""
    if not room.too_large(kept.sizes):
        return
    at = int(kept.sizes.argmax())
    number, size = int(kept.numbers[at]), int(kept.sizes[at])
    path = display(kept.samples.path_of(number))
    raise ValueError(f"{path} (sample {number}): {room.reason(size)}; {room.advice([size])}")
