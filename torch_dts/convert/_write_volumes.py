# SPDX-License-Identifier: Apache-2.0
"""Writes a file, the volumes of a set, or one of them: each is packed and written as a file of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from torch_dts.convert._journal import Journal
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import BlockPlan, Totals
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
    journal: Journal | None = None,
) -> Totals:
    """Writes files that appear together, when all of them are complete.

    Args:
        parts: One file, all volumes of a set, or one of them.
        journal: As for `write_file`; of one file only.

    Raises:
        OSError, CorruptFileError: As `write_file`.
    """
    count = parts[0].volume.count
    totals = Totals()
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
                    journal=journal,
                )
            )
            for part in parts
        ]
        for file in files:
            totals = totals.joined(file.write(num_workers, progress))
        total_blocks = sum(part.plan.num_blocks for part in parts) if len(parts) == count else 0
        for file in files:
            file.seal(total_blocks)
        _publish(parts, files)
    return totals


def _publish(parts: Sequence[Part], files: Sequence[FileWriter]) -> None:
    """All files get their names, or none keeps one: the first volume last, as it opens the set."""
    done: list[str] = []
    try:
        for part, file in reversed(list(zip(parts, files, strict=True))):
            file.publish()
            done.append(part.volume.path)
    except BaseException:
        for path in done:
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise
