# SPDX-License-Identifier: Apache-2.0
"""Figures of a benchmark -> what to do about them, in sentences.

Every sentence says only what the figures show.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_dts._words import num_of
from torch_dts.cli._bench_figures import Export, Exports, Figures, Rate
from torch_dts.cli._output import human_bytes
from torch_dts.loader._memory import SHARE

_WORTH = 1.1  # below such a factor nothing is advised: figures are not that exact
_ENOUGH = 0.95
_CROWDED = 0.75
_MUCH_WAITING = 0.02
_SLOW_START_S = 3.0


def advise(figures: Figures) -> list[str]:
    """The advice, the most important first; at least what limits where any rate was measured."""
    chosen = figures.chosen or figures.best
    if chosen is None:
        return []
    found = [_limit(figures, chosen)]
    is_crowded = _is_crowded(figures, chosen)
    if is_crowded:
        found.append(
            f"The threads got the time of {chosen.num_cpus_used:.1f} of {num_of(figures.num_cpus, 'CPU')}: "
            "other work runs here. Measure again when it is done."
        )
    found += _consumer(figures)
    found += _python(figures)
    found += _disk(figures, chosen)
    found += _exports(figures, chosen)
    if not is_crowded:
        found += _threads(figures, chosen)
    found += _start(figures, chosen)
    return found


def _threads_of(rate: Rate) -> str:
    return num_of(rate.num_workers, "thread") if rate.num_workers else "the caller's thread"


def _gives(rate: Rate) -> str:
    gives = "give" if rate.num_workers > 1 else "gives"
    return f"{_threads_of(rate)} {gives} {rate.images_per_s:,.0f} images/s"


def _limit(figures: Figures, rate: Rate) -> str:
    if rate.bottleneck == "decoding":
        cpu = "" if rate.cpu_ms is None else f", {rate.cpu_ms:.2f} ms of CPU time an image"
        return f"Decoding limits: {_gives(rate)}{cpu}."
    if rate.bottleneck == "disk":
        return (
            f"Reading limits: {_gives(rate)} at {rate.read_bytes_per_s / 1e6:,.0f} MB/s, and the threads "
            "mostly wait for bytes."
        )
    if rate.bottleneck == "consumer":
        return f"The loop itself limits: {_gives(rate)}, and the threads mostly wait for it."
    return f"{_gives(rate)[:1].upper()}{_gives(rate)[1:]}."


def _is_crowded(figures: Figures, rate: Rate) -> bool:
    """Threads that had work got no CPU for much of the time."""
    used = rate.num_cpus_used
    could = min(max(1, rate.num_workers), figures.num_cpus)
    return rate.bottleneck == "decoding" and used is not None and used < _CROWDED * could


def _consumer(figures: Figures) -> Iterator[str]:
    rate, wanted = figures.consumer, figures.consumer_rate
    if rate is None or wanted is None:
        return
    waits = f"A model that takes {wanted:,.0f} images/s waits {100 * rate.wait_share:.1f} % of the time"
    enough = [each for each in figures.rates if each.images_per_s * _ENOUGH >= wanted]
    if rate.wait_share > _MUCH_WAITING:
        yield f"{waits} and gets {rate.images_per_s:,.0f} images/s."
        return
    least = min(enough, key=lambda each: each.num_workers, default=None)
    if least is not None and least.num_workers < rate.num_workers:
        yield f"{waits}: loading is fast enough, and {_threads_of(least)} would do."
    else:
        yield f"{waits}: loading is fast enough."


def _python(figures: Figures) -> Iterator[str]:
    if figures.python_reason:
        yield (
            f"The transform runs in Python, in worker processes ({figures.python_reason}); native code is "
            "much faster. torch_dts.transforms.explain(transform) says what of it is in the way."
        )


def _disk(figures: Figures, rate: Rate) -> Iterator[str]:
    disk = figures.disk_images_per_s
    if figures.disk is None or disk is None:
        return
    fits = figures.total_bytes <= SHARE * figures.available_bytes
    if disk >= rate.images_per_s * _WORTH:
        return
    yield (
        f"The disk gives {figures.disk.bytes_per_s / 1e6:,.0f} MB/s of what is not in memory, enough for "
        f"{disk:,.0f} images/s: where the set does not stay in memory, the disk limits."
    )
    total, free = human_bytes(figures.total_bytes), human_bytes(figures.available_bytes)
    if fits and figures.mode == "partial":
        yield f'mode="fully" reads it only once: all of it ({total}) fits in memory ({free} are free).'
    elif not fits:
        yield f"All of it ({total}) is more than half of the free memory ({free}): each epoch reads it anew."
    if figures.kind == "folder":
        yield "A .dts file is read in large pieces: torch-dts convert packs the folder."
    smallest = min(_others(figures), key=lambda each: each.size_ratio, default=None)
    if smallest is not None and smallest.size_ratio * _WORTH < 1:
        yield (
            f"Converting with {smallest.options} makes it {smallest.size_ratio:.2f} times as large, so that "
            f"the disk is enough for {disk / smallest.size_ratio:,.0f} images/s."
        )


def _others(figures: Figures) -> tuple[Export, ...]:
    return () if figures.exports is None else figures.exports.others


def _exports(figures: Figures, rate: Rate) -> Iterator[str]:
    trial = figures.exports
    if trial is None or rate.bottleneck != "decoding":
        return
    for is_lossless in (True, False):
        others = [each for each in trial.others if each.is_lossless == is_lossless]
        best = min(others, key=lambda each: each.cpu_ms, default=None)
        if best is not None and best.cpu_ms * _WORTH <= trial.cpu_ms:
            yield _export(trial, best, rate)


def _export(trial: Exports, best: Export, rate: Rate) -> str:
    why = (
        "the pixels stay, and crops are decoded without the rest (the files have no restart markers)"
        if best.is_lossless
        else f"the short side is {trial.short_side:,.0f} pixels on average, and images are encoded anew"
    )
    images_per_s = rate.images_per_s * trial.cpu_ms / best.cpu_ms
    return (
        f"Converting with {best.options} would give about {images_per_s:,.0f} images/s with "
        f"{best.size_ratio:.2f} times the bytes: {best.cpu_ms:.2f} ms in place of {trial.cpu_ms:.2f} an "
        f"image, measured on {num_of(trial.num_images, 'image')}; {why}."
    )


def _threads(figures: Figures, chosen: Rate) -> Iterator[str]:
    if chosen.num_workers > figures.num_cpus:
        yield (
            f"{_threads_of(chosen)} are more than the {num_of(figures.num_cpus, 'CPU')} that this process "
            "may use, which makes nothing faster."
        )
    best = figures.best
    if best is None:
        return
    if best.num_workers > chosen.num_workers and best.images_per_s > chosen.images_per_s * _WORTH:
        gives = "gives" if best.num_workers == 1 else "give"
        yield f"--num-workers {best.num_workers} {gives} more: {best.images_per_s:,.0f} images/s."
    fewer = [
        rate
        for rate in figures.rates
        if 0 < rate.num_workers < chosen.num_workers and rate.images_per_s >= chosen.images_per_s * _ENOUGH
    ]
    least = min(fewer, key=lambda rate: rate.num_workers, default=None)
    if least is not None:
        yield f"More threads than {least.num_workers} bring nothing here."


def _start(figures: Figures, rate: Rate) -> Iterator[str]:
    if rate.first_batch_seconds > _SLOW_START_S:
        yield (
            f"The first batch came after {rate.first_batch_seconds:.1f} s; mode='partial' and a smaller "
            "shuffle_window read less before it."
        )
