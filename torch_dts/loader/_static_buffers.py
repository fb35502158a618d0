# SPDX-License-Identifier: Apache-2.0
"""``static_buffers=True``: every batch in the same tensors, for programs that keep addresses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_dts.loader._batch_tree import map_tensors, tensors_of


class StaticBuffers:
    """Tensors that each batch is written into; made for the first one.

    Args:
        pins_memory: On the CPU: page-locked, as ``pin_memory=True`` asks for.
    """

    def __init__(self, pins_memory: bool = False) -> None:
        self._pins_memory = pins_memory
        self._buffers: list[Tensor] | None = None

    def write(self, batch: Any) -> Any:
        """The batch, in the same tensors as ever. On a GPU the current stream does it.

        Raises:
            ValueError: It has another shape or type than the first one.
        """
        tensors = tensors_of(batch)
        if self._buffers is None:
            self._buffers = [self._like(tensor) for tensor in tensors]
        found, expected = _kinds(tensors), _kinds(self._buffers)
        if found != expected:
            raise ValueError(
                f"static_buffers=True needs batches of one shape: found {found}, expected {expected} as the "
                "first one; use drop_last=True, last_batch='fill' or a sampler of full batches"
            )
        for buffer, tensor in zip(self._buffers, tensors, strict=True):
            buffer.copy_(tensor, non_blocking=True)
        buffers = iter(self._buffers)
        return map_tensors(batch, lambda _: next(buffers))

    def _like(self, tensor: Tensor) -> Tensor:
        pins = self._pins_memory and tensor.device.type == "cpu"
        return torch.empty_like(tensor, pin_memory=pins)


def _kinds(tensors: list[Tensor]) -> list[str]:
    return [f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}" for tensor in tensors]
