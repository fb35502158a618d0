#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convert an image folder, train a small CNN from the file, compare with ImageFolder.

    python examples/demo.py --data photos/train --out train.dts

The same folder is read through torch's DataLoader(ImageFolder), through ours over the folder
and over the file, and as a stream in torch's DataLoader: with the same transform, batch size
and workers, in turns, so that a change of the machine's load meets all of them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import sys
from collections.abc import Sequence

import torch
import torchvision
from comparison import Contestant, run_in_turns
from synthetic_photos import make_folder
from torch.utils.data import DataLoader
from torchvision.transforms import v2

import torch_dts

WANTED = "DATA must be a folder with one folder of pictures for each class"


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="DATA", help="a folder of class folders of JPEGs")
    source.add_argument(
        "--make-data", metavar="FOLDER", help="make synthetic pictures there, if not done yet"
    )
    add("--num-images", type=positive, default=600, metavar="N", help="for --make-data: how many (600)")
    add("--out", default="demo.dts", metavar="FILE", help="the file to write (demo.dts)")
    add("--overwrite", action="store_true", help="replace FILE when it exists")
    add("--steps", type=positive, default=45, metavar="N", help="training steps of each way to read (45)")
    add("--rounds", type=positive, default=3, metavar="N", help="in how many turns they are done (3)")
    add("--batch-size", type=positive, default=32, metavar="N", help="images in a batch (32)")
    add("--image-size", type=positive, default=112, metavar="N", help="side of the crops in pixels (112)")
    add("--num-workers", type=int, default=2, metavar="N", help="worker processes of each DataLoader (2)")
    return parser.parse_args(given)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


def find_classes(data: pathlib.Path) -> pathlib.Path:
    """The folder that holds the class folders: `data`, or `data`/train where there is one."""
    if not data.is_dir():
        raise ValueError(f"{data} {'is not a folder' if data.exists() else 'does not exist'}; {WANTED}")
    folders = sorted(entry.name for entry in data.iterdir() if entry.is_dir())
    if "train" in folders and any(entry.is_dir() for entry in (data / "train").iterdir()):
        print(f"{data} has a folder train: using {data / 'train'}")
        return data / "train"
    if not folders:
        raise ValueError(f"{data} has no folders in it; {WANTED}, as in {data}/cat/1.jpg, {data}/dog/2.jpg")
    return data


def enter_contestants(folder: pathlib.Path, file: str, arguments: argparse.Namespace) -> list[Contestant]:
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(arguments.image_size, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    image_folder = torchvision.datasets.ImageFolder(folder, transform)
    dataset = torch_dts.DTSDataset(file, transform)
    iterable = torch_dts.DTSIterableDataset(file, transform, seed=0, batch_size=arguments.batch_size)
    workers = arguments.num_workers
    options = {
        "batch_size": arguments.batch_size,
        "num_workers": workers,
        "persistent_workers": workers > 0,
    }
    num_classes = len(dataset.classes)
    return [
        Contestant("torch, ImageFolder", DataLoader(image_folder, shuffle=True, **options), num_classes),
        Contestant("torch, the file", DataLoader(iterable, **options), num_classes),
        Contestant(
            "ours, ImageFolder", torch_dts.DataLoader(image_folder, shuffle=True, **options), num_classes
        ),
        Contestant("ours, the file", torch_dts.DataLoader(dataset, shuffle=True, **options), num_classes),
    ]


def processor() -> str:
    """The processor's name where Linux says it."""
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def main(given: Sequence[str] | None = None) -> None:
    sys.stdout.reconfigure(errors="backslashreplace")  # a path need not be printable
    arguments = parse_arguments(given)
    if arguments.make_data is not None:
        print(
            f"{arguments.num_images} synthetic pictures (no photographs) in {arguments.make_data}", flush=True
        )
        make_folder(arguments.make_data, arguments.num_images)
    folder = find_classes(pathlib.Path(arguments.data or arguments.make_data))
    report = torch_dts.convert(folder, arguments.out, overwrite=arguments.overwrite)
    print(report, flush=True)
    contestants = enter_contestants(folder, os.fspath(report), arguments)
    steps_per_round = -(-arguments.steps // arguments.rounds)
    run_in_turns(contestants, arguments.rounds, steps_per_round)
    print(f"\n{'':<20}{'loading':>9} {'training':>9}   loss: first fifth -> last fifth")
    print(f"{'':<20}{'images/s':>9} {'images/s':>9}   of {arguments.rounds * steps_per_round} steps")
    for contestant in contestants:
        print(contestant.line())
    print(
        f"\nMedians of {arguments.rounds} rounds; batches of {arguments.batch_size}, "
        f"{arguments.num_workers} workers, crops of {arguments.image_size} pixels.\n"
        f"Machine: {processor()}, {os.cpu_count()} CPUs; "
        f"Python {platform.python_version()}, torch {torch.__version__}, torch_dts {torch_dts.__version__}."
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, ValueError, torch_dts.CorruptFileError) as error:
        sys.exit(f"error: {error}")
