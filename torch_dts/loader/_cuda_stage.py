# SPDX-License-Identifier: Apache-2.0
"""From batches in host memory to CUDA tensors: one copy each, beside what the consumer does.

    zone (page-locked) --copy--> bytes on the device --fused_normalize--> images, labels
         \\__________________ side stream ___________________/        |
    held until the copy's event                     event <- the consumer's stream waits for it

The host waits for the device in one case only: when it is `MAX_IN_FLIGHT` batches ahead of it,
so that memory stays bounded on both sides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torch_dts.loader._batch_tree import map_tensors, tensors_of
from torch_dts.loader._cuda_calls import StageCalls
from torch_dts.loader._static_buffers import StaticBuffers
from torch_dts.transforms._split import Tail

MAX_IN_FLIGHT = 3  # one that is being consumed, one behind it, one that is being copied
_ALIGNMENT = 256  # csrc/core/pipeline/transfer_station.h, kZoneAlignment


class Stage:
    """Puts the batches of one device there. One thread uses it; it lives from epoch to epoch.

    Args:
        calls: How to ask the device.
        pad_channels: 4: images get a fourth channel of zeros; 0: none.
        static: All batches come in the same tensors.
    """

    def __init__(self, calls: StageCalls, pad_channels: int = 0, static: bool = False) -> None:
        self._calls = calls
        self._pad_channels = pad_channels
        self._static = StaticBuffers() if static else None
        self._stream: Any = None
        self._tails: Sequence[Tail] = ()
        self._held: deque[tuple[Any, list[Tensor]]] = deque()  # with the event that ends their use
        self._consumed: deque[Any] = deque()  # events behind what was queued for batches before
        self._has_begun = False

    @property
    def device(self) -> torch.device:
        """Where batches go."""
        return self._calls.device

    @property
    def splits(self) -> bool:
        """Whether batches come as bytes, for `upload`."""
        return bool(self._tails)

    def begin(self, tails: Sequence[Tail]) -> None:
        """Begins an epoch; `tails` of each view, none where batches come as they are to be."""
        self._tails = tails
        self._poll()

    def late_images(self, count: int) -> list[Tensor]:
        """Room on the host for samples that come complete, of each view."""
        return [
            torch.empty((count, tail.channels, tail.height, tail.width), dtype=tail.dtype, device="cpu")
            for tail in self._tails
        ]

    def upload(
        self, memory: Tensor, count: int, late_slots: Tensor, late: Sequence[Tensor]
    ) -> tuple[list[Tensor], Tensor]:
        """Queues the copy of a batch and its tails.

        Args:
            memory: A zone as ``loader_next`` gives it, held here until the copy is done.
            count: Samples of the batch.
            late_slots: int64, those of which `memory` holds nothing.
            late: They, of each view.

        Returns:
            Images of each view and labels, not to be touched before `finish`.
        """
        self._make_room()
        calls = self._calls
        with calls.on(self._side()):
            on_device = calls.upload(memory)
            copied = calls.record(self._side())
            views = self._run_tails(on_device, count)
            # A copy of the labels, so that keeping them does not keep the bytes.
            labels = on_device[: 8 * count].view(torch.int64).clone()
            held = [memory]
            if late_slots.numel():
                slots = calls.upload(late_slots)
                for images, made in zip(views, late, strict=True):
                    images[:, : made.shape[1]].index_copy_(0, slots, calls.upload(made))
                held += [late_slots, *late]
                copied = calls.record(self._side())
        self._held.append((copied, held))
        return views, labels

    def finish(self, batch: Any) -> Any:
        """The batch, ready for the consumer's current stream: what is not on the device yet is copied.

        Args:
            batch: Of any structure, with tensors of `upload` among others.
        """
        calls = self._calls
        on_host = [tensor for tensor in tensors_of(batch) if tensor.device.type == "cpu"]
        if on_host and not self.splits:
            self._make_room()
        consumer = calls.current_stream()
        side = self._side()
        with calls.on(side):
            if on_host:
                batch = map_tensors(batch, lambda t: calls.upload(t) if t.device.type == "cpu" else t)
                self._held.append((calls.record(side), on_host))
            if self._static is not None:
                # The consumer still reads what was there.
                calls.wait(side, calls.record(consumer))
                batch = self._static.write(batch)
        calls.wait(consumer, calls.record(side))
        for tensor in tensors_of(batch):
            calls.use(tensor, consumer)
        return batch

    def close(self) -> None:
        """Returns when the device needs nothing of the host any more, and lets go of it."""
        while self._held:
            self._calls.join(self._held.popleft()[0])
        self._consumed.clear()

    def _side(self) -> Any:
        if self._stream is None:
            self._stream = self._calls.new_stream()
        return self._stream

    def _run_tails(self, on_device: Tensor, count: int) -> list[Tensor]:
        num_boxes = len(self._tails) if any(tail.erase_values is not None for tail in self._tails) else 0
        boxes = on_device[16 * count : (16 + 32 * num_boxes) * count].view(torch.int64)
        boxes = boxes.view(num_boxes, count, 4)
        begin = _aligned((16 + 32 * num_boxes) * count)
        views, end = [], 0
        for number, tail in enumerate(self._tails):
            start = _aligned(end)
            end = start + count * tail.num_bytes
            images = on_device[begin + start : begin + end].view(
                count, tail.height, tail.width, tail.channels
            )
            views.append(tail.run(images, boxes[number] if num_boxes else None, self._pad_channels))
        return views

    def _make_room(self) -> None:
        """Waits until the device is few enough batches behind."""
        if self._has_begun:
            # Behind all that was done with the batches so far, their copies among it.
            self._consumed.append(self._calls.record(self._calls.current_stream()))
        self._has_begun = True
        if len(self._consumed) >= MAX_IN_FLIGHT:
            self._calls.join(self._consumed.popleft())
        self._poll()

    def _poll(self) -> None:
        while self._held and self._calls.is_done(self._held[0][0]):
            self._held.popleft()


def _aligned(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
