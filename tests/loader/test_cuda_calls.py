# SPDX-License-Identifier: Apache-2.0
"""The double of the tests answers the calls that the real ones do; tests/gpu runs those."""

from __future__ import annotations

import contextlib
import inspect
import pathlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from cuda_double import CpuCalls
from torch import Tensor
from torchvision import transforms

from torch_dts import DataLoader
from torch_dts.loader import _cuda_device, _native_run
from torch_dts.loader._cuda_calls import CudaCalls, StageCalls
from torch_dts.loader._engine import EngineOptions


def test_real_calls_and_the_double_take_the_same_arguments() -> None:
    names = [name for name in vars(StageCalls) if not name.startswith("_")]
    assert len(names) == 9
    for name in names:
        expected = list(inspect.signature(getattr(StageCalls, name)).parameters)
        for other in (CudaCalls, CpuCalls):
            assert list(inspect.signature(getattr(other, name)).parameters) == expected, name


class OneDevice:
    """torch.cuda of a process that may use device 3 alone: whatever names no device, or another, fails.

    Attributes:
        log: What was asked for, by name.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.current: list[torch.device | None] = [None]
        for name in ("Stream", "current_stream"):
            monkeypatch.setattr(torch.cuda, name, self._stream_of(name))
        monkeypatch.setattr(torch.cuda, "stream", self._inside)
        for name in ("current_device", "set_device", "synchronize", "init", "_lazy_init"):
            monkeypatch.setattr(torch.cuda, name, self._refuse(name))

    def _stream_of(self, name: str) -> Any:
        def make(device: Any = None) -> SimpleNamespace:
            assert device == THIRD, f"{name} of {device}"
            self.log.append(name)
            event = SimpleNamespace(query=lambda: True, synchronize=lambda: None)
            return SimpleNamespace(
                device=device, record_event=lambda: event, wait_event=lambda _: self.log.append("wait")
            )

        return make

    def _refuse(self, name: str) -> Any:
        def call(*given: Any) -> None:
            raise AssertionError(f"torch.cuda.{name}{given}: a context on the device that is current")

        return call

    @contextlib.contextmanager
    def _inside(self, stream: Any) -> Iterator[None]:
        self.current.append(stream.device)
        yield
        self.current.pop()

    def upload(self, calls: CudaCalls, tensor: Tensor) -> Tensor:
        """Page-locked memory is of the device that is current."""
        assert self.current[-1] == calls.device == THIRD
        self.log.append("upload")
        return tensor.clone()


THIRD = torch.device("cuda", 3)


@pytest.mark.parametrize("how", [{}, {"static_buffers": True}, {"collate_fn": lambda samples: samples[0][0]}])
def test_an_epoch_touches_the_loaders_device_alone(
    photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    """A rank that feeds device 3 makes no context on device 0."""
    double = OneDevice(monkeypatch)
    monkeypatch.setattr(CudaCalls, "upload", lambda self, tensor: double.upload(self, tensor))
    monkeypatch.setattr(CudaCalls, "use", lambda self, tensor, stream: double.log.append("use"))
    monkeypatch.setattr(_cuda_device, "check_cuda", lambda device: None)
    asked: list[int] = []

    def bus_id(device: int) -> str:
        asked.append(device)
        return ""

    monkeypatch.setattr(_cuda_device._native, "cuda_pci_bus_id", bus_id)
    plain = _native_run.near_device

    def near(options: EngineOptions, *given: Any) -> EngineOptions:
        assert plain(options, *given).device == 3  # where the engine's memory is page-locked
        return options

    monkeypatch.setattr(_native_run, "near_device", near)
    transform = transforms.Compose([transforms.RandomResizedCrop(8), transforms.ToTensor()])
    loader = DataLoader(photos_file, 5, transform=transform, device=3, num_workers=1, **how)
    for _ in range(2):
        assert len(list(loader)) == 5
    loader.close()
    assert set(asked) == {3}
    assert double.log.count("upload") >= 10
    assert {"Stream", "current_stream", "wait", "use"} < set(double.log)


def test_uploads_pin_and_copy_on_the_stages_device() -> None:
    found: list[Any] = []
    tensor: Any = SimpleNamespace(
        is_pinned=lambda: False,
        pin_memory=lambda: SimpleNamespace(
            to=lambda device, non_blocking: found.append((device, non_blocking))
        ),
    )
    CudaCalls(THIRD).upload(tensor)
    assert found == [(THIRD, True)]
