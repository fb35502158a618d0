# SPDX-License-Identifier: Apache-2.0
"""The article's table of ImageNet: one epoch of each form, mode and split, cold and warm."""

from __future__ import annotations

from results import Table

from epoch_parts import article
from epoch_parts.sets import RAW, ImageSet
from epoch_parts.ways import MODES, TORCH, ColdAndWarm, Settings, cold_and_warm, make_loader

CACHES = ("cold", "warm")


def measured(
    sets: dict[str, ImageSet], settings: Settings, num_rounds: int, num_warm: int, everything: bool
) -> dict[tuple[str, str, str], ColdAndWarm]:
    """Epochs of each (split, mode, form); torch's loader has the mode "partial"."""
    found = {}
    for split, images in sets.items():
        ways = [("partial", TORCH)] + [(mode, form) for mode in MODES for form in (RAW, *images.files)]
        for mode, form in ways:

            def make(images: ImageSet = images, form: str = form, mode: str = mode) -> object:
                return make_loader(images, form, mode, settings)

            paths = images.paths_of(RAW if form == TORCH else form)
            one = cold_and_warm(make, paths, num_rounds, num_warm, everything)
            counted = {counts.num_images for counts in [*one.cold, *one.warm]}
            if counted != {images.num_images()}:
                raise RuntimeError(f"{form}, {mode}, {split}: {counted} came, not {images.num_images()}")
            found[split, mode, form] = one
    return found


def tables(
    found: dict[tuple[str, str, str], ColdAndWarm], settings: Settings, everything: bool
) -> list[Table]:
    """One table for each cache and split, with the article's speed-ups beside ours."""
    work = "load only" if settings.load_only else "whole pipeline"
    made = []
    for cache in CACHES:
        for split in dict.fromkeys(split for split, _, _ in found):
            columns = ["form", "mode", "s", "images/s", "CPU ms/image"]
            if settings.load_only:
                columns.append("MB/s")
            columns += ["times torch", "times RAW", "article: times RAW"]
            num_images = found[split, "partial", RAW].warm[0].num_images
            table = Table(f"{work}, {cache} cache, {split}: {num_images} images", columns)
            base = found[split, "partial", TORCH].seconds(cache)
            for (one_split, mode, form), one in found.items():
                if one_split != split:
                    continue
                seconds = one.seconds(cache)
                raw = found[split, mode, RAW].seconds(cache)
                is_torch = form == TORCH
                cells = ["torch DataLoader" if is_torch else form, "" if is_torch else mode.upper()]
                row = [*cells, seconds, num_images / seconds, one.cpu_ms(cache)]
                if settings.load_only:
                    row.append(one.warm[0].num_bytes / seconds / 1e6)
                row += [base / seconds, None if is_torch else raw / seconds]
                row.append(None if is_torch else article.speed_up(cache, mode, split, form))
                table.add(*row)
            made.append(table)
            if cache == "cold":
                left = max(one.left_cached for (s, _, _), one in found.items() if s == split)
                dropped = "pages, inodes and directories" if everything else "pages of the set's files"
                table.notes.append(
                    f"Cold: {dropped} were dropped before each epoch; at most {100 * left:.2f} % of the"
                    " bytes were still cached, by mincore."
                )
    return made
