# SPDX-License-Identifier: Apache-2.0
"""Plan and bytes -> one .dts file under its final name, or nothing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from torch_dts import _native
from torch_dts.convert import _metadata
from torch_dts.convert._folder import is_val_name
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import BlockPlan, Totals, write_blocks
from torch_dts.convert._samples import Samples


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


def is_val_split(split: str | None, samples: Samples) -> bool:
    """Whether the set is for validation: as asked, else by what the source says."""
    if split is not None:
        return split == "val"
    return samples.says_val or samples.are_all_val or (samples.root is not None and is_val_name(samples.root))


def write_file(
    target: str,
    kept: Kept,
    plan: BlockPlan,
    facts: FileFacts,
    *,
    overwrite: bool,
    num_workers: int,
    progress: bool | None,
) -> Totals:
    """Writes blocks, sections and header; the file appears under its name when it is complete.

    Raises:
        OSError: A source can't be read, or the disk is full.
        CorruptFileError: A source file changed since it was listed.
    """
    writer = _native.writer_open(
        target,
        overwrite=overwrite,
        level=facts.level,
        is_training=not facts.is_val,
        num_classes=len(kept.samples.classes),
        num_blocks=plan.num_blocks,
        block_size=plan.block_size,
        block_header_size=plan.block_header_size,
    )
    # Not only Exception: Ctrl-C must leave nothing behind either.
    try:
        totals = write_blocks(writer, plan, kept, num_workers, progress, level=facts.level)
        _add_sections(writer, kept, plan, facts.info)
        area = min(max(facts.max_area, totals.max_area), (1 << 32) - 1)
        _native.writer_finish(writer, area, facts.source_bytes)
    except BaseException:
        # Unknown by now when Ctrl-C came just after the file was finished: then it stays, whole.
        with contextlib.suppress(ValueError):
            _native.writer_abort(writer)
        raise
    return totals


def _add_sections(writer: int, kept: Kept, plan: BlockPlan, info: bytes) -> None:
    samples = kept.samples
    labels, raw_bytes = _metadata.encode_labels(kept.labels)
    names = samples.names
    if len(kept) != len(samples):
        names = [names[i] for i in kept.numbers.tolist()]
    _native.writer_add_section(writer, "INFO", info)
    _native.writer_add_section(writer, "CLSS", _metadata.encode_classes(samples.classes))
    _native.writer_add_section(writer, "LABL", labels, flags=_metadata.SECTION_ZLIB, raw_bytes=raw_bytes)
    _native.writer_add_section(writer, "ORDR", _metadata.encode_order(plan.order))
    _native.writer_add_section(writer, "PATH", _metadata.encode_paths(names))
