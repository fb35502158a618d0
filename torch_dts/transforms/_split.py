# SPDX-License-Identifier: Apache-2.0
"""A plan cut in two: pixels as bytes, and the tail that turns them into values elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.transforms._plan import NO_SCALE, Plan


@dataclass(frozen=True)
class Tail:
    """What is done to the bytes of a view: scale, normalise, fill the erased boxes.

    Attributes:
        height, width, channels: Of an image.
        dtype: Of the result, a float.
        channels_last: Its order in memory.
        scale, mean, std: As of `Plan`.
        erase_values: What boxes hold; None: nothing is erased.
    """

    height: int
    width: int
    channels: int
    dtype: torch.dtype
    channels_last: bool
    scale: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    erase_values: tuple[float, ...] | None

    @property
    def num_bytes(self) -> int:
        """Of an image before."""
        return self.height * self.width * self.channels

    def run(self, images: Tensor, boxes: Tensor | None, pad_channels: int) -> Tensor:
        """The values, on the device of the images, with the bits of the plan as a whole.

        Args:
            images: uint8 ``[n, H, W, C]``.
            boxes: int64 ``[n, 4]``; looked at where something is erased.
            pad_channels: 4: a fourth channel of zeros; 0: none.
        """
        values = self.erase_values
        return _native.fused_normalize(
            images,
            None,
            _floats(self.mean),
            _floats(self.std),
            self.dtype,
            self.channels_last,
            boxes=None if values is None else boxes,
            values=None if values is None else _floats(values),
            scale=self.scale,
            pad_channels=pad_channels,
        )


def split_plans(
    plans: Sequence[Plan], dtype: torch.dtype | None, memory_format: torch.memory_format | None
) -> tuple[list[Plan], list[Tail]] | None:
    """The plans of all views without their tails, and these.

    Flips stay with the first part: it writes each row once, the last pixel first or not, so
    that they cost nothing there.

    Args:
        plans: Of each view.
        dtype, memory_format: As of `Plan.encode`.

    Returns:
        None where a view has none that could be cut off: bytes stay bytes, and normal numbers are
        drawn where all else is.
    """
    bytes_plans, tails = [], []
    for plan in plans:
        result = plan.dtype if dtype is None else dtype
        erasing = plan.erasing
        if result == torch.uint8 or (erasing is not None and erasing.values is None):
            return None
        channels, height, width = plan.output_shape
        tails.append(
            Tail(
                height=height,
                width=width,
                channels=channels,
                dtype=result,
                channels_last=memory_format == torch.channels_last,
                scale=plan.scale,
                mean=plan.mean,
                std=plan.std,
                erase_values=None if erasing is None else erasing.values,
            )
        )
        bytes_plans.append(
            replace(
                plan,
                dtype=torch.uint8,
                scale=NO_SCALE,
                mean=(),
                std=(),
                erasing=None if erasing is None else replace(erasing, values=None, deferred=True),
            )
        )
    return bytes_plans, tails


def _floats(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device="cpu")
