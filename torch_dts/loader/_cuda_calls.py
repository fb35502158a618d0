# SPDX-License-Identifier: Apache-2.0
"""What staging asks of CUDA: streams, events, copies. A test has its own, without a GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch import Tensor


class StageCalls(Protocol):
    """Streams and events are what the calls themselves made, and are looked at by them alone."""

    device: torch.device

    def new_stream(self) -> Any:
        """A stream beside the consumer's."""

    def current_stream(self) -> Any:
        """The consumer's stream at this moment."""

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """What is queued inside goes to this stream."""

    def record(self, stream: Any) -> Any:
        """An event behind all that was queued on a stream."""

    def wait(self, stream: Any, event: Any) -> None:
        """What is queued on the stream from now on runs behind the event. Returns at once."""

    def is_done(self, event: Any) -> bool:
        """Whether the device has come by."""

    def join(self, event: Any) -> None:
        """Returns when the device has come by."""

    def upload(self, tensor: Tensor) -> Tensor:
        """A copy on the device, made by the current stream; `tensor` must stay until then."""

    def use(self, tensor: Tensor, stream: Any) -> None:
        """The stream uses memory that another one made."""


class CudaCalls:
    """Those of torch.

    Args:
        device: With its number.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def new_stream(self) -> torch.cuda.Stream:
        return torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def current_stream(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self.device)

    def on(self, stream: torch.cuda.Stream) -> AbstractContextManager[Any]:
        return torch.cuda.stream(stream)

    def record(self, stream: torch.cuda.Stream) -> torch.cuda.Event:
        event: torch.cuda.Event = stream.record_event()
        return event

    def wait(self, stream: torch.cuda.Stream, event: torch.cuda.Event) -> None:
        stream.wait_event(event)

    def is_done(self, event: torch.cuda.Event) -> bool:
        return bool(event.query())  # type: ignore[no-untyped-call]

    def join(self, event: torch.cuda.Event) -> None:
        event.synchronize()

    def upload(self, tensor: Tensor) -> Tensor:
        # From pageable memory the copy would wait for all that is queued before it.
        pinned = tensor if tensor.is_pinned() else tensor.pin_memory()
        return pinned.to(self.device, non_blocking=True)

    def use(self, tensor: Tensor, stream: torch.cuda.Stream) -> None:
        tensor.record_stream(stream)
