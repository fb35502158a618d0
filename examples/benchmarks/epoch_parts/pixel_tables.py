# SPDX-License-Identifier: Apache-2.0
"""The article's tables of MNIST, CIFAR-10 and CIFAR-100: torchvision's object and our pixel file.

A time is that of a script that starts: the set is opened, read from its files, and gone through once.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import statistics
import time
from typing import Any

import torch
from results import Table
from torchvision import transforms as v1

import torch_dts
from epoch_parts import article, page_cache, pixel_files
from epoch_parts.ways import TORCH, Settings, run_epoch

RAW, DTS = "RAW", "DTS"


def transform_of(name: str, split: str) -> v1.Compose:
    """The usual recipe."""
    if name == "MNIST":
        return v1.Compose([v1.ToTensor(), v1.Normalize((0.1307,), (0.3081,))])
    values = v1.ToTensor(), v1.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    if split == "val":
        return v1.Compose(values)
    return v1.Compose([v1.RandomCrop(32, padding=4), v1.RandomHorizontalFlip(), *values])


@dataclasses.dataclass
class PixelSet:
    """The files of one split of a set, and our file made from them."""

    name: str
    split: str
    root: str
    is_real: bool
    file: str

    def paths_of(self, form: str) -> list[str]:
        if form == DTS:
            return [self.file]
        return pixel_files.files_of(self.root, self.name, self.split)


def pixel_set(name: str, split: str, given: str | None, work: pathlib.Path, most: int | None) -> PixelSet:
    """Finds or makes the files of a split, and converts them once."""
    root, is_real = pixel_files.find_or_make(given, work, name, most)
    file = work / f"{name}_{split}_{'real' if is_real else most or 'all'}.dts"
    if not file.exists():
        torch_dts.convert(pixel_files.opened(root, name, split), file, progress=False)
    return PixelSet(name, split, root, is_real, os.fspath(file))


def once(pixels: PixelSet, form: str, settings: Settings) -> tuple[float, Any]:
    """Seconds to open the set and go through it once; counts of the epoch."""
    transform = None if settings.load_only else transform_of(pixels.name, pixels.split)
    common: dict[str, Any] = {
        "batch_size": settings.batch_size,
        "shuffle": pixels.split == "train",
        "num_workers": settings.num_workers,
    }
    if settings.load_only:
        common["decode"] = "none"  # torch's loader takes no part then
    start = time.perf_counter()
    if form == DTS:
        dataset: Any = torch_dts.DTSDataset(pixels.file, transform)
    else:
        dataset = pixel_files.opened(pixels.root, pixels.name, pixels.split, transform)
    kind = torch.utils.data.DataLoader if form == TORCH else torch_dts.DataLoader
    loader = kind(dataset, **common)
    counts = run_epoch(loader)
    seconds = time.perf_counter() - start
    if form != TORCH:
        loader.close()
    return seconds, counts


def table(sets: list[PixelSet], settings: Settings, num_rounds: int) -> Table:
    """Medians; torch's DataLoader takes part where pixels are computed with."""
    work = "load only" if settings.load_only else "whole pipeline"
    columns = ["set", "split", "cache", "RAW s", "DTS s", "DTS images/s", "times RAW", "article: times RAW"]
    if not settings.load_only:
        columns += ["torch DataLoader s", "times torch"]
    made = Table(f"{work}: small sets, opened and read once", columns)
    forms = [RAW, DTS] + ([] if settings.load_only else [TORCH])
    left = 0.0
    for pixels in sets:
        for cache in ("cold", "warm"):
            seconds: dict[str, list[float]] = {form: [] for form in forms}
            num_images = 0
            for number in range(num_rounds):
                for form in forms:
                    if form == TORCH and number:
                        continue  # its seconds are many, and steady
                    if cache == "cold":
                        left = max(left, page_cache.drop(pixels.paths_of(form)))
                    took, counts = once(pixels, form, settings)
                    seconds[form].append(took)
                    num_images = counts.num_images
            raw, dts = statistics.median(seconds[RAW]), statistics.median(seconds[DTS])
            published = article.PIXELS[cache, pixels.name][pixels.split]
            row = [pixels.name, pixels.split, cache, raw, dts, num_images / dts, raw / dts]
            row.append(published[0] / published[1])
            if TORCH in forms:
                slow = statistics.median(seconds[TORCH])
                row += [slow, slow / dts]
            made.add(*row)
    if not all(pixels.is_real for pixels in sets):
        made.notes.append("Random pixels in files of the original names, formats and sizes.")
    made.notes.append(f"Still cached before a cold run: at most {100 * left:.2f} %.")
    return made
