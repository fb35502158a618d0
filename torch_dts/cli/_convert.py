# SPDX-License-Identifier: Apache-2.0
"""``torch-dts convert``: a folder or archives of images -> one .dts file."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from torch_dts._paths import display
from torch_dts.cli._option_words import as_options, option_names
from torch_dts.cli._options import add_work_options
from torch_dts.cli._output import emit
from torch_dts.cli._target_lines import read_target_lines
from torch_dts.convert import _estimate
from torch_dts.convert._arguments import CHECKS, ENCODINGS, METADATA, ON_ERRORS, ORDERS, SPLITS
from torch_dts.convert._convert import convert
from torch_dts.convert._estimate import estimate
from torch_dts.convert._report import ConvertReport

_DESCRIPTION = """\
Pack a folder of images into one .dts file. Every file's bytes are kept as they are (level
0), or images are made smaller (levels 1 to 3); the folder is only read. The folder has one
sub-folder per class, as torchvision's ImageFolder wants it:
    photos/cat/1.jpg  photos/cat/2.jpg  photos/dog/1.jpg  ...
Or a tar of such a folder, several tars, WebDataset shards, the files of MNIST, or those of
CIFAR's binary version: read where they lie, not unpacked.
"""

_EXAMPLES = """\
examples:
  torch-dts convert photos                        writes photos.dts beside the folder
  torch-dts convert imagenet/train -o train.dts   names the file
  torch-dts convert imagenet/val -o val.dts --order source
                                                  a validation set keeps the folder's order
  torch-dts convert photos --level 3              smaller images, fewer than half of the bytes
  torch-dts convert photos --restart-interval auto
                                                  the same pictures, laid out so that crops decode faster
  torch-dts convert imagenet/train -o train.dts --num-volumes 8 --volume 3
                                                  the fourth of 8 files; other machines write the others
  torch-dts convert ILSVRC2012_img_train.tar      the tar as it is published, a tar of tars
  torch-dts convert flat.tar --labels labels.csv  rows "name.jpg,class" for images without class folders
  torch-dts convert 'shards/s-{000..099}.tar' -o train.dts
                                                  WebDataset shards (jpg and cls)
  torch-dts convert photos --level 3 --estimate   size, time and bad files, writing nothing
  torch-dts convert photos --check decode --on-error skip
                                                  decodes every image, leaves damaged ones out and lists them
"""

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "convert",
        help="pack a folder or archives of images into a .dts file",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "source",
        metavar="SOURCE",
        nargs="+",
        help="folder with one sub-folder of images per class; or tar archives, or a pattern of their names",
    )
    add("-o", "--output", metavar="FILE", help="file to write (default: SOURCE.dts beside the source)")
    add(
        "--estimate",
        action="store_true",
        help="check and encode some images; predict size, time and bad files; write nothing",
    )
    add(
        "--labels",
        metavar="FILE",
        help="classes of images without class folders: a CSV or text file of '<file name>,<class>' rows, or "
        "of one class a line in the order of the sorted names",
    )
    add(
        "--targets",
        metavar="FILE",
        help="classes in place of the source's: one number or name a line, for each sample in source order",
    )
    add("--overwrite", action="store_true", help="replace FILE if it exists")
    add(
        "--split",
        choices=SPLITS,
        help="what the set is for (default: val for a folder called val, valid, validation or test)",
    )
    add(
        "--order",
        choices=ORDERS,
        default="shuffled",
        help="how samples lie in the file: shuffled, for training (default), or as in the source",
    )
    add("--seed", type=int, default=42, metavar="N", help="seed of the shuffle (default: 42)")
    add(
        "--check",
        choices=CHECKS,
        default="header",
        help="what is checked before writing: each file's header (default), its decoding, or nothing",
    )
    add(
        "--on-error",
        choices=ON_ERRORS,
        default="raise",
        help="bad images: stop and list them (raise, default), leave them out (skip), store them (keep)",
    )
    add(
        "--block-size",
        type=parse_size,
        metavar="SIZE",
        help="bytes of a block, such as 32MiB; larger ones are for images above 16 MiB (default: 16MiB)",
    )
    add(
        "--level",
        type=int,
        choices=range(4),
        default=0,
        help="0 keeps the bytes (default); 1: short side at most 400 pixels, quality 90; "
        "2: and at most 600 x 400; 3: as 2, quality 80",
    )
    add(
        "--restart-interval",
        type=parse_interval,
        default="default",
        metavar="N|auto|none",
        help="MCUs between restart markers, from which crops are decoded alone; at level 0 JPEGs are "
        "rewritten without loss (default: none at level 0, auto at levels 1 to 3)",
    )
    add(
        "--metadata",
        choices=METADATA,
        default="needed",
        help="what rewritten JPEGs of level 0 keep: what the picture needs (default), or all",
    )
    add(
        "--encoding",
        choices=ENCODINGS,
        default="jpeg",
        help="jpeg: encoded images (default); raw: their pixels, many times as large; "
        "mixed: pixels for some (--raw-fraction, --raw-max-pixels); pixels, png: for sets of arrays",
    )
    add(
        "--max-size",
        type=int,
        metavar="N",
        help="images whose longer side is above N pixels are made smaller",
    )
    add("--raw-fraction", type=float, metavar="F", help="with --encoding mixed: how many images, 0 to 1")
    add(
        "--raw-max-pixels",
        type=int,
        metavar="N",
        help="with --encoding mixed: only images of at most N pixels (width * height)",
    )
    add(
        "--resume",
        action="store_true",
        help="keep finished work when stopped or killed, and go on from it",
    )
    add(
        "--compat",
        action="store_true",
        help="write what the format's first readers take, byte for byte as their exporter does",
    )
    add("--min-blocks", type=int, metavar="N", help="blocks that --compat at level 0 starts from")
    add(
        "--num-volumes",
        type=int,
        default=1,
        metavar="K",
        help="cut the set into K files, FILE-00000-of-0000K.dts and so on, which are read as one set",
    )
    add(
        "--volume",
        type=int,
        metavar="I",
        help="write only this one of the K files, from 0, so that several machines share the work",
    )
    add("--allow-empty", action="store_true", help="classes without images are fine")
    add(
        "--class-to-idx",
        metavar="FILE.json",
        help='class numbers to use, as {"cat": 0, "dog": 1}, so that two sets agree',
    )
    add(
        "--stats",
        action="store_true",
        help="decode everything once and write mean and std of all pixels into the file (info shows them)",
    )
    add("--json", action="store_true", help="print the report as JSON")
    add_work_options(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    source = args.source[0] if len(args.source) == 1 else args.source
    numbers = None if args.class_to_idx is None else read_class_to_idx(args.class_to_idx)
    arguments = {
        "labels": args.labels,
        "targets": None if args.targets is None else read_target_lines(args.targets),
        "split": args.split,
        "class_to_idx": numbers,
        "allow_empty": args.allow_empty,
        "order": args.order,
        "seed": args.seed,
        "check": args.check,
        "on_error": args.on_error,
        "overwrite": args.overwrite,
        "level": args.level,
        "restart_interval": args.restart_interval,
        "metadata": args.metadata,
        "encoding": args.encoding,
        "max_size": args.max_size,
        "raw_fraction": args.raw_fraction,
        "raw_max_pixels": args.raw_max_pixels,
        "resume": args.resume,
        "compat": args.compat,
        "min_blocks": args.min_blocks,
        "block_size": args.block_size,
        "num_volumes": args.num_volumes,
        "volume": args.volume,
        "num_workers": args.num_workers,
        "stats": args.stats,
        "progress": args.progress,
    }
    if args.estimate:
        found = estimate(source, args.output, **arguments)
        emit(json.dumps(_estimate.as_dict(found)) if args.json else str(found))
        return 0
    report = convert(source, args.output, **arguments)
    emit(json.dumps(as_dict(report)) if args.json else as_options(str(report), option_names(args)))
    return 0


def parse_size(text: str) -> int:
    """An argument type: bytes with an optional unit, "32MiB", "32M" or "33554432"."""
    digits = text.rstrip("KMGiBkmgb ")
    unit = text[len(digits) :].strip().upper().removesuffix("B").removesuffix("I")
    if not digits.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 32MiB")
    return int(digits) * _UNITS[unit]


def parse_interval(text: str) -> int | str | None:
    """An argument type: a number of MCUs, "auto", "default" or "none"."""
    if text in ("auto", "default"):
        return text
    if text == "none":
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of MCUs, auto or none")
    return int(text)


def read_class_to_idx(path: str) -> dict[str, int]:
    """Class numbers from a JSON file.

    Raises:
        ValueError: It is not a JSON object of numbers.
    """
    with open(path, encoding="utf-8") as file:
        try:
            loaded = json.load(file)
        except ValueError as error:
            raise ValueError(f"{display(path)} is not JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise ValueError(f'{display(path)} must hold an object such as {{"cat": 0, "dog": 1}}')
    return loaded


def as_dict(report: ConvertReport) -> dict[str, Any]:
    """The report's fields and rates; file names as they print."""
    fields = dataclasses.asdict(report)
    fields["path"] = display(report.path)
    fields["paths"] = list(map(display, report.paths))
    for bad in (*fields["skipped"], *fields["kept_bad"]):
        bad["path"] = display(bad["path"])
    fields["images_per_second"] = report.images_per_second
    fields["megabytes_per_second"] = report.megabytes_per_second
    return fields
