# SPDX-License-Identifier: Apache-2.0
"""Arguments -> the recoder they ask for, or none where the source's bytes are stored."""

from __future__ import annotations

from torch_dts.convert._arguments import Options
from torch_dts.convert._level_recoder import LevelRecoder
from torch_dts.convert._recode import Recoder
from torch_dts.convert._restart_recoder import RestartRecoder


def make_recoder(options: Options) -> Recoder | None:
    """The caller closes it."""
    if options.level:
        return LevelRecoder(
            options.level,
            options.restart_interval,
            num_workers=options.num_workers,
            as_pillow=options.compat,
        )
    if options.restart_interval is not None:
        return RestartRecoder(options.restart_interval, options.metadata)
    return None
