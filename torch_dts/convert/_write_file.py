# SPDX-License-Identifier: Apache-2.0
"""Plan and bytes -> one .dts file under its final name, or nothing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from torch import Tensor

from torch_dts import _native
from torch_dts._progress import Progress
from torch_dts.convert import _metadata
from torch_dts.convert._folder import is_val_name
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import BlockPlan, FinishedBlocks, Totals, write_blocks
from torch_dts.convert._samples import Samples
from torch_dts.convert._stats import Normalization, PixelStats

# Of the header area, for sections: less what lies in front of them, their table and its gaps.
_HEADER_ROOM = (16 << 20) - 8192


@dataclass(frozen=True)
class FileFacts:
    """What header and INFO say beside the blocks themselves."""

    level: int
    is_val: bool
    max_area: int
    """Largest width * height known before writing; 0: only what the blocks show."""
    source_bytes: int
    """Bytes of the samples in the source, for compression_ratio."""
    info: bytes
    """INFO section."""
    compat: bool = False
    """Sections that don't fit the header area are left out: first readers take blocks up to the end."""
    has_raw: bool = False
    """Some samples may be pixels ("DTSR")."""


def is_val_split(split: str | None, samples: Samples) -> bool:
    """Whether the set is for validation: as asked, else by what the source says."""
    if split is not None:
        return split == "val"
    return samples.says_val or samples.are_all_val or (samples.root is not None and is_val_name(samples.root))


class FileWriter:
    """A file on its way: written, sealed, published. Left before the last, as a context, it leaves
    nothing, unless it is to be resumed.

    Args:
        ranks: int64 ``[n]``: of a volume, the rank in the whole set of each sample of `kept`.
        volume: Its number and how many there are.
        is_resumed: Take over the partial file that is there, if any, and leave it there on failure.

    Raises:
        OSError: There is no place for the file.
    """

    def __init__(
        self,
        target: str,
        kept: Kept,
        plan: BlockPlan,
        facts: FileFacts,
        *,
        overwrite: bool,
        volume: tuple[int, int] = (0, 1),
        ranks: Tensor | None = None,
        is_resumed: bool = False,
    ) -> None:
        self._kept = kept
        self._plan = plan
        self._facts = facts
        self._ranks = ranks
        self._max_area = facts.max_area
        self._writer = _native.writer_open(
            target,
            overwrite=overwrite,
            level=facts.level,
            is_training=not facts.is_val,
            num_classes=len(kept.samples.classes),
            num_blocks=plan.num_blocks,
            block_size=plan.block_size,
            block_header_size=plan.block_header_size,
            has_raw=facts.has_raw,
            resume=is_resumed,
            num_volumes=volume[1],
            volume_id=volume[0],
        )

    def write(
        self,
        num_workers: int,
        bar: Progress,
        finished: FinishedBlocks | None = None,
        stats: PixelStats | None = None,
    ) -> Totals:
        """Writes blocks and sections.

        Args:
            bar, finished, stats: As for `write_blocks`.

        Raises:
            OSError: A source can't be read, or the disk is full.
            CorruptFileError: A source file changed since it was listed.
        """
        facts = self._facts
        totals = write_blocks(
            self._writer, self._plan, self._kept, num_workers, bar, facts.level, finished, stats
        )
        _add_sections(self._writer, self._kept, self._plan, facts, self._ranks)
        self._max_area = min(max(facts.max_area, totals.max_area), (1 << 32) - 1)
        return totals

    def normalize(self, normalization: Normalization) -> None:
        """Mean and std for the header, before `seal`."""
        _native.writer_set_normalization(self._writer, *normalization)

    def seal(self, total_blocks: int = 0) -> None:
        """Writes the header and flushes all to the disk.

        Args:
            total_blocks: Blocks of the whole set; 0: not known.
        """
        _native.writer_seal(self._writer, self._max_area, self._facts.source_bytes, total_blocks)

    def publish(self) -> None:
        """The file gets its name."""
        _native.writer_publish(self._writer)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        # Unknown by now where it was published; then the file stays, whole.
        with contextlib.suppress(ValueError):
            _native.writer_abort(self._writer)


def _add_sections(
    writer: int, kept: Kept, plan: BlockPlan, facts: FileFacts, ranks: Tensor | None = None
) -> None:
    samples = kept.samples
    labels, raw_bytes = _metadata.encode_labels(kept.labels)
    names = samples.names
    if len(kept) != len(samples):
        names = [names[i] for i in kept.numbers.tolist()]
    classes, paths = _metadata.encode_classes(samples.classes), _metadata.encode_paths(names)
    order = _metadata.encode_order(plan.order if ranks is None else ranks[plan.order])
    room = _HEADER_ROOM - 12 * plan.num_blocks - 4 * len(kept)  # less the writer's own sections

    def fits(*payloads: bytes) -> bool:
        """Whether these go behind the others; takes their room if so."""
        nonlocal room
        if facts.compat and sum(map(_aligned, payloads)) > room:
            return False
        room -= sum(map(_aligned, payloads))
        return True

    if fits(facts.info):
        _native.writer_add_section(writer, "INFO", facts.info)
    if fits(classes):
        _native.writer_add_section(writer, "CLSS", classes)
    if fits(labels, order):  # labels go by source index, which only the order tells
        _native.writer_add_section(writer, "LABL", labels, flags=_metadata.SECTION_ZLIB, raw_bytes=raw_bytes)
        _native.writer_add_section(writer, "ORDR", order)
        if fits(paths):
            _native.writer_add_section(writer, "PATH", paths)


def _aligned(payload: bytes) -> int:
    return (len(payload) + 63) // 64 * 64
