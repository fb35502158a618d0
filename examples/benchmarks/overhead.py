#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a loader costs beyond the work itself: CPU time beside the bare work over the same bytes, in turns.

    python examples/benchmarks/overhead.py DATA [--file DATA.dts] [--images 1024] [--rounds 5]

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py); FILE is the same
folder converted. The bare work is decoding, resampling and the fused tail of the same images with the
same random choices, done by an op over bytes in memory in as many threads as the loader has workers (two
halves of one core are slower each than one alone), and reading: the same files, or whole blocks
with their CRC-32. What the loader takes beyond both is its own.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import statistics
import threading
import time
from collections.abc import Callable

import torch
from contestants.work import make_transform
from measuring import machine
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import _native

SEED = 1


def keep_freed_memory() -> None:
    """Results of the bare op use their memory again, as the loader's batches do (glibc)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD
        mallopt(-8, 1)  # M_ARENA_MAX: threads have arenas of their own, which keep less


def bare_work(paths: list[str], plan: str, batch_size: int) -> Callable[[], None]:
    """Decoding to the fused tail, in the thread that calls it."""
    datas = [pathlib.Path(path).read_bytes() for path in paths]
    sizes = torch.tensor([len(data) for data in datas])
    arena = torch.frombuffer(bytearray(b"".join(datas)), dtype=torch.uint8)
    offsets, shapes = sizes.cumsum(0) - sizes, torch.zeros(len(datas), 3, dtype=torch.int64)
    indices, never = torch.arange(len(datas)), torch.empty(0, dtype=torch.int64)

    def run() -> None:
        for start in range(0, len(datas), batch_size):
            part = slice(start, start + batch_size)
            _native.run_plan(
                arena, offsets[part], sizes[part], shapes[part], plan, indices[part], never, SEED, 0
            )

    return run


def in_threads(works: list[Callable[[], None]]) -> Callable[[], None]:
    """All of them side by side; the op holds no lock of Python's."""

    def run() -> None:
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def reading_files(paths: list[str], batch_size: int) -> Callable[[], None]:
    """Opening and reading each file."""
    sizes = torch.tensor([pathlib.Path(path).stat().st_size for path in paths])
    arena = torch.empty(int(sizes.sum()), dtype=torch.uint8).zero_()

    def run() -> None:
        for start in range(0, len(paths), batch_size):
            part = sizes[start : start + batch_size]
            _native.read_files_into(paths[start : start + batch_size], part.cumsum(0) - part, part, arena)

    return run


def reading_blocks(file: torch_dts.DTSFile) -> Callable[[], None]:
    """Whole blocks and their CRC-32."""
    arena = torch.empty(file.header.block_size, dtype=torch.uint8).zero_()

    def run() -> None:
        for block in range(file.num_blocks):  # the file stays open with this function
            _native.read_blocks(file.block_handle(), torch.tensor([block]), arena)

    return run


def epoch(loader: torch_dts.DataLoader) -> Callable[[], None]:
    """The loader's epoch 0."""

    def run() -> None:
        loader.set_epoch(0)
        for _ in loader:
            pass

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of class folders of JPEGs")
    parser.add_argument("--file", help="the same folder, converted")
    parser.add_argument("--images", type=int, default=1024, help="of the folder; a file is read whole")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=224)
    given = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(1)
    transform = make_transform(given.size)
    plan = torch_dts.transforms.compile(transform).plan
    assert plan is not None
    folder = ImageFolder(given.data, transform)
    dataset: torch.utils.data.Dataset[object] = folder
    if given.file is None:
        folder.samples = folder.samples[: given.images]
    else:
        dataset = torch_dts.DTSDataset(given.file, transform)
    paths = [path for path, _ in folder.samples]
    loader = torch_dts.DataLoader(
        dataset,
        given.batch_size,
        shuffle=True,
        seed=SEED,
        num_workers=given.num_workers,
        mode="partial",
    )
    num_threads = max(1, given.num_workers)
    parts = {
        "the work": in_threads(
            [bare_work(paths[i::num_threads], plan.encode(), given.batch_size) for i in range(num_threads)]
        ),
        "reading": reading_files(paths, given.batch_size)
        if given.file is None
        else reading_blocks(torch_dts.open(given.file)),
        "the loader": epoch(loader),
    }
    times: dict[str, list[float]] = {name: [] for name in parts}
    for number in range(given.rounds + 1):
        for name, run in parts.items():
            start = time.process_time()
            run()
            if number:  # the first one warms up
                times[name].append((time.process_time() - start) * 1e3 / len(paths))
    print(machine())
    print(f"{len(paths)} images, {given.num_workers} workers, batches of {given.batch_size}, CPU ms an image")
    for name, each in times.items():
        print(f"{name:12} {statistics.median(each):7.4f}  ({min(each):.4f} to {max(each):.4f})")
    beyond = [
        loaded - work - read
        for work, read, loaded in zip(times["the work"], times["reading"], times["the loader"], strict=True)
    ]
    share = statistics.median(more / loaded for more, loaded in zip(beyond, times["the loader"], strict=True))
    print(f"{'beyond both':12} {statistics.median(beyond):7.4f}, {100 * share:.1f} % of the loader")


if __name__ == "__main__":
    main()
