# SPDX-License-Identifier: Apache-2.0
"""From a loader's arguments to an engine whose images DALI decodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch_dts import _native
from torch_dts.backends._dali_spec import make_spec
from torch_dts.loader._cuda_device import check_device, numbered
from torch_dts.transforms._plan import Plan

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader
    from torch_dts.loader._engine import EngineOptions
    from torch_dts.loader._recognise import Recognised

_PLANNING_THREADS = 2  # of the native loader: they read headers, DALI decodes
ROI_DECODE = "TORCH_DTS_DALI_ROI_DECODE"


def asks_for_roi_decode(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether DALI decodes only the part of an image that is needed, on a GPU.

    The variable TORCH_DTS_DALI_ROI_DECODE says so: "1". It is a matter of the machine, not of the
    program: some versions of nvImageCodec crash on it (docs/gpu.md).

    Raises:
        ValueError: The variable is neither 0 nor 1.
    """
    value = environ.get(ROI_DECODE, "0")
    if value not in ("0", "1"):
        raise ValueError(f"the environment's {ROI_DECODE} is {value!r}, expected 0 or 1")
    return value == "1"


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
        ValueError: DALI can't do what the loader is to do; the text says what. Or the environment
            says something unknown (`asks_for_roi_decode`).
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
        roi_decode=asks_for_roi_decode() and device_id is not None,
    )
    num_workers = min(_PLANNING_THREADS, options.num_workers)
    return options._replace(num_workers=num_workers, dali=spec, form=_native.OUTLINES)
