# SPDX-License-Identifier: Apache-2.0
"""A loader's arguments as DALI's threads and device."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from dali_sets import FIXED, TENSOR, TRAIN
from torchvision import transforms

import torch_dts
from torch_dts.backends import _dali_options
from torch_dts.backends._dali_options import ROI_DECODE, asks_for_roi_decode, with_dali
from torch_dts.loader._engine import EngineOptions
from torch_dts.transforms._views import read_views


def options_of(num_workers: int, source_size: Any = None, **how: Any) -> EngineOptions:
    options = EngineOptions(
        num_workers=num_workers,
        prefetch_batches=2,
        reproducible=True,
        cpus=(),
        reader_threads=1,
        check_blocks=True,
    )
    given = {"devices": None, "device": None, "repeat": 1, "dtype": None, "memory_format": None, **how}
    loader: Any = SimpleNamespace(**given)
    recognised: Any = SimpleNamespace(source_size=source_size)
    plans = read_views(FIXED).plans
    assert plans is not None
    return with_dali(options, loader, recognised, plans)


@pytest.mark.parametrize(("asked", "native", "dalis"), [(0, 0, 1), (1, 1, 1), (2, 2, 2), (16, 2, 16)])
def test_workers_are_dalis_threads(asked: int, native: int, dalis: int) -> None:
    options = options_of(asked)
    assert options.dali is not None
    assert (options.num_workers, options.dali.num_threads) == (native, dalis)
    assert options.dali.device_id is None
    assert options.dali.has_roi


def test_cpu_device_and_dtype_are_passed_on() -> None:
    spec = options_of(1, device="cpu", dtype=torch.float16, memory_format=torch.channels_last).dali
    assert spec is not None
    assert (spec.device_id, spec.dtype, spec.is_channels_last) == (None, torch.float16, True)


def test_pixels_and_several_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="decodes JPEGs, but the data set holds pixels"):
        options_of(1, source_size=(28, 28))
    with pytest.raises(ValueError, match="exclude each other: make a loader for each device"):
        options_of(1, devices=["cpu", "cpu"])
    with pytest.raises(ValueError, match="makes one image of a sample, the transform makes 3"):
        options_of(1, repeat=3)


def test_the_environment_asks_for_a_partial_decode_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [asks_for_roi_decode(given) for given in ({}, {ROI_DECODE: "0"}, {ROI_DECODE: "1"})] == [0, 0, 1]
    with pytest.raises(ValueError, match="TORCH_DTS_DALI_ROI_DECODE is 'yes', expected 0 or 1"):
        asks_for_roi_decode({ROI_DECODE: "yes"})
    monkeypatch.setattr(_dali_options, "check_device", lambda device: device and torch.device(device))
    for value, on_gpu in (("1", True), ("0", False)):
        monkeypatch.setenv(ROI_DECODE, value)
        for device, expected in (("cuda:1", on_gpu), (None, False)):
            spec = options_of(1, device=device).dali
            assert spec is not None
            assert (spec.roi_decode, spec.device_id) == (expected, 1 if device else None)


def test_cuda_that_cannot_run_is_said(photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    transform = transforms.Compose([*TRAIN, *TENSOR])
    with pytest.raises(RuntimeError, match=r"device is 'cuda(:0)?', but"):
        torch_dts.DataLoader(photos_file, transform=transform, backend="dali", device="cuda:0")
