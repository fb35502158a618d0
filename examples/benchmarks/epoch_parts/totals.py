# SPDX-License-Identifier: Apache-2.0
"""What many epochs take together: the first, cold, and the others."""

from __future__ import annotations

import dataclasses
import statistics

from results import Table

from epoch_parts import article, page_cache
from epoch_parts.sets import RAW, ImageSet
from epoch_parts.ways import MODES, TORCH, Settings, make_loader, run_epoch


@dataclasses.dataclass
class Total:
    """Seconds of the epochs that were measured, of `num_epochs` that are asked for."""

    seconds: list[float]
    num_epochs: int

    def is_measured(self) -> bool:
        return len(self.seconds) == self.num_epochs

    def total(self) -> float:
        """All measured, or the first and the median of the later ones for each that is missing."""
        missing = self.num_epochs - len(self.seconds)
        if missing == 0:
            return sum(self.seconds)
        return sum(self.seconds) + missing * statistics.median(self.seconds[1:])


def measure(
    images: ImageSet, form: str, mode: str, settings: Settings, num_epochs: int, most: float
) -> Total:
    """Epochs of one loader, the first cold, until all are done or `most` seconds are over.

    At least three epochs are measured (or all, where they are fewer).
    """
    loader = make_loader(images, form, mode, settings)
    page_cache.drop(images.paths_of(RAW if form == TORCH else form))
    found = Total([], num_epochs)
    while len(found.seconds) < num_epochs:
        if len(found.seconds) >= 3 and sum(found.seconds) > most:
            break
        found.seconds.append(run_epoch(loader).seconds)
    if hasattr(loader, "close"):
        loader.close()
    return found


def table(images: ImageSet, settings: Settings, num_epochs: int, most: float) -> Table:
    """Totals of RAW and the levels in both modes beside torch's DataLoader."""
    work = "load only" if settings.load_only else "whole pipeline"
    made = Table(
        f"{work}: {num_epochs} epochs of {images.num_images()} images ({images.split}), the first one cold",
        [
            "form",
            "mode",
            "total s",
            "how",
            "first s",
            "later s",
            "times torch",
            "times RAW",
            "article: times RAW",
        ],
    )
    base = measure(images, TORCH, "partial", settings, num_epochs, most)
    rows = [("torch DataLoader", "", base, None, None)]
    for mode in MODES:
        raw = 0.0
        for form in (RAW, *images.files):
            one = measure(images, form, mode, settings, num_epochs, most)
            raw = one.total() if form == RAW else raw
            rows.append((form, mode.upper(), one, raw / one.total(), article.total_speed_up(mode, form)))
    for name, mode_name, one, times, published in rows:
        how = "measured" if one.is_measured() else f"from {len(one.seconds)} epochs"
        later = statistics.median(one.seconds[1:] or one.seconds)
        row = [name, mode_name, one.total(), how, one.seconds[0], later, base.total() / one.total()]
        made.add(*row, times, published)
    made.notes.append(
        '"from N epochs": the sum of those and, for each missing one, the median of all but the first.'
        " The article's totals are of 1000 epochs."
    )
    return made
