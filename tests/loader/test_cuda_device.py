# SPDX-License-Identifier: Apache-2.0
"""The arguments device and pad_channels: what is taken, and what is said where CUDA is not."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch

import torch_dts
from torch_dts import _native
from torch_dts.loader import _cuda_device
from torch_dts.loader._cuda_calls import CudaCalls
from torch_dts.loader._data_loader import DataLoader


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "cuda_problem", lambda: "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu"), "cpu:0"])
def test_the_cpu_is_no_device(device: Any, photos_file: pathlib.Path) -> None:
    assert _cuda_device.check_device(device) is None
    loader = DataLoader(torch_dts.DTSDataset(photos_file), device=device)
    assert loader.device is None
    assert "device" not in repr(loader)


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(
    ("device", "found", "number"),
    [("cuda", "cuda", 1), ("cuda:0", "cuda:0", 0), (1, "cuda:1", 1), (torch.device("cuda", 0), "cuda:0", 0)],
)
def test_cuda_devices(device: Any, found: str, number: int, photos_file: pathlib.Path) -> None:
    checked = _cuda_device.check_device(device)
    assert str(checked) == found
    assert checked is not None
    assert _cuda_device.numbered(checked) == torch.device("cuda", number)
    calls = _cuda_device.calls_for(checked)
    assert isinstance(calls, CudaCalls)
    assert calls.device.index == number
    loader = DataLoader(torch_dts.DTSDataset(photos_file), device=device, pad_channels=4)
    assert loader.device == checked
    assert f"device='{found}'" in repr(loader)


@pytest.mark.usefixtures("two_devices")
def test_devices_that_are_not_there() -> None:
    with pytest.raises(RuntimeError, match="device is 'cuda:2', but there are 2 CUDA devices"):
        _cuda_device.check_device(2)
    with pytest.raises(ValueError, match="device is 'mps', expected the CPU or a CUDA device"):
        _cuda_device.check_device("mps")
    with pytest.raises(ValueError, match="device is 'gpu', which torch does not know: "):
        _cuda_device.check_device("gpu")
    for device in (True, 1.5, ["cuda"]):
        with pytest.raises(TypeError, match=r"expected a torch\.device, its name, its number or None"):
            _cuda_device.check_device(device)


def test_without_a_gpu_it_is_said(monkeypatch: pytest.MonkeyPatch, photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(_native, "cuda_problem", lambda: "")
    with pytest.raises(RuntimeError, match="device is 'cuda', but torch finds no CUDA device: there is none"):
        DataLoader(dataset, device="cuda")
    monkeypatch.setattr(_native, "cuda_problem", lambda: "the installed torch has no CUDA: install one")
    with pytest.raises(RuntimeError, match="device is 'cuda:0', but the installed torch has no CUDA"):
        DataLoader(dataset, device="cuda:0")


@pytest.mark.usefixtures("two_devices")
def test_arguments_that_do_not_go_together(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file)
    with pytest.raises(ValueError, match=r"device is 'cuda' and devices is \['cpu'\]: give one of the two"):
        DataLoader(dataset, device="cuda", devices=["cpu"])
    with pytest.raises(ValueError, match="pad_channels=4 is for CUDA devices: give device"):
        DataLoader(dataset, pad_channels=4)
    for wrong in (3, 4.0, True):
        with pytest.raises(ValueError, match=r"pad_channels is .*, expected None or 4"):
            DataLoader(dataset, device="cuda", pad_channels=wrong)  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError), match="static_buffers is 1"):
        DataLoader(dataset, static_buffers=1)  # type: ignore[arg-type]


def test_where_a_device_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "cuda_pci_bus_id", lambda number: f"0000:0{number}:00.0")
    assert _cuda_device.pci_bus_id(torch.device("cuda", 3)) == "0000:03:00.0"

    def fails(number: int) -> str:
        raise RuntimeError("no such device")

    monkeypatch.setattr(_native, "cuda_pci_bus_id", fails)
    assert _cuda_device.pci_bus_id(torch.device("cuda", 3)) == ""
