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
from measuring import Contestant, in_turns, machine, peak_tree_memory, table, tree_memory_bytes
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import torch_dts

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_transform(size: int) -> v1.Compose:
    return v1.Compose(
        [
            v1.RandomResizedCrop(size),
            v1.RandomHorizontalFlip(),
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )


def epoch_of(loader: Any) -> Callable[[], int]:
    """A function that runs one epoch and returns its number of images."""

    def run() -> int:
        num_images = 0
        for images, labels in loader:
            # one value of each image, so that no batch goes by unread
            num_images += int(images[:, 0, 0, 0].isfinite().sum()) + 0 * int(labels[0])
        return num_images

    return run


def dali_epoch(folder: str, batch_size: int, num_threads: int, size: int) -> Callable[[], int] | None:
    """DALI's CPU pipeline over the same files; None where it is not installed."""
    try:
        from nvidia.dali import fn, pipeline_def, types
        from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
    except ImportError:
        return None

    @pipeline_def(batch_size=batch_size, num_threads=num_threads, device_id=None, prefetch_queue_depth=2)
    def pipeline() -> Any:
        encoded, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
        images = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB)
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_LINEAR, antialias=True)
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
            mirror=fn.random.coin_flip(),
        )
        return images, labels

    built = pipeline()
    built.build()
    iterator = DALIGenericIterator(
        [built], ["image", "label"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )

    def run() -> int:
        num_images = 0
        for batch in iterator:
            images = batch[0]["image"]
            num_images += int(images[:, 0, 0, 0].isfinite().sum())
        iterator.reset()
        return num_images

    return run


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
    dali = dali_epoch(folder, given.batch_size, max(1, given.num_workers), given.image_size)
    if dali is None:
        print("DALI is not installed (pip install nvidia-dali-cuda130): left out")
    else:
        contestants.append(Contestant("DALI, CPU pipeline", dali))
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
