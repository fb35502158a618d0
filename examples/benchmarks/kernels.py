#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each step of an image alone: ours beside Pillow's, torchvision's and OpenCV's, and beside memory.

    python examples/benchmarks/kernels.py DATA [--images 24] [--rounds 15] [--groups decode,...] [--json FILE]

DATA is a folder of JPEGs (make one with make_imagenet_like.py); as many of them as `--images` are taken
whose size is the commonest. One thread each, in turns in one run; CPU time, medians over the rounds. Ours
is called as `run_plan`, `fused_normalize` and `Splicer` are, over all images in one call; the others image by
image, as their users do. OpenCV takes part where it is installed.

* ns a pixel: of the pixels that are decoded, read by a resize, or written by any other step.
* GB/s: bytes read and written, where those are counted in pixels; copying memory says how much goes at all:
  of one image, which stays in the cache, and of 64 MB.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from kernel_groups import GROUPS, Images
from measuring import machine
from overhead import keep_freed_memory
from PIL import Image
from results import Table, of_rows, save

import torch_dts  # noqa: F401  the ops
from torch_dts import _native

OURS = "ours"
Row = dict[str, Any]


@dataclasses.dataclass
class Kernel:
    """One way to do one step: `work` does it to `num_pixels` pixels, moving `num_bytes` (0: not counted)."""

    group: str
    step: str
    way: str
    work: Callable[[], object]
    num_pixels: int
    num_bytes: int
    num_images: int = 1
    times_ns: list[int] = dataclasses.field(default_factory=list)

    def measure(self) -> None:
        start = time.thread_time_ns()
        self.work()
        self.times_ns.append(time.thread_time_ns() - start)

    def ns_per_pixel(self) -> float:
        return statistics.median(self.times_ns) / self.num_pixels

    def row(self, best: float) -> Row:
        """`best`: ns a pixel of the fastest way that isn't ours."""
        ns = self.ns_per_pixel()
        return {
            "step": self.step,
            "way": self.way,
            "ns a pixel": ns,
            "ms an image": ns * self.num_pixels / self.num_images / 1e6,
            "GB/s": self.num_bytes / statistics.median(self.times_ns) if self.num_bytes else None,
            "times the best other": best / ns if self.way.startswith(OURS) and best else None,
        }


def commonest(files: Sequence[pathlib.Path], count: int) -> list[bytes]:
    """The first `count` RGB JPEGs of the size that most of the files have."""
    by_size: dict[tuple[int, int], list[pathlib.Path]] = collections.defaultdict(list)
    for path in files:
        with Image.open(path) as image:
            if image.format == "JPEG" and image.mode == "RGB":
                by_size[image.size].append(path)
    if not by_size:
        raise SystemExit("there are no RGB JPEGs in the folder")
    return [path.read_bytes() for path in max(by_size.values(), key=len)[:count]]


def rows_of(kernels: Sequence[Kernel]) -> Iterator[Row]:
    """By step, ours first."""
    for step in dict.fromkeys(kernel.step for kernel in kernels):
        ways = [kernel for kernel in kernels if kernel.step == step]
        others = [one.ns_per_pixel() for one in ways if not one.way.startswith(OURS)]
        for kernel in ways:
            yield kernel.row(min(others, default=0.0))


def lost(kernels: Sequence[Kernel]) -> list[str]:
    """A line for each step at which another way is faster than the fastest of ours."""
    lines = []
    for step in dict.fromkeys((kernel.group, kernel.step) for kernel in kernels):
        ways = [kernel for kernel in kernels if (kernel.group, kernel.step) == step]
        ours = [kernel for kernel in ways if kernel.way.startswith(OURS)]
        best = min(ways, key=Kernel.ns_per_pixel)
        if ours and best not in ours:
            own = min(kernel.ns_per_pixel() for kernel in ours)
            lines.append(
                f"{step[0]}, {step[1]}: {best.way} {best.ns_per_pixel():.3g} ns a pixel, ours {own:.3g}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", help="a folder of JPEGs")
    parser.add_argument("--images", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--groups", default=",".join(GROUPS), help="what to measure, with commas")
    parser.add_argument("--json", help="all numbers go here, too")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    torch.zeros(256 << 20, dtype=torch.uint8)  # memory that the system need not clear for anybody
    files = sorted(path for path in pathlib.Path(given.data).rglob("*") if path.is_file())[:1000]
    images = Images(commonest(files, given.images))
    kernels = [
        Kernel(group, *one, num_images=len(images.encoded))
        for group in given.groups.split(",")
        for one in GROUPS[group](images)
    ]
    for kernel in kernels:
        kernel.work()  # code and memory warm up
    for number in range(given.rounds):
        first = number % len(kernels)
        for kernel in [*kernels[first:], *kernels[:first]]:
            kernel.measure()
    print(f"{machine()}, {_native.jpeg_library()}, {images.versions()}")
    size = f"{images.width} x {images.height}"
    print(f"{len(images.encoded)} images of {size} pixels, {given.rounds} rounds")
    tables = [
        of_rows(group, list(rows_of([kernel for kernel in kernels if kernel.group == group])))
        for group in given.groups.split(",")
    ]
    tables.append(Table("where another is faster", ["step"], [[line] for line in lost(kernels)]))
    for table in tables:
        print("\n" + table.markdown())
    if given.json:
        save(given.json, "kernels", tables)


if __name__ == "__main__":
    main()
