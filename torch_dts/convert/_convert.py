# SPDX-License-Identifier: Apache-2.0
"""The public function: source -> samples -> check -> blocks -> file -> report."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.convert import _metadata
from torch_dts.convert._arguments import Options, check_arguments
from torch_dts.convert._check import Checked, check_samples
from torch_dts.convert._folder import is_val_name
from torch_dts.convert._pack_write import BlockPlan, Kept, Totals, plan_blocks, write_blocks
from torch_dts.convert._report import BadSample, BadSamplesError, ConvertReport
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples
from torch_dts.convert._target import refuse_source, resolve_target


def convert(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    level: int = 0,
    split: str | None = None,
    class_to_idx: Mapping[str, int] | None = None,
    allow_empty: bool = False,
    order: str = "shuffled",
    seed: int = 42,
    check: str = "header",
    on_error: str = "raise",
    overwrite: bool = False,
    encoding: str = "jpeg",
    max_size: int | None = None,
    restart_interval: int | str | None = "default",
    block_size: int | None = None,
    num_volumes: int = 1,
    volume: int | None = None,
    resume: bool = False,
    compat: bool = False,
    min_blocks: int | None = None,
    metadata: str = "needed",
    raw_fraction: float | None = None,
    raw_max_pixels: int | None = None,
    labels: Any = None,
    targets: Any = None,
    stats: bool = False,
    num_workers: int | None = None,
    progress: bool | None = None,
) -> ConvertReport:
    """Packs a data set of images into one .dts file. Sources are only ever read.

    At level 0 every file's bytes are kept as they are, so that `DTSDataset(file)[i]` is
    `ImageFolder(folder)[i]`. The file appears under its name when it is complete, and is
    the same to the byte for any number of workers.

    Memory: one block (16 MiB) per worker, and the list of samples.

    Args:
        source: A folder with one folder per class; an ImageFolder or DatasetFolder; any
            map-style data set of (path | encoded bytes | PIL image, class number); Subset
            and ConcatDataset of those. Transforms are ignored where the list of files is
            known. PIL images as opened keep their file's bytes, others become PNG.
        path: The file to write. None: `<root>.dts` beside the source folder.
        level: 0 keeps the bytes. 1 to 3 are not supported yet.
        split: "train" or "val", stored in the file. None: "val" when the folder is
            called val, valid, validation or test.
        class_to_idx: Class numbers to use, so that a train and a validation file agree.
            Must number its classes 0 to C-1. Classes the source lacks get no samples.
        allow_empty: For a folder's path: classes without images are fine.
        order: "shuffled" (each block is a random sample of the set, for training) or
            "source" (source order, for validation sets).
        seed: Of the shuffle. Any int.
        check: Before anything is written, "header" opens every file, "decode" decodes it
            (truncated files are found), "none" only looks whether it is there.
        on_error: Bad samples "raise" one error that lists all, or are left out ("skip"),
            or stored as they are ("keep").
        overwrite: Replace an existing file.
        block_size: Bytes of a block, a multiple of 16 MiB under 4 GiB. None: 16 MiB.
        num_workers: Threads. None: one per usable CPU.
        progress: Show a bar on stderr. None: when stderr is a terminal.

    The other arguments belong to later versions and take their defaults only.

    Returns:
        A `ConvertReport`: what was written and what was left out. Also the file's path:
        `DTSDataset(convert(folder))` works.

    Raises:
        ValueError: A wrong or not yet supported argument, a sample larger than a block,
            no samples, an output that is one of the sources.
        BadSamplesError: (a ValueError) samples that failed their check; all are listed.
        TypeError: A source or an item of another type.
        FileExistsError: `path` exists and overwrite is False.
        OSError: Source or target can't be read or written; a wrong layout of the folder.
        CorruptFileError: A source file changed while it was converted.
    """
    started = time.perf_counter()
    options = check_arguments(
        level=level,
        split=split,
        class_to_idx=class_to_idx,
        allow_empty=allow_empty,
        order=order,
        seed=seed,
        check=check,
        on_error=on_error,
        overwrite=overwrite,
        block_size=block_size,
        num_workers=num_workers,
        progress=progress,
        later={
            "encoding": encoding,
            "max_size": max_size,
            "restart_interval": restart_interval,
            "num_volumes": num_volumes,
            "volume": volume,
            "resume": resume,
            "compat": compat,
            "min_blocks": min_blocks,
            "metadata": metadata,
            "raw_fraction": raw_fraction,
            "raw_max_pixels": raw_max_pixels,
            "labels": labels,
            "targets": targets,
            "stats": stats,
        },
    )
    target = resolve_target(path, source, options.overwrite)
    samples = list_samples(
        source,
        class_to_idx=options.class_to_idx,
        allow_empty=options.allow_empty,
        spool_dir=os.path.dirname(target) or os.curdir,
        progress=options.progress,
    )
    try:
        checked = check_samples(samples, options.check, options.num_workers, options.progress)
        refuse_source(target, samples.files, checked.sizes)
        left_out, kept_bad = _decide(checked, options.on_error)
        kept = _keep(samples, checked.sizes, left_out)
        plan = plan_blocks(kept, options.block_size, options.order, options.seed)
        totals = _write(target, options, kept, plan, checked.max_area, len(left_out))
    finally:
        samples.close()
    return ConvertReport(
        path=target,
        num_samples=kept.sizes.numel(),
        num_classes=len(samples.classes),
        num_blocks=plan.num_blocks,
        room_bytes=plan.room_bytes(kept.sizes),
        file_bytes=os.stat(target).st_size,
        source_bytes=int(kept.sizes.sum()),
        seconds=time.perf_counter() - started,
        skipped=tuple(left_out),
        kept_bad=tuple(kept_bad),
        num_missing_eoi=totals.num_missing_eoi,
    )


def _decide(checked: Checked, on_error: str) -> tuple[list[BadSample], list[BadSample]]:
    """Bad samples to leave out and to keep; raises where neither is allowed."""
    num_samples = checked.sizes.numel()
    if not checked.bad:
        return [], []
    if on_error == "raise":
        advice = "Nothing was written. on_error='skip' leaves them out, on_error='keep' stores their bytes."
        raise BadSamplesError(checked.bad, num_samples, advice)
    if on_error == "skip":
        return checked.bad, []
    unreadable = [each for each in checked.bad if int(checked.sizes[each.index]) < 0]
    if unreadable:
        advice = (
            "Nothing was written. They have no bytes to keep; on_error='skip' leaves out every bad sample."
        )
        raise BadSamplesError(unreadable, num_samples, advice)
    return [], checked.bad


def _keep(samples: Samples, sizes: Tensor, left_out: Sequence[BadSample]) -> Kept:
    is_kept = torch.ones(len(samples), dtype=torch.bool)
    is_kept[[each.index for each in left_out]] = False
    numbers = is_kept.nonzero().flatten()
    if not numbers.numel():
        raise ValueError(f"no samples are left: all {len(samples)} of the source are bad")
    return Kept(samples, numbers, sizes[numbers], samples.labels[numbers])


def _write(
    target: str, options: Options, kept: Kept, plan: BlockPlan, max_area: int, num_skipped: int
) -> Totals:
    samples = kept.samples
    split = options.split
    is_val = split == "val" or (split is None and samples.root is not None and is_val_name(samples.root))
    writer = _native.writer_open(
        target,
        overwrite=options.overwrite,
        level=0,
        is_training=not is_val,
        num_classes=len(samples.classes),
        num_blocks=plan.num_blocks,
        block_size=plan.block_size,
        block_header_size=plan.block_header_size,
    )
    # Not only Exception: Ctrl-C must leave nothing behind either.
    try:
        totals = write_blocks(writer, plan, kept, options.num_workers, options.progress)
        _add_sections(writer, options, kept, plan, num_skipped)
        area = min(max(max_area, totals.max_area), (1 << 32) - 1)
        _native.writer_finish(writer, area, int(kept.sizes.sum()))
    except BaseException:
        # Unknown by now when Ctrl-C came just after the file was finished: then it stays, whole.
        with contextlib.suppress(ValueError):
            _native.writer_abort(writer)
        raise
    return totals


def _add_sections(writer: int, options: Options, kept: Kept, plan: BlockPlan, num_skipped: int) -> None:
    samples = kept.samples
    info = _metadata.encode_info(
        kind=samples.kind,
        num_listed=len(samples),
        num_skipped=num_skipped,
        order=options.order,
        seed=options.seed,
        check=options.check,
    )
    labels, raw_bytes = _metadata.encode_labels(kept.labels)
    names = samples.names if not num_skipped else [samples.names[i] for i in kept.numbers.tolist()]
    _native.writer_add_section(writer, "INFO", info)
    _native.writer_add_section(writer, "CLSS", _metadata.encode_classes(samples.classes))
    _native.writer_add_section(writer, "LABL", labels, flags=_metadata.SECTION_ZLIB, raw_bytes=raw_bytes)
    _native.writer_add_section(writer, "ORDR", _metadata.encode_order(plan.order))
    _native.writer_add_section(writer, "PATH", _metadata.encode_paths(names))
