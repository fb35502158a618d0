# SPDX-License-Identifier: Apache-2.0
"""How long a consumer waits that takes its time for each batch, as a GPU does: it sleeps."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from typing import Any

from results import Table

from epoch_parts.sets import RAW, ImageSet, name_of
from epoch_parts.ways import TORCH, Settings, make_loader

SPEEDS = (0.5, 1.0, 2.0)
WAYS = (
    ("torch DataLoader(ImageFolder)", TORCH, "partial"),
    ("ours, ImageFolder", RAW, "partial"),
    ("ours, LV0 PARTIAL", name_of(0), "partial"),
    ("ours, LV0 FULLY", name_of(0), "fully"),
    ("ours, LV3 PARTIAL", name_of(3), "partial"),
)


@dataclasses.dataclass
class Waits:
    """Seconds between the first batch and the end of an epoch, and those of them spent waiting."""

    seconds: float
    waited: float
    num_batches: int

    def share(self) -> float:
        return self.waited / self.seconds if self.seconds else 0.0


def consume(loader: Iterable[Any], seconds_each: float) -> Waits:
    """An epoch whose consumer sleeps with each batch; the wait for the first batch is left out."""
    iterator = iter(loader)
    batch = next(iterator, None)
    start = time.perf_counter()
    waited, num_batches = 0.0, 0
    while batch is not None:
        num_batches += 1
        if seconds_each:
            time.sleep(seconds_each)
        asked = time.perf_counter()
        batch = next(iterator, None)
        waited += time.perf_counter() - asked
    return Waits(time.perf_counter() - start, waited, num_batches)


def table(images: ImageSet, settings: Settings) -> Table:
    """A row for each loader; T is of its own mean batch time, measured in the epoch before."""
    made = Table(
        f"share of its time that a consumer waits, {images.num_images()} images in batches of"
        f" {settings.batch_size}",
        ["loader", "batch ms", *[f"T = {speed:g}" for speed in SPEEDS]],
    )
    for name, form, mode in WAYS:
        loader = make_loader(images, form, mode, settings)
        consume(loader, 0.0)  # workers start, memory fills
        free = consume(loader, 0.0)
        batch_seconds = free.seconds / free.num_batches
        shares = [f"{100 * consume(loader, speed * batch_seconds).share():.1f} %" for speed in SPEEDS]
        made.add(name, 1000 * batch_seconds, *shares)
        if hasattr(loader, "close"):
            loader.close()
    made.add("a loader with no hitch", None, *[f"{100 * max(0.0, 1 - speed):.1f} %" for speed in SPEEDS])
    made.notes.append(
        "The consumer sleeps T times the loader's own mean batch time with each batch. The first batch's"
        " wait does not count."
    )
    return made
