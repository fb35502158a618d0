#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_dts.DataLoader beside torch's DataLoader(ImageFolder), in turns in one run.

    python examples/benchmarks/loader.py DATA [--rounds 3] [--num-workers 2] [--batch-size 256]
    python examples/benchmarks/loader.py DATA --memory       # peak memory and time to the first batch

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py). The work is
RandomResizedCrop(224), flip, ToTensor, Normalize to float32; every batch is touched; torch's
workers are kept from epoch to epoch and everyone has one epoch to warm up. DALI's CPU
pipeline takes part where nvidia.dali is installed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from contestants import entry
from contestants.work import Work, epoch_of, make_transform, run_of
from measuring import Contestant, in_turns, machine, peak_tree_memory, table, tree_memory_bytes
from torchvision.datasets import ImageFolder

import torch_dts


def make_loaders(folder: str, file: str, given: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Makers of the loaders by name."""
    transform = make_transform(given.image_size)
    common = {"batch_size": given.batch_size, "shuffle": True, "num_workers": given.num_workers}
    return {
        "torch DataLoader(ImageFolder)": lambda: torch.utils.data.DataLoader(
            ImageFolder(folder, transform), persistent_workers=given.num_workers > 0, **common
        ),
        "ours, ImageFolder": lambda: torch_dts.DataLoader(
            ImageFolder(folder, transform), mode="partial", **common
        ),
        "ours, level 0, partial": lambda: torch_dts.DataLoader(
            torch_dts.DTSDataset(file, transform), mode="partial", **common
        ),
        "ours, level 0, fully": lambda: torch_dts.DataLoader(
            torch_dts.DTSDataset(file, transform), mode="fully", **common
        ),
    }


def speed(folder: str, file: str, given: argparse.Namespace) -> None:
    contestants = [
        Contestant(name, epoch_of(make())) for name, make in make_loaders(folder, file, given).items()
    ]
    dali = entry("dali")
    missing = dali.missing()
    if missing is None:
        work = Work(folder, "", given.batch_size, given.image_size, given.num_workers)
        contestants.append(Contestant("DALI, CPU pipeline", run_of(dali.load().start("dali", work))))
    else:
        print(f"DALI is left out: {missing}")
    in_turns(contestants, given.rounds)
    print(table(contestants))


def _first_batch_and_peak(folder: str, file: str, name: str, given: argparse.Namespace, results: Any) -> None:
    """Runs in a process of its own: seconds to the first batch, peak memory over the idle process."""
    idle = tree_memory_bytes()
    make = make_loaders(folder, file, given)[name]
    with peak_tree_memory() as peak:
        start = time.perf_counter()
        loader = make()
        iterator = iter(loader)
        images, _ = next(iterator)
        first = time.perf_counter() - start
        float(images.flatten()[0])
        for _ in range(8):
            next(iterator, None)
        results.put((first, peak() - idle))


def memory(folder: str, file: str, given: argparse.Namespace) -> None:
    batch = given.batch_size * 3 * given.image_size**2 * 4
    print(f"a batch: {batch / 1e6:.0f} MB")
    print(f"{'':<34}{'first batch, s':>15} {'peak over idle, MB':>19}")
    context = multiprocessing.get_context("spawn")
    for name in make_loaders(folder, file, given):
        results = context.Queue()
        process = context.Process(target=_first_batch_and_peak, args=(folder, file, name, given, results))
        process.start()
        first, peak = results.get()
        process.join()
        print(f"{name:<34}{first:15.3f} {peak / 1e6:19.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", help="a folder of class folders of JPEGs")
    parser.add_argument("--file", help="its .dts file, made in a temporary folder where not given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--memory", action="store_true", help="peak memory and time to the first batch")
    given = parser.parse_args()
    print(machine())
    torch.set_num_threads(1)  # what the loop does with a batch must not count
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or os.fspath(
            torch_dts.convert(given.data, pathlib.Path(folder) / "data.dts", progress=False)
        )
        (memory if given.memory else speed)(given.data, file, given)


if __name__ == "__main__":
    main()
