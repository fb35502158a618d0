# SPDX-License-Identifier: Apache-2.0
"""``torch-dts preview``: samples of a file as one picture."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import Any

from PIL import Image

from torch_dts._image_errors import without_addresses
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts._words import num_of
from torch_dts.cli._augment import PRESETS, Shown, load_transform, variants
from torch_dts.cli._image_output import check_image_target, write_image
from torch_dts.cli._options import number_of
from torch_dts.cli._output import emit
from torch_dts.datasets import DTSDataset
from torch_dts.datasets._decode import default_loader
from torch_dts.file import DTSFile
from torch_dts.file._sheet import Tile, check_sheet_size, draw_sheet, fit

_ROWS, _COLUMNS, _SIZE, _VARIANTS = 6, 8, 160, 6

_EPILOG = """\
examples:
  torch-dts preview train.dts -o sheet.png
  torch-dts preview train.dts -o cats.png --class cat --class lynx --seed 3
  torch-dts preview train.dts -o sheet.png --indices 0,7,100-120
  torch-dts preview train.dts -o crops.png --augment imagenet
                                   each row: a picture, and what six epochs make of it
  torch-dts preview train.dts -o mine.png --augment train.py:transform --seed 1
                                   `transform` of your train.py, which is imported; as
                                   DataLoader(..., seed=1) draws it in epochs 0, 1, 2 ...
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "preview",
        help="draw samples of a .dts file into one picture",
        description="Draw samples of a .dts file, with their classes, into one picture. A sample that "
        "can't be decoded shows as a marked square that says why.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a .dts file, or a set of volumes; it is only read")
    add("-o", "--output", metavar="PICTURE", required=True, help="file to write, such as sheet.png")
    add("--overwrite", action="store_true", help="replace PICTURE if it exists")
    add("--rows", type=number_of(1), metavar="N", help=f"rows of pictures (default: {_ROWS})")
    add(
        "--columns",
        type=number_of(1),
        metavar="N",
        help=f"pictures a row (default: {_COLUMNS}; not with --augment)",
    )
    add(
        "--size",
        type=number_of(16),
        default=_SIZE,
        metavar="PIXELS",
        help=f"side of the square that each picture is fitted into (default: {_SIZE})",
    )
    add(
        "--indices",
        type=parse_indices,
        metavar="LIST",
        help="which samples, as 0,7,100-120 in the order of the source (default: a random choice)",
    )
    add(
        "--class",
        dest="classes",
        action="append",
        metavar="NAME",
        help="choose among the samples of this class; may be given several times",
    )
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the random choice, and of --augment as that of a DataLoader (default: 0)",
    )
    add(
        "--augment",
        metavar="TRANSFORM",
        help=f"show what a transform does: {', '.join(PRESETS)}, or one of your own as module:object or "
        "file.py:object (the module is imported)",
    )
    add(
        "--variants",
        type=number_of(1),
        metavar="N",
        help=f"with --augment, how many of each picture, one for each epoch (default: {_VARIANTS})",
    )
    add("--epoch", type=number_of(0), metavar="N", help="with --augment, the first epoch shown (default: 0)")


def parse_indices(text: str) -> list[int]:
    """An argument type: ``0,7,100-120`` -> each number once, in the order given."""
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
            raise argparse.ArgumentTypeError(f"{part!r} is no index and no range such as 3-7")
        start, end = int(first), int(last) if dash else int(first)
        if end < start or end - start >= 100_000:
            raise argparse.ArgumentTypeError(f"{part!r} is no range of 1 to 100000 samples")
        found.update(dict.fromkeys(range(start, end + 1)))
    return list(found)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    if args.augment is None and (args.variants is not None or args.epoch is not None):
        raise ValueError("--variants and --epoch belong to --augment, which is missing")
    if args.augment is not None and args.columns is not None:
        raise ValueError("--columns does not go with --augment: --variants says how many are in a row")
    with DTSFile(args.file) as file:
        target = check_image_target(
            args.output, args.overwrite, [volume.absolute_path for volume in file.volumes]
        )
        transform = None if args.augment is None else load_transform(args.augment)
        num_variants = 0 if args.augment is None else args.variants or _VARIANTS
        columns = 1 + num_variants if num_variants else args.columns or _COLUMNS
        rows = args.rows or _ROWS
        indices = choose(file, args, rows if num_variants else rows * columns)
        num_tiles = len(indices) * (1 + num_variants)
        check_sheet_size(num_tiles, columns, args.size)
        with Progress("drawing", num_tiles, None) as bar:
            tiles = _tiles(file, indices)
            if num_variants:
                first = args.epoch or 0
                epochs = range(first, first + num_variants)
                tiles = _augmented(file, transform, indices, args.seed, epochs, args.size)
            sheet = draw_sheet(_counted(tiles, bar), num_tiles, columns, args.size)
        write_image(sheet, target)
    emit(
        f"{num_of(len(indices), 'sample')} of {display(args.file)} drawn into {display(target)} "
        f"({sheet.width} x {sheet.height} pixels)"
    )
    return 0


def choose(file: DTSFile, args: argparse.Namespace, count: int) -> list[int]:
    """Source indices of the samples to show.

    Raises:
        ValueError: No such index or class, or there are no samples.
    """
    if args.indices is not None:
        if args.classes or args.rows is not None:
            raise ValueError("--indices says which samples: leave --class and --rows out")
        wrong = [index for index in args.indices if index >= len(file)]
        if wrong:
            raise ValueError(f"there is no sample {wrong[0]}, {display(file.path)} has {len(file)}")
        return list(args.indices)
    candidates: Any = range(len(file))
    if args.classes:
        unknown = [name for name in args.classes if name not in file.class_to_idx]
        if unknown:
            shown = ", ".join(display(name) for name in file.classes[:5])
            more = ", ..." if len(file.classes) > 5 else ""
            raise ValueError(f"there is no class {display(unknown[0])!r} among {shown}{more}")
        wanted = {file.class_to_idx[name] for name in args.classes}
        candidates = [i for i, label in enumerate(file.labels.tolist()) if label in wanted]
    if not candidates:
        raise ValueError(f"{display(file.path)} has no such samples to show")
    return sorted(random.Random(args.seed).sample(candidates, min(count, len(candidates))))


def _tiles(file: DTSFile, indices: list[int]) -> Iterator[Tile]:
    load = default_loader(file)
    labels, classes = file.labels, file.classes
    for index in indices:
        label = int(labels[index])
        name = display(classes[label]) if label < len(classes) else f"label {label}"
        data = file.read(index)
        try:
            yield Tile(load(data), f"{name}  {index}")
        except Exception as error:  # Pillow's plugins raise all kinds
            yield Tile(None, f"{name}  {index}", f"sample {index}: {_one_line(error)}")


def _augmented(
    file: DTSFile, transform: Any, indices: list[int], seed: int, epochs: range, size: int
) -> Iterator[Tile]:
    """For each sample its picture, then its variants."""
    originals: list[Tile] = []
    for tile in _tiles(file, indices):  # kept small until their row is drawn
        image = None if tile.image is None else fit(tile.image, size)
        originals.append(Tile(image, tile.caption, tile.problem))
    good = [i for i, tile in zip(indices, originals, strict=True) if tile.image is not None]
    dataset = DTSDataset(file.absolute_path, transform)
    streams = {epoch: variants(dataset, good, seed, epoch) for epoch in epochs}
    show = Shown(transform)
    try:
        for index, tile in zip(indices, originals, strict=True):
            yield tile
            for epoch, stream in streams.items():
                caption = f"epoch {epoch}"
                if tile.image is None:
                    yield Tile(None, caption, tile.problem)
                    continue
                found, sample = next(stream)
                if found != index:
                    raise RuntimeError(f"sample {found} came in the place of {index}")
                yield _variant(show, sample, caption, index)
    finally:
        for stream in streams.values():
            stream.close()
        dataset.file.close()


def _variant(show: Shown, sample: Any, caption: str, index: int) -> Tile:
    try:
        if isinstance(sample, Exception):
            raise sample
        image: Image.Image = show(sample)
        return Tile(image, caption)
    except Exception as error:
        return Tile(None, caption, f"sample {index}: {_one_line(error)}")


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(without_addresses(str(error)).split())}"[:300]


def _counted(tiles: Iterator[Tile], bar: Progress) -> Iterator[Tile]:
    for tile in tiles:
        yield tile
        bar.add(1)
