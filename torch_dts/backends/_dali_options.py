# SPDX-License-Identifier: Apache-2.0
"""From a loader's arguments to an engine whose images DALI decodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_dts.backends._dali_spec import make_spec
from torch_dts.loader._cuda_device import check_device, numbered
from torch_dts.transforms._plan import Plan

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader
    from torch_dts.loader._engine import EngineOptions
    from torch_dts.loader._recognise import Recognised

_PLANNING_THREADS = 2  # of the native loader: they read headers, DALI decodes


def with_dali(
    options: EngineOptions, loader: DataLoader, recognised: Recognised, plans: Sequence[Plan]
) -> EngineOptions:
    """The options of an engine as they are with ``backend="dali"``.

    Args:
        options: As they are without it; its workers become DALI's threads.
        loader: Whose epoch begins.
        recognised: What it reads.
        plans: The transform of each view.

    Raises:
        ValueError: DALI can't do what the loader is to do; the text says what.
        RuntimeError: CUDA can't run here.
    """
    if recognised.source_size is not None:
        raise ValueError("backend='dali' decodes JPEGs, but the data set holds pixels: use backend='cpu'")
    if loader.devices is not None:
        raise ValueError("backend='dali' and devices exclude each other: make a loader for each device")
    device = check_device(loader.device)
    device_id = None if device is None else numbered(device).index
    spec = make_spec(
        list(plans) * loader.repeat,
        loader.dtype,
        loader.memory_format,
        device_id,
        num_threads=max(1, options.num_workers),
    )
    return options._replace(num_workers=min(_PLANNING_THREADS, options.num_workers), dali=spec)
