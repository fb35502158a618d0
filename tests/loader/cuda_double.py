# SPDX-License-Identifier: Apache-2.0
"""CUDA's streams and events without a GPU: what is asked is written down, copies are made at once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_dts.loader import _cuda_device


class CpuCalls:
    """StageCalls whose device is slow: an event is done when it is joined or `come_by` is called.

    Attributes:
        log: What was asked, in order: ("copy", stream), ("record", stream, event), ("wait", stream,
            event), ("join", event), ("use", stream).
    """

    device = torch.device("cpu")

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self._done = -1
        self._events = itertools.count()
        self._current = "consumer"

    def new_stream(self) -> str:
        return "side"

    def current_stream(self) -> str:
        return self._current

    @contextlib.contextmanager
    def on(self, stream: str) -> Iterator[None]:
        before, self._current = self._current, stream
        yield
        self._current = before

    def record(self, stream: str) -> int:
        event = next(self._events)
        self.log.append(("record", stream, event))
        return event

    def wait(self, stream: str, event: int) -> None:
        self.log.append(("wait", stream, event))

    def is_done(self, event: int) -> bool:
        return event <= self._done

    def join(self, event: int) -> None:
        self.log.append(("join", event))
        self._done = max(self._done, event)

    def upload(self, tensor: Tensor) -> Tensor:
        self.log.append(("copy", self._current))
        return tensor.clone()

    def use(self, tensor: Tensor, stream: str) -> None:
        self.log.append(("use", stream))

    def come_by(self) -> None:
        """The device has done all that was asked."""
        self._done = next(self._events)


def pretend_cuda(monkeypatch: pytest.MonkeyPatch) -> list[CpuCalls]:
    """Lets loaders take CUDA devices; returns the doubles that they make."""
    made: list[CpuCalls] = []

    def calls_for(device: torch.device) -> CpuCalls:
        made.append(CpuCalls())
        return made[-1]

    monkeypatch.setattr(_cuda_device, "check_cuda", lambda device: None)
    monkeypatch.setattr(_cuda_device, "numbered", lambda device: torch.device("cuda", device.index or 0))
    monkeypatch.setattr(_cuda_device, "calls_for", calls_for)
    return made
