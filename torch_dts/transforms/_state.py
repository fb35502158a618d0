# SPDX-License-Identifier: Apache-2.0
"""`State`: what flows from one operation of a transform to the next, while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import torch

from torch_dts.transforms._plan import NO_SCALE, Plan
from torch_dts.transforms._steps import RandomErasing, Step
from torch_dts.transforms._values import MAX_SIDE, MAX_STEPS, Refusal


class Kind(Enum):
    """The type of the image at one place of the transform."""

    PIL = "a PIL image"
    IMAGE = "a tv_tensors.Image"
    TENSOR = "a plain tensor"
    EITHER = "a tensor"  # tv_tensors.Image or plain, by chance
    UNKNOWN = "unknown"


@dataclass
class State:
    """The image so far, and what native code is to do for it.

    Attributes:
        kind: Its type.
        dtype: Of its values; torch.uint8 for a PIL image.
        channels: 1 or 3.
        size: (height, width) where it is the same for all images, else None.
        steps, scale, mean, std, erasing, num_random_ops: As in Plan.
    """

    source_channels: int = 3
    size: tuple[int, int] | None = None
    kind: Kind = Kind.PIL
    dtype: torch.dtype = torch.uint8
    channels: int = 3
    steps: list[Step] = field(default_factory=list)
    scale: int = NO_SCALE
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    erasing: RandomErasing | None = None
    num_random_ops: int = 0

    def take_op(self) -> int:
        """The number of the next random operation (docs/format.md section 5)."""
        self.num_random_ops += 1
        return self.num_random_ops - 1

    @property
    def is_tensor(self) -> bool:
        return self.kind is not Kind.PIL

    def need_bytes(self) -> None:
        """Refuses an operation that native code does to 8-bit pixels only."""
        if self.dtype != torch.uint8:
            raise Refusal(
                f"on {self.dtype} tensors it is not run natively; put it before the conversion to floats"
            )
        if self.erasing is not None:
            raise Refusal("behind RandomErasing it is not run natively; put RandomErasing last")

    def need_pil(self) -> None:
        """Refuses an operation whose tensor version computes otherwise than Pillow."""
        self.need_bytes()
        if self.is_tensor:
            raise Refusal(
                "on tensors torchvision computes it otherwise; put it before ToTensor() or ToImage()"
            )

    def finish(self) -> Plan:
        """The plan of all that was read.

        Raises:
            Refusal: The result is no tensor, or not of one size.
        """
        if not self.is_tensor:
            raise Refusal("the result is a PIL image; ToTensor() or ToImage() is missing")
        if self.size is None:
            raise Refusal(
                "the size of the result depends on the image; "
                "a Resize((height, width)), CenterCrop or RandomCrop is missing"
            )
        height, width = self.size
        if max(height, width) > MAX_SIDE:
            raise Refusal(f"the result has {height} x {width} pixels, more than {MAX_SIDE} on a side")
        if len(self.steps) > MAX_STEPS:
            raise Refusal(f"it has {len(self.steps)} operations on pixels, more than {MAX_STEPS}")
        return Plan(
            tuple(self.steps),
            (self.channels, height, width),
            self.dtype,
            self.scale,
            self.mean,
            self.std,
            self.erasing,
            self.num_random_ops,
            self.source_channels,
        )
