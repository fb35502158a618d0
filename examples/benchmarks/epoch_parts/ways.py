# SPDX-License-Identifier: Apache-2.0
"""Ways to go through a set: loaders by name, and loops that touch all of a batch."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from contestants.work import MEAN, STD, make_transform
from measuring import PROC, process_tree
from torchvision import transforms as v1
from torchvision.datasets import DatasetFolder, ImageFolder
from torchvision.datasets.folder import IMG_EXTENSIONS

import torch_dts
from epoch_parts import page_cache
from epoch_parts.sets import RAW, ImageSet

TORCH = "torch"
MODES = ("fully", "partial")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What all loaders of a run share."""

    num_workers: int = 2
    batch_size: int = 256
    image_size: int = 224
    load_only: bool = True


def read_bytes(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


def keep_lists(batch: list[tuple[bytes, int]]) -> tuple[list[bytes], list[int]]:
    """Bytes as they are: a tensor for each would be a shared file for each."""
    return [data for data, _ in batch], [label for _, label in batch]


def transform_of(split: str, size: int) -> v1.Compose:
    """The recipe of ImageNet for a split, to normalized float32."""
    if split == "train":
        return make_transform(size)
    return v1.Compose([v1.Resize(size * 8 // 7), v1.CenterCrop(size), v1.ToTensor(), v1.Normalize(MEAN, STD)])


def make_loader(images: ImageSet, form: str, mode: str, settings: Settings, **more: Any) -> Any:
    """A loader of a form of a set: RAW, a level, or TORCH, which has no mode."""
    common: dict[str, Any] = {
        "batch_size": settings.batch_size,
        "shuffle": images.split == "train",
        "num_workers": settings.num_workers,
    }
    transform = None if settings.load_only else transform_of(images.split, settings.image_size)
    if form == TORCH:
        common["persistent_workers"] = settings.num_workers > 0
        if settings.load_only:
            dataset: Any = DatasetFolder(images.folder, read_bytes, IMG_EXTENSIONS)
            return torch.utils.data.DataLoader(dataset, collate_fn=keep_lists, **common)
        return torch.utils.data.DataLoader(ImageFolder(images.folder, transform), **common)
    common["mode"] = mode
    if settings.load_only:
        common["decode"] = "none"
    common.update(more)
    dataset = (
        ImageFolder(images.folder, transform)
        if form == RAW
        else torch_dts.DTSDataset(images.files[form], transform)
    )
    return torch_dts.DataLoader(dataset, **common)


def touch(data: Any) -> int:
    """Reads every byte of an encoded image; returns how many there are."""
    array = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data.numpy()
    np.count_nonzero(array)  # the cheapest that looks at each byte
    return int(array.size)


def cpu_seconds() -> float:
    """CPU time of this process to the nanosecond, and of worker processes in ticks of the system."""
    ticks = 0
    for number in process_tree()[1:]:
        try:
            fields = (PROC / str(number) / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it ended meanwhile
        ticks += int(fields[11]) + int(fields[12])  # utime and stime
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Counts:
    """What an epoch delivered: images, and bytes where it delivered bytes."""

    num_images: int = 0
    num_bytes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def run_epoch(loader: Iterable[Any]) -> Counts:
    """One epoch, from iter() to the end; every byte, or a value of each decoded image, is read."""
    counts = Counts()
    cpu, start = cpu_seconds(), time.perf_counter()
    for images, labels in loader:
        if isinstance(images, torch.Tensor):
            if images.dtype == torch.uint8:
                counts.num_images += len(images)
                counts.num_bytes += touch(images.reshape(-1))
            else:
                counts.num_images += int(images[:, 0, 0, 0].isfinite().sum()) + 0 * int(labels[0])
        else:
            counts.num_images += len(images)
            counts.num_bytes += sum(map(touch, images))
    counts.seconds = time.perf_counter() - start
    counts.cpu_seconds = cpu_seconds() - cpu
    return counts


@dataclasses.dataclass
class ColdAndWarm:
    """Epochs of one way, and how much stayed in the page cache before the cold ones."""

    cold: list[Counts] = dataclasses.field(default_factory=list)
    warm: list[Counts] = dataclasses.field(default_factory=list)
    left_cached: float = 0.0

    def _epochs(self, cache: str) -> list[Counts]:
        return self.cold if cache == "cold" else self.warm

    def seconds(self, cache: str) -> float:
        """The median."""
        return statistics.median(counts.seconds for counts in self._epochs(cache))

    def cpu_ms(self, cache: str) -> float:
        """CPU milliseconds an image, the median."""
        return statistics.median(
            1000 * counts.cpu_seconds / counts.num_images for counts in self._epochs(cache)
        )


def cold_and_warm(
    make: Callable[[], Any], paths: list[str], num_rounds: int, num_warm: int = 2, everything: bool = False
) -> ColdAndWarm:
    """In each round: a new loader, an epoch with no file in the page cache, then warm epochs.

    The files' pages are dropped when the loader is made and the index has been read, just before
    the epoch. With mode "fully" the warm epochs are from memory, as in the article.
    """
    found = ColdAndWarm()
    for _ in range(num_rounds):
        loader = make()
        if everything:
            page_cache.drop_everything()
        found.left_cached = max(found.left_cached, page_cache.drop(paths))
        for number in range(1 + num_warm):
            (found.warm if number else found.cold).append(run_epoch(loader))
        if hasattr(loader, "close"):
            loader.close()
        del loader
    return found
