# SPDX-License-Identifier: Apache-2.0
"""Writes a file, the volumes of a set, or one of them: each is packed and written as a file of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from torch_dts._progress import Progress
from torch_dts.convert._journal import Journal
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import BlockPlan, FinishedBlocks, Totals, finished_blocks
from torch_dts.convert._publish import publish_files
from torch_dts.convert._stats import PixelStats
from torch_dts.convert._volumes import Volume
from torch_dts.convert._write_file import FileFacts, FileWriter


@dataclass(frozen=True)
class Part:
    """What goes into one file."""

    volume: Volume
    kept: Kept
    ranks: Tensor | None
    """int64 [n]: of a volume, the rank in the whole set of each sample of `kept`."""
    plan: BlockPlan
    facts: FileFacts

    @property
    def room_bytes(self) -> int:
        """Bytes of the blocks that hold neither index nor sample."""
        return self.plan.room_bytes(self.kept.sizes)


def write_volumes(
    parts: Sequence[Part],
    *,
    overwrite: bool,
    num_workers: int,
    progress: bool | None,
    has_stats: bool = False,
    journal: Journal | None = None,
) -> Totals:
    """Writes files that appear together, when all of them are complete.

    Args:
        parts: One file, all volumes of a set, or one of them.
        has_stats: Write mean and std of the pixels of all parts into the header of each.
        journal: Keeps the partial files on failure, and their finished blocks for the next run.

    Raises:
        OSError: A source can't be read, or the disk is full.
        CorruptFileError: A source file changed since it was listed.
    """
    count = parts[0].volume.count
    totals = Totals()
    stats = PixelStats() if has_stats else None
    with contextlib.ExitStack() as stack:
        # All are opened first: each asks for its room on the disk, before hours of work.
        files = [
            stack.enter_context(
                FileWriter(
                    part.volume.path,
                    part.kept,
                    part.plan,
                    part.facts,
                    overwrite=overwrite,
                    volume=(part.volume.number, count),
                    ranks=part.ranks,
                    is_resumed=journal is not None,
                )
            )
            for part in parts
        ]
        finished: Sequence[FinishedBlocks | None] = [None] * len(parts)
        if journal is not None:
            finished = finished_blocks(journal, [(part.plan, part.kept) for part in parts])
        num_bytes = sum(int(part.kept.sizes.sum()) for part in parts)
        with Progress("writing", num_bytes, progress, is_bytes=True) as bar:
            for file, own in zip(files, finished, strict=True):
                totals = totals.joined(file.write(num_workers, bar, own, stats))
        normalization = None if stats is None else stats.finish()
        total_blocks = sum(part.plan.num_blocks for part in parts) if len(parts) == count else 0
        for file in files:
            if normalization is not None:
                file.normalize(normalization)
            file.seal(total_blocks)
        publish_files([part.volume.path for part in parts], files, journal)
    return totals
