# SPDX-License-Identifier: Apache-2.0
"""The public function: source -> samples -> check -> blocks -> file -> report."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from typing import Any

from torch_dts._words import num_of
from torch_dts.convert import _metadata
from torch_dts.convert._arguments import Options, check_arguments
from torch_dts.convert._check import check_samples
from torch_dts.convert._kept import Kept, choose
from torch_dts.convert._open_path import open_path
from torch_dts.convert._pack_write import plan_blocks
from torch_dts.convert._pixel_sets import PixelSet, find_pixel_set
from torch_dts.convert._pixel_write import write_pixel_set
from torch_dts.convert._report import ConvertReport
from torch_dts.convert._sources import kind_of, list_samples
from torch_dts.convert._target import refuse_source, resolve_target
from torch_dts.convert._write_file import FileFacts, is_val_split, write_file


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

    torchvision's MNIST, FashionMNIST, KMNIST, EMNIST, SVHN, CIFAR10 and CIFAR100 (and Subset and
    ConcatDataset of them, and pixel files) become a pixel file: their arrays as they are, in
    source order, with the split that the data set names. It has no blocks, so `order`, `seed`,
    `check` and `on_error` change nothing there.

    Memory: one block (16 MiB) per worker, and the list of samples.

    Args:
        source: A folder with one folder per class; a tar archive of such a folder (ImageNet's tar of
            tars too) or of WebDataset's .jpg and .cls files, a list of archives, a glob or a brace
            pattern ("s-{000..099}.tar"), which are read where they lie; the folder or images file of
            MNIST or CIFAR as published (idx, binary version); an ImageFolder or DatasetFolder; a
            DTSDataset or DTSFile, whose stored bytes, paths and classes are taken over; any
            map-style data set of (path | encoded bytes | PIL image, class number); Subset
            and ConcatDataset of those. Transforms are ignored where the list of files is
            known. A subclass with a `__getitem__` of its own is asked for its items. PIL
            images as opened keep their file's bytes, others become PNG (with a warning).
        path: The file to write, "~" is expanded. None: `<root>.dts` beside the source folder.
            While it is written it is called `<path>.partial`; a file of that name, left
            over or of another origin, is taken over and replaced.
        level: 0 keeps the bytes. 1 to 3 are not supported yet.
        split: "train" or "val", stored in the file, and which of the two is taken where an archive or a
            folder of original files holds both. None: "val" when the folder is
            called val, valid, validation or test, the source .dts file is "val", or the data
            set says so (``train=False``, ``split="test"``).
        class_to_idx: Class numbers to use, so that a train and a validation file agree.
            Must number its classes 0 to C-1. Classes the source lacks get no samples.
        allow_empty: For a folder's path: classes without images are fine.
        order: "shuffled" (each block is a random sample of the set, for training) or
            "source" (source order, for validation sets).
        seed: Of the shuffle. Any int.
        check: Before anything is written, "header" opens every file, "decode" decodes it
            (truncated files are found), "none" only looks whether it is there.
        on_error: Bad samples "raise" one error that lists all, or are left out ("skip"),
            or stored as they are ("keep"). An exception of a data set's
            `__getitem__` makes its sample a bad one.
        overwrite: Replace an existing file. Of a symlink the link itself is replaced, not
            what it points to.
        encoding: "jpeg" keeps each file's bytes, whatever kind of image it is, and arrays of
            pixels as a pixel file. "pixels" makes a pixel file of any data set of PIL images
            (mode L or RGB) or uint8 arrays of one size, at most 256 classes and less than
            4 GiB. "png" stores images that are pixels as PNG in blocks, which have no such limits.
        block_size: Bytes of a block, a multiple of 16 MiB under 4 GiB. None: 16 MiB.
        labels: For the images of a folder or of archives whose labels are not in the paths: a file with
            rows "<file name>,<label>" (a CSV, header or not; or with a space) or one label a
            line, a mapping of file names to labels, or a sequence in the order of the sorted files.
            Labels are class names (sorted for their numbers, or as `class_to_idx` has them) or class
            numbers. Every image needs one, every row an image.
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
        OSError: Source or target can't be read or written; a wrong layout of the folder, or
            a folder below it that can't be listed.
        CorruptFileError: A source file changed while it was converted; a source .dts file
            is damaged.
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
        encoding=encoding,
        block_size=block_size,
        num_workers=num_workers,
        progress=progress,
        later={
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
            "targets": targets,
            "stats": stats,
        },
    )
    source = open_path(source, labels, options.split)
    target = resolve_target(path, source, options.overwrite)
    if options.encoding != "png":
        pixels = find_pixel_set(
            source,
            is_asked=options.encoding == "pixels",
            class_to_idx=options.class_to_idx,
            progress=options.progress,
        )
        if pixels is not None:
            if block_size is not None:
                raise ValueError(
                    f"block_size={block_size} has no meaning for a pixel file, which has no blocks: leave it "
                    "out, or pass encoding='png' to store the images in blocks"
                )
            return _convert_pixels(target, source, pixels, options, started)
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
        choice = choose(samples, checked, options.on_error)
        kept = choice.kept
        _explain_png(kept.num_encoded, options.encoding)
        plan = plan_blocks(kept, options.block_size, options.order, options.seed)
        facts = FileFacts(
            level=0,
            is_val=is_val_split(options.split, samples),
            max_area=checked.max_area,
            source_bytes=int(kept.sizes.sum()),
            info=_encode_info(options, kept, len(choice.left_out)),
        )
        totals = write_file(
            target,
            kept,
            plan,
            facts,
            overwrite=options.overwrite,
            num_workers=options.num_workers,
            progress=options.progress,
        )
    finally:
        samples.close()
    return ConvertReport(
        path=target,
        num_samples=len(kept),
        num_classes=len(samples.classes),
        num_blocks=plan.num_blocks,
        room_bytes=plan.room_bytes(kept.sizes),
        file_bytes=os.stat(target).st_size,
        source_bytes=facts.source_bytes,
        seconds=time.perf_counter() - started,
        skipped=tuple(choice.left_out),
        kept_bad=tuple(choice.kept_bad),
        num_missing_eoi=totals.num_missing_eoi,
        num_encoded=kept.num_encoded,
        num_deep=checked.num_deep,
    )


def _convert_pixels(
    target: str, source: Any, pixels: PixelSet, options: Options, started: float
) -> ConvertReport:
    is_val = pixels.is_val if options.split is None else options.split == "val"
    write_pixel_set(
        target,
        pixels,
        kind=kind_of(source),
        is_val=is_val,
        overwrite=options.overwrite,
        progress=options.progress,
    )
    return ConvertReport(
        path=target,
        num_samples=pixels.labels.numel(),
        num_classes=len(pixels.classes),
        num_blocks=1,
        room_bytes=0,
        file_bytes=os.stat(target).st_size,
        source_bytes=pixels.num_bytes,
        seconds=time.perf_counter() - started,
        sample_shape=pixels.shape,
    )


def _explain_png(num_encoded: int, encoding: str) -> None:
    """Refuses encoding="png" where nothing is a PIL image, warns of those that became PNG unasked."""
    if encoding == "png":
        if not num_encoded:
            raise ValueError(
                "encoding='png' is for images that are pixels (CIFAR10, MNIST, PIL images); all samples of "
                "this source have encoded bytes, which are kept: leave encoding out"
            )
    elif num_encoded:
        were = f"{num_of(num_encoded, 'PIL image')} {'was' if num_encoded == 1 else 'were'}"
        warnings.warn(
            f"{were} stored as PNG: the bytes of the original files are not known. "
            f"To keep them, let the data set give paths or encoded bytes",
            stacklevel=3,
        )


def _encode_info(options: Options, kept: Kept, num_skipped: int) -> bytes:
    return _metadata.encode_info(
        kind=kept.samples.kind,
        num_listed=len(kept.samples),
        num_skipped=num_skipped,
        num_encoded=kept.num_encoded,
        bytes_kept=kept.num_encoded == 0 and kept.samples.are_original,
        order=options.order,
        seed=options.seed,
        check=options.check,
        encoding=options.encoding,
    )
