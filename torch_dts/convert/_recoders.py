# SPDX-License-Identifier: Apache-2.0
"""Arguments -> the recoder they ask for, or none where the source's bytes are stored."""

from __future__ import annotations

from torch_dts.convert._arguments import Options
from torch_dts.convert._level_recoder import LevelRecoder
from torch_dts.convert._raw_recoder import RawRecoder
from torch_dts.convert._recode import Recoder
from torch_dts.convert._restart_recoder import RestartRecoder
from torch_dts.convert._size_recoder import SizeRecoder


def make_recoder(options: Options) -> Recoder | None:
    """The caller closes it."""
    other = None if options.encoding == "raw" else _make_encoder(options)
    if not options.raw.has_pixels:
        return other
    return RawRecoder(
        options.level,
        options.raw.max_size,
        other,
        fraction=options.raw.fraction,
        max_pixels=options.raw.max_pixels,
        num_workers=options.num_workers,
    )


def _make_encoder(options: Options) -> Recoder | None:
    """For samples that are encoded images in the file."""
    if options.level:
        return LevelRecoder(
            options.level,
            options.restart_interval,
            max_size=options.raw.max_size,
            num_workers=options.num_workers,
            as_pillow=options.compat,
        )
    other: Recoder | None = None
    if options.restart_interval is not None:
        other = RestartRecoder(options.restart_interval, options.metadata)
    if not options.raw.max_size:
        return other
    return SizeRecoder(options.raw.max_size, options.restart_interval, other, num_workers=options.num_workers)
