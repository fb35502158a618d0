#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the loader's speed grows: threads, more threads than CPUs, ranks, batch and image sizes.

    python examples/benchmarks/scaling.py DATA [--file DATA.dts] [--images 1000] [--rounds 3]
        [--parts threads,crowd,ranks,batches,sizes] [--json FILE] [--plot FILE.svg]

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py), FILE the same folder
converted (made in a temporary folder where not given). The work is RandomResizedCrop(224), flip,
ToTensor, Normalize to float32; one value of each image is read. What is compared runs in turns, figures
are medians.

* threads: 1 to the number of CPUs. "of the machine" is the same growth beside that of the bare
  work in independent processes, each bound to a CPU: what CPUs that share a core, or a clock, allow at all.
* crowd: far more threads than CPUs. Batches must be the same, byte for byte, and the loader comes to its
  end; system calls of locks (futex) per 1000 samples are counted where there is strace.
* ranks: 1, 2 and 4 processes that share the CPUs; together they must give every sample.
* batches, sizes: of 1 to 1024 images, of 64 to 384 pixels.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from contestants.work import epoch_of, make_transform
from line_chart import Axis, Line, line_chart
from measuring import Contestant, in_turns, machine
from results import of_rows, save
from scaling_processes import Processes, bare_epochs, count_futex_calls, rank_epochs
from torchvision.datasets import ImageFolder

import torch_dts

Row = dict[str, Any]
SEED = 1
TIMEOUT_S = 120  # for a batch: a loader that hangs is an error, not a night
PARTS = ("threads", "crowd", "ranks", "batches", "sizes")
CROWD = (2, 16, 64, 128, 256)
BATCH_SIZES = (1, 4, 16, 64, 256, 1024)
IMAGE_SIZES = (64, 96, 128, 224, 384)


def open_loader(source: str, num_images: int, num_workers: int, **options: Any) -> torch_dts.DataLoader:
    """A loader over the first images of a folder or a `.dts` file; `size` is of the crops."""
    transform = make_transform(options.pop("size", 224))
    if pathlib.Path(source).is_dir():
        dataset: Any = ImageFolder(source, transform)
    else:
        dataset = torch_dts.DTSDataset(source, transform)
    if num_images < len(dataset):
        dataset = torch.utils.data.Subset(dataset, range(num_images))
    options = {"shuffle": True, "seed": SEED, "mode": "partial", "timeout": TIMEOUT_S} | options
    return torch_dts.DataLoader(dataset, num_workers=num_workers, **options)


def digest(loader: torch_dts.DataLoader) -> str:
    """Of all batches of epoch 0, labels included, in their order."""
    hashed = hashlib.sha256()
    loader.set_epoch(0)
    for batch in loader:
        for tensor in batch:
            hashed.update(memoryview(tensor.contiguous().view(torch.uint8).numpy()))
    return hashed.hexdigest()[:16]


def powers_up_to(end: int) -> list[int]:
    """1, 2, 4, ... and `end`."""
    return sorted({end, *(1 << i for i in range(end.bit_length()) if 1 << i <= end)})


def num_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(source: str, given: argparse.Namespace) -> list[Row]:
    """Rates of 1 to N threads beside N times one thread, and beside what the machine allows."""
    counts = powers_up_to(num_cpus())
    with Processes(counts[-1], bare_epochs, (given.data, given.bare_images, given.batch_size)) as bare:
        loaders = [open_loader(source, given.images, n, batch_size=given.batch_size) for n in counts]
        ours = [
            Contestant(f"loader, {n}", epoch_of(loader)) for n, loader in zip(counts, loaders, strict=True)
        ]
        alone = [Contestant(f"bare work, {n}", bare.run_first(n)) for n in counts]
        in_turns([*ours, *alone], given.rounds)
    rows = []
    for n, loader, limit in zip(counts, ours, alone, strict=True):
        gain = loader.rate() / ours[0].rate()
        possible = limit.rate() / alone[0].rate()
        rows.append(
            {
                "threads": n,
                "images/s": loader.rate(),
                "CPU ms/image": loader.cpu_ms(),
                "of N times one thread, %": 100 * gain / n,
                "bare work in N processes, images/s": limit.rate(),
                "of N times one process, %": 100 * possible / n,
                "of the machine, %": 100 * gain / possible,
            }
        )
    return rows


def crowd(source: str, given: argparse.Namespace) -> list[Row]:
    """More threads than CPUs: rates, digests, futex calls."""
    counts = [n for n in given.crowd if n >= num_cpus()] or [num_cpus()]
    loaders = [open_loader(source, given.images, n, batch_size=given.batch_size) for n in counts]
    contestants = [Contestant(str(n), epoch_of(loader)) for n, loader in zip(counts, loaders, strict=True)]
    digests = [digest(loader) for loader in loaders]
    in_turns(contestants, given.rounds)
    command = [sys.executable, os.fspath(pathlib.Path(__file__).resolve()), given.data, "--traced", source]
    command += ["--images", str(given.images), "--batch-size", str(given.batch_size)]
    futex = count_futex_calls([*command, "--crowd", ",".join(map(str, counts))], len(counts))
    if futex is None:
        print("strace is not installed, or may not trace here: futex calls are not counted")
    best = max(one.rate() for one in contestants)
    rows = []
    for i, (n, one) in enumerate(zip(counts, contestants, strict=True)):
        row = {
            "threads": n,
            "images/s": one.rate(),
            "of the best, %": 100 * one.rate() / best,
            "CPU ms/image": one.cpu_ms(),
            "digest": digests[i],
        }
        if futex is not None:
            row["futex calls per 1000 samples"] = round(1000 * futex[i] / given.images)
        rows.append(row)
    if len(set(digests)) > 1:
        raise SystemExit(f"batches differ between numbers of threads:\n{of_rows('', rows).markdown()}")
    return rows


def traced_epochs(source: str, given: argparse.Namespace, mark: Callable[[], None]) -> None:
    """What strace watches: for each number of threads one epoch, between two marks."""
    for num_workers in given.crowd:
        run = epoch_of(open_loader(source, given.images, num_workers, batch_size=given.batch_size))
        run()
        mark()
        run()
        mark()


def ranks(source: str, given: argparse.Namespace) -> list[Row]:
    """Processes that share the CPUs; rates in sum."""
    rows = []
    for world in (1, 2, 4):
        arguments = (source, given.images, given.batch_size, max(1, num_cpus() // world), world)
        with Processes(world, rank_epochs, arguments) as group:
            contestant = Contestant(str(world), group.run_first(world))
            in_turns([contestant], given.rounds)
            seen = [index for part in group.ask() for index in part]
        if set(seen) != set(range(given.images)) or len(seen) >= given.images + world:
            raise SystemExit(
                f"{world} ranks gave {len(set(seen))} of {given.images} samples, {len(seen)} in all"
            )
        rows.append(
            {
                "ranks": world,
                "threads each": arguments[3],
                "images/s": contestant.rate(),
                "CPU ms/image": contestant.cpu_ms(),
                "fillers": len(seen) - given.images,
            }
        )
    for row in rows:
        row["of one rank, %"] = 100 * row["images/s"] / rows[0]["images/s"]
    return rows


def varied(name: str, values: Sequence[int], open_one: Callable[[int], Any], rounds: int) -> list[Row]:
    contestants = [Contestant(str(value), epoch_of(open_one(value))) for value in values]
    in_turns(contestants, rounds)
    return [
        {name: value, "images/s": one.rate(), "CPU ms/image": one.cpu_ms()}
        for value, one in zip(values, contestants, strict=True)
    ]


def batches(source: str, given: argparse.Namespace) -> list[Row]:
    sizes = [size for size in BATCH_SIZES if size <= given.images]
    return varied(
        "batch size",
        sizes,
        lambda size: open_loader(source, given.images, num_cpus(), batch_size=size),
        given.rounds,
    )


def sizes(source: str, given: argparse.Namespace) -> list[Row]:
    return varied(
        "image size",
        IMAGE_SIZES,
        lambda size: open_loader(source, given.images, num_cpus(), batch_size=given.batch_size, size=size),
        given.rounds,
    )


def plot(rows: Sequence[Row]) -> str:
    """Rates over threads, beside those of the bare work and N times one thread."""
    counts = [row["threads"] for row in rows]
    rates = [row["images/s"] for row in rows]
    bare = [row["bare work in N processes, images/s"] for row in rows]
    top = 1.1 * max(counts[-1] * rates[0], *rates, *bare)
    step = 10 ** (len(str(int(top))) - 1)
    return line_chart(
        "Images a second over threads",
        [
            Line("the loader", counts, rates),
            Line("bare work, N processes", counts, bare),
            Line("N times one thread", counts, [n * rates[0] for n in counts], is_dashed=True),
        ],
        Axis("threads", 0, counts[-1] + 1, counts),
        Axis("images/s", 0, top, range(0, int(top) + 1, step)),
    )


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", help="a folder of class folders of JPEGs")
    parser.add_argument("--file", help="the same folder, converted")
    parser.add_argument("--images", type=int, default=1000, help="the first so many of the set")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--crowd", type=numbers, default=CROWD, help="numbers of threads, with commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, with commas")
    parser.add_argument("--json", help="all numbers go here, too")
    parser.add_argument("--plot", help="rates over threads as SVG")
    parser.add_argument("--traced", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    given.images = min(given.images, len(ImageFolder(given.data)))
    given.bare_images = min(given.images, 600)
    given.parts = given.parts.split(",")
    return given


def measure(given: argparse.Namespace, file: str) -> dict[str, list[Row]]:
    """Runs the parts and prints their tables."""
    found: dict[str, list[Row]] = {}
    sources = {"folder": given.data, "level 0": file}
    for part in given.parts:
        # Where samples come from matters to the first two alone.
        for name, source in sources.items() if part in ("threads", "crowd") else [("level 0", file)]:
            rows = globals()[part](source, given)
            found[f"{part}, {name}"] = rows
            print("\n" + of_rows(f"{part}, {name}", rows).markdown(), flush=True)
    return found


def main() -> None:
    given = parsed()
    torch.set_num_threads(1)  # what the loop does with a batch must not count
    if given.traced is not None:
        from scaling_processes import mark

        traced_epochs(given.traced, given, mark)
        return
    print(f"{machine()}; {given.images} images, batches of {given.batch_size}, {given.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or os.fspath(
            torch_dts.convert(given.data, pathlib.Path(folder) / "data.dts", progress=False)
        )
        found = measure(given, file)
    if given.json:
        save(given.json, "scaling", [of_rows(title, rows) for title, rows in found.items()])
    if given.plot:
        rows = next((found[name] for name in found if name.startswith("threads")), None)
        if rows is None:
            raise SystemExit("--plot shows rates over threads: add threads to --parts")
        pathlib.Path(given.plot).write_text(plot(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
