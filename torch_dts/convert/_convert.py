# SPDX-License-Identifier: Apache-2.0
"""The public function: source -> samples -> check -> blocks -> file -> report."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from torch_dts.convert._arguments import Options, check_arguments
from torch_dts.convert._compat import compat_path
from torch_dts.convert._convert_samples import convert_samples
from torch_dts.convert._lock import locked_targets
from torch_dts.convert._open_path import open_path
from torch_dts.convert._pixel_sets import PixelSet, find_pixel_set
from torch_dts.convert._pixel_write import refuse_block_arguments, write_pixel_set
from torch_dts.convert._report import ConvertReport
from torch_dts.convert._sources import kind_of, list_samples
from torch_dts.convert._targets import read_targets
from torch_dts.convert._volumes import clear_volumes, name_volumes


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
    """Packs a data set of images into a .dts file, or into several volumes. Sources are only ever read.

    At level 0 every file's bytes are kept as they are, so that `DTSDataset(file)[i]` is
    `ImageFolder(folder)[i]`. Levels 1 to 3 make smaller files of smaller images, and
    `restart_interval` lets crops be decoded alone. The file appears under its name when it is
    complete, and is the same to the byte for any number of workers.

    torchvision's MNIST, FashionMNIST, KMNIST, EMNIST, SVHN, CIFAR10 and CIFAR100 (and Subset and
    ConcatDataset of them, and pixel files) become a pixel file: their arrays as they are, in
    source order, with the split that the data set names. It has no blocks, so `order`, `seed`,
    `check` and `on_error` change nothing there.

    Memory: one block (16 MiB) per worker, and the list of samples. Where bytes are encoded
    anew, the disk holds them twice while the file is written.

    Args:
        source: A folder with one folder per class; a tar archive of such a folder (ImageNet's tar of tars
            too) or of WebDataset's .jpg and .cls files, a list of archives, a glob or a brace pattern
            ("s-{000..099}.tar"), which are read where they lie; the folder or images file of MNIST or CIFAR
            as published (idx, binary version); an ImageFolder or DatasetFolder; a .dts file or set of volumes
            by its path, a DTSDataset or DTSFile, whose stored bytes, paths and classes are taken over; any
            map-style data set of (path | encoded bytes | PIL image, class number); Subset and ConcatDataset
            of those. Transforms are ignored where the list of files is known. A subclass with a `__getitem__`
            of its own is asked for its items. PIL images as opened keep their file's bytes, others become PNG
            (with a warning).
        path: The file to write, or the name of the set of volumes, "~" is expanded. None:
            `<root>.dts` beside the source folder. While it is written it is called
            `<path>.partial`; a file of that name, left over or of another origin, is taken over
            and replaced. An empty `<path>.lock` keeps other conversions to it out meanwhile.
        level: 0 keeps the bytes. 1 to 3 encode each image anew as a JPEG without metadata: at
            level 1 with a short side of at most 400 pixels at quality 90, at levels 2 and 3 cut
            to at most 600 x 400 around the centre, at quality 90 and 80 (docs/convert.md).
            Images of modes that no JPEG holds (16 bits a value) are bad samples.
        split: "train" or "val", stored in the file, and which of the two is taken where an archive or a
            folder of original files holds both. None: "val" when the folder is
            called val, valid, validation or test, the source .dts file is "val", or the data
            set says so (``train=False``, ``split="test"``).
        class_to_idx: Class numbers to use, so that a train and a validation file agree.
            Must number its classes 0 to C-1. Classes the source lacks get no samples.
        allow_empty: For the path of a folder or archives: classes without images are fine.
        order: "shuffled" (each block is a random sample of the set, for training) or
            "source" (source order, for validation sets).
        seed: Of the shuffle. Any int.
        check: Before anything is written, "header" opens every file, "decode" decodes it
            (truncated files are found), "none" only looks whether it is there.
        on_error: Bad samples "raise" one error that lists all, or are left out ("skip"), or stored as they
            are ("keep"). Images larger than a block are bad, too, and can't be kept. An exception of a data
            set's `__getitem__` makes its sample a bad one. Damage that only decoding shows is found while
            encoding, and then "raise" ends the conversion at the first such samples, while check="decode"
            finds all before and lists them in one error.
        overwrite: Replace an existing file. Of a symlink the link itself is replaced, not
            what it points to. One volume is not replaced by one of another set while others
            of the old set are there.
        encoding: "jpeg" keeps each file's bytes, whatever kind of image it is, and arrays of
            pixels as a pixel file. "pixels" makes a pixel file of any data set of PIL images
            (mode L or RGB) or uint8 arrays of one size, at most 256 classes and less than
            4 GiB. "png" stores images that are pixels as PNG in blocks, which have no such limits.
            "raw" stores the pixels of every image, "mixed" those of some, beside JPEGs in blocks:
            decoding costs nothing, the file is many times as large.
        max_size: Images whose longer side is above this many pixels are made smaller (after `level`):
            longer side `max_size`, the other cut to a whole number, LANCZOS, as RGB or gray.
            At level 0 they become JPEGs of quality 90, and all others keep their bytes.
        restart_interval: MCUs (squares of mostly 16 x 16 pixels) between the restart markers of
            each JPEG, or "auto": a part of a row of them that is fast to decode from and costs
            nearly nothing. At level 0 this writes JPEGs anew without loss: pixels are compared,
            and what can't be rewritten keeps its bytes. None: no markers. "default": none at
            level 0, "auto" at levels 1 to 3.
        block_size: Bytes of a block, a multiple of 16 MiB under 4 GiB. None: 16 MiB.
        resume: Keep finished work in files beside the target when the conversion stops or is
            killed, and go on from there. False: nothing is left, and what an earlier call left is
            deleted.
        compat: Write what the format's first readers take: samples numbered by file name, packed
            as their exporter does, at levels 1 to 3 with Pillow's bytes as they are. A set that
            its packing fails on is packed our way within its limits (the report says so). `path`
            may be None or a folder: the file is then called imagenet_train_lv0.dts or the like.
        min_blocks: With compat at level 0, the number of blocks that packing starts from. None: 8700
            and 400 for the sets of ImageNet-1k, else a number that suits the set.
        metadata: What a JPEG that is rewritten at level 0 keeps beside the picture: "needed" is
            what changes how it is shown (colour profile, orientation), "keep" is all.
        num_volumes: Cuts the set into so many files: "train.dts" in four is
            train-00000-of-00004.dts and so on. They appear together, when all are complete.
            Each is a random sample of the set (order="source": a stretch of it). The set is read
            as one, by its first volume, its folder or a glob.
        volume: Writes only this one of them, from 0, on any machine that sees the whole source:
            all samples are listed and checked, those of the volume are read and encoded. Source
            and other arguments must be alike for all volumes. A sample that only encoding shows
            to be bad can't be left out then (on_error="skip"), as the other volumes count it:
            check="decode" finds it for all of them.
        labels: For the images of a folder or of archives whose labels are not in the paths: a file with
            rows "<file name>,<label>" (a CSV, header or not; or with a tab, semicolon or space) or one label
            a line, a mapping of file names to labels, or a sequence in the order of the sorted files.
            Labels are class names (sorted for their numbers, or as `class_to_idx` has them) or class
            numbers. Every image needs one, every row an image.
        targets: Classes in place of those of any source, which are not looked at then: a sequence, tensor or
            array with a class number or a class name for each sample, in the order of the source, bad samples
            too. Numbers are those of `class_to_idx`, else of the source's classes. Names have the numbers
            of `class_to_idx`, else of the source where it has all of them, else they are sorted for theirs.
        raw_fraction: With encoding="mixed", the part of the images that are stored as pixels, 0 to 1,
            chosen by the CRC-32 of their bytes.
        raw_max_pixels: With encoding="mixed", the width * height that an image stored as pixels has
            at most. With both, an image must meet both.
        num_workers: Threads; at levels 1 to 3 each has a process for Pillow beside it. None:
            one per usable CPU.
        stats: Decode every stored sample and write mean and std of all their pixels into the header (of a
            set, those of the whole set into each volume's; not with `volume`),
            as torchvision's Normalize takes them (of 0 to 1, RGB; gray counts as three equal
            channels): ``DTSFile(path).header.normalize_mean``, ``normalize_std``. Samples that
            can't be decoded are left out, with a warning. Takes about as long as decoding the
            set once.
        progress: Show a bar on stderr. None: when stderr is a terminal.

    Returns:
        A `ConvertReport`: what was written and what was left out. Also the file's path:
        `DTSDataset(convert(folder))` works.

    Raises:
        ValueError: A wrong argument, a sample larger than a block,
            no samples, fewer samples than volumes, an output that is one of the sources, a volume
            beside volumes of another set, finished work of another conversion (resume=True; says
            what differs).
        BadSamplesError: (a ValueError) samples that failed their check; all are listed.
        TypeError: A source or an item of another type.
        FileExistsError: `path` exists and overwrite is False.
        OSError: Source or target can't be read or written; a wrong layout of the folder, or
            a folder below it that can't be listed.
        CorruptFileError: A source file changed while it was converted; a source .dts file
            is damaged.
        BlockingIOError: (an OSError) another conversion is writing the same file (or volume) now.
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
        restart_interval=restart_interval,
        metadata=metadata,
        max_size=max_size,
        raw_fraction=raw_fraction,
        raw_max_pixels=raw_max_pixels,
        resume=resume,
        compat=compat,
        min_blocks=min_blocks,
        num_workers=num_workers,
        progress=progress,
        stats=stats,
        num_volumes=num_volumes,
        volume=volume,
    )
    given_targets = None if targets is None else read_targets(targets)
    if labels is not None and targets is not None:
        raise ValueError("labels= and targets= both say the classes: leave one of them out")
    source = open_path(source, labels, options.split)
    if options.compat:
        path = compat_path(path, source, options.level, options.split)
    volumes = name_volumes(path, source, options.num_volumes, options.volume)
    if not options.resume:  # before a lock is put into a folder that may be read-only
        clear_volumes(volumes, source, options.overwrite)
    with locked_targets([each.path for each in volumes]):
        clear_volumes(volumes, source, options.overwrite, options.resume)
        if options.encoding in ("jpeg", "pixels"):
            pixels = find_pixel_set(
                source,
                is_asked=options.encoding == "pixels",
                class_to_idx=options.class_to_idx,
                progress=options.progress,
                targets=given_targets,
            )
            if pixels is not None:
                refuse_block_arguments(options, block_size)
                return _convert_pixels(volumes[0].path, source, pixels, options, started)
        samples = list_samples(
            source,
            class_to_idx=options.class_to_idx,
            allow_empty=options.allow_empty,
            spool_dir=os.path.dirname(volumes[0].path) or os.curdir,
            progress=options.progress,
            targets=given_targets,
        )
        try:
            return convert_samples(volumes, samples, options, started)
        finally:
            samples.close()


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
        has_stats=options.stats,
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
