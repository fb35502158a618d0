#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each form of a file costs to make, takes on disk and gives in training, in one run.

    python examples/benchmarks/exports.py DATA [--rounds 3] [--num-workers 2] [--raw-size 400]

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py). Each form is
converted once, beside `cat` of the same files and a pool of processes that do level 3's resize and
encoding with Pillow alone. Then the forms are trained from in turns, as loader.py does,
with DataLoader(ImageFolder) as the base of the ratios, and FFCV beside them where it is installed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import io
import multiprocessing
import os
import pathlib
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from contestants import entry
from contestants.ours import forms
from contestants.work import Work, epoch_of, make_transform, run_of
from jpeg_kinds import KINDS, kind_of
from measuring import Contestant, in_turns, machine, table
from PIL import Image
from torchvision.datasets import ImageFolder

import torch_dts

# Bytes of a level over those of level 0, as published for ImageNet-1k.
PUBLISHED = {1: 0.468, 2: 0.469, 3: 0.325}


def cpu_seconds() -> float:
    """User and system time of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, seconds and CPU seconds."""
    start, cpu = time.perf_counter(), cpu_seconds()
    result = work()
    return result, time.perf_counter() - start, cpu_seconds() - cpu


def copy_all(paths: list[str], target: pathlib.Path) -> None:
    """cat files > target; sync."""
    with open(target, "wb") as out:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, out)
        out.flush()
        os.fsync(out.fileno())


def export_with_pillow(path: str) -> int:
    """Level 3 by Pillow alone, as a script would do it."""
    with Image.open(path) as opened:
        image: Image.Image = opened.convert("RGB")
    short = min(image.size)
    if short > 440:
        scale = 400.0 / short
        size = (int(image.width * scale), int(image.height * scale))
        image = image.resize(size, Image.Resampling.LANCZOS)
    most = (600, 400) if image.width > image.height else (400, 600)
    width, height = min(image.width, most[0]), min(image.height, most[1])
    left, top = (image.width - width) // 2, (image.height - height) // 2
    out = io.BytesIO()
    image.crop((left, top, left + width, top + height)).save(out, "JPEG", quality=80)
    return len(out.getvalue())


def pillow_pool(paths: list[str], num_workers: int) -> int:
    # Forked: what importing torch takes is not the pool's fault.
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        return sum(pool.map(export_with_pillow, paths, chunksize=16))


def line(name: str, num_images: int, seconds: float, cpu: float, more: str = "") -> None:
    rate, each = num_images / seconds, 1000 * cpu / num_images
    print(f"{name:<30}{seconds:9.2f} s {rate:9.0f} images/s {each:9.2f} CPU ms/image  {more}")


def report_kinds(paths: list[str], stored_sizes: list[int]) -> None:
    """Stored bytes beside the source's, by the way in which the source is coded."""
    sums = {kind: [0, 0, 0] for kind in KINDS}
    for path, stored in zip(paths, stored_sizes, strict=True):
        data = pathlib.Path(path).read_bytes()
        own = sums[kind_of(data)]
        own[0] += 1
        own[1] += len(data)
        own[2] += stored
    for kind, (count, before, after) in sums.items():
        if count:
            print(f"    {kind:<26}{count:6} images: {before:12,} bytes -> {after:12,}, {after / before:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", help="a folder of class folders of JPEGs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--raw-size", type=int, default=400)
    parser.add_argument("--skip-training", action="store_true", help="only convert")
    given = parser.parse_args()
    print(machine())
    torch.set_num_threads(1)  # what the loop does with a batch must not count
    folder = ImageFolder(given.data)
    paths = [path for path, _ in folder.samples]
    source_bytes = sum(os.path.getsize(path) for path in paths)
    print(f"{len(paths)} images, {source_bytes / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as temporary:
        files: dict[str, str] = {}
        first_bytes = 0
        for attempt in range(2):  # the first fills the page cache
            _, seconds, cpu = measure(lambda: copy_all(paths, pathlib.Path(temporary) / "all"))
            if attempt:
                line("cat files > out; sync", len(paths), seconds, cpu)
        _, seconds, cpu = measure(lambda: pillow_pool(paths, given.num_workers))
        line("level 3 by a pool of Pillow", len(paths), seconds, cpu)
        for key, options in forms(given.raw_size).items():
            name, target = entry(key).title, pathlib.Path(temporary) / f"{key}.dts"

            def work(target: pathlib.Path = target, options: dict[str, Any] = options) -> Any:
                report = torch_dts.convert(
                    given.data, target, num_workers=given.num_workers, progress=False, **options
                )
                os.sync()
                return report

            report, seconds, cpu = measure(work)
            stored = int(torch_dts.open(report).sizes.sum())
            first_bytes = first_bytes or stored
            more = f"{stored / source_bytes:.3f} of the source"
            if "level" in options:
                published = PUBLISHED[options["level"]]
                more += f"; of level 0: {stored / first_bytes:.3f} (published: {published})"
            line(name, len(paths), seconds, cpu, more)
            if "restart_interval" in options:
                report_kinds(paths, torch_dts.open(report).sizes.tolist())
            files[name] = os.fspath(report)
        if given.skip_training:
            return
        transform = make_transform(given.image_size)
        common = {"batch_size": given.batch_size, "shuffle": True, "num_workers": given.num_workers}
        baseline = torch.utils.data.DataLoader(
            ImageFolder(given.data, transform), persistent_workers=given.num_workers > 0, **common
        )
        contestants = [Contestant("torch DataLoader(ImageFolder)", epoch_of(baseline))]
        for name, file in files.items():
            loader = torch_dts.DataLoader(torch_dts.DTSDataset(file, transform), mode="partial", **common)
            contestants.append(Contestant(name, epoch_of(loader)))
        for key in ("ffcv_jpeg", "ffcv_raw"):
            rival, place = entry(key), pathlib.Path(temporary) / key
            missing = rival.missing()
            if missing is not None:
                print(f"{rival.title} is left out: {missing}")
                continue
            place.mkdir()
            task = Work(
                given.data,
                os.fspath(place),
                given.batch_size,
                given.image_size,
                given.num_workers,
                raw_size=given.raw_size,
            )
            rival.load().make(key, task)
            num_bytes = sum(path.stat().st_size for path in place.iterdir())
            print(f"{rival.title}: {num_bytes / source_bytes:.3f} of the source")
            contestants.append(Contestant(rival.title, run_of(rival.load().start(key, task))))
        in_turns(contestants, given.rounds)
        print(table(contestants))


if __name__ == "__main__":
    main()
