# SPDX-License-Identifier: Apache-2.0
"""A cold epoch of level 0 beside the disk's own rate: big preads of the same file, dropped before."""

from __future__ import annotations

import os
import statistics
import time

from results import Table

from epoch_parts import page_cache
from epoch_parts.sets import ImageSet
from epoch_parts.ways import Settings, make_loader, run_epoch

PIECE_BYTES = 4 << 20


def sequential_seconds(path: str) -> float:
    """Seconds to read a file from its beginning to its end by one thread in pieces of 4 MiB."""
    piece = bytearray(PIECE_BYTES)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        start, offset = time.perf_counter(), 0
        while count := os.preadv(descriptor, [piece], offset):
            offset += count
        return time.perf_counter() - start
    finally:
        os.close(descriptor)


def table(images: ImageSet, form: str, settings: Settings, num_rounds: int) -> Table:
    """Rates in turns: the disk, then each mode with a new loader; medians, lowest and highest."""
    path = images.files[form]
    size = os.path.getsize(path)
    names = ("preads of 4 MiB, one thread", f"{form} PARTIAL", f"{form} FULLY")
    rates: dict[str, list[float]] = {name: [] for name in names}
    left = 0.0
    for _ in range(num_rounds):
        left = max(left, page_cache.drop([path]))
        rates[names[0]].append(size / sequential_seconds(path) / 1e6)
        for name, mode in zip(names[1:], ("partial", "fully"), strict=True):
            loader = make_loader(images, form, mode, settings)
            left = max(left, page_cache.drop([path]))
            rates[name].append(size / run_epoch(loader).seconds / 1e6)
            loader.close()
    made = Table(
        f"cold cache: {form} beside the disk's sequential rate",
        ["", "MB/s", "lowest..highest", "of the disk's"],
    )
    disk = statistics.median(rates[names[0]])
    for name, each in rates.items():
        median = statistics.median(each)
        made.add(name, median, f"{min(each):,.0f}..{max(each):,.0f}", median / disk)
    made.notes.append(f"Still cached before an epoch: at most {100 * left:.2f} %.")
    return made
