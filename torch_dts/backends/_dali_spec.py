# SPDX-License-Identifier: Apache-2.0
"""Whether DALI can run a transform, and what its pipeline is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from torch_dts.transforms._plan import NO_SCALE, Plan
from torch_dts.transforms._steps import (
    CenterCrop,
    HorizontalFlip,
    RandomCrop,
    RandomErasing,
    RandomResizedCrop,
    Resize,
    Step,
    VerticalFlip,
)

_BILINEAR = 2
_CAN = (
    "it can do one (Random)ResizedCrop, or Resize, CenterCrop and RandomCrop, with bilinear interpolation, "
    "flips, ToTensor, Normalize and RandomErasing with a constant; backend='cpu' can do more"
)


@dataclass(frozen=True)
class DaliSpec:
    """A pipeline of DALI's.

    Attributes:
        height, width: Of the result.
        dtype: Of the result: torch.uint8, float32, float16 or bfloat16.
        is_channels_last: Its memory.
        mean, std: Of each channel, of values 0 to 255: ``(x - mean) / std``.
        has_roi: A part of what is decoded becomes the result, not all of it.
        has_vertical_flip: Images may be flipped vertically.
        erase_values: What is put in the place of what is erased, in output units; empty: nothing is.
        device_id: The CUDA device; None: the CPU.
        num_threads: Of DALI's own, at least 1.
        roi_decode: On a CUDA device: decode no more than the part that is needed.
    """

    height: int
    width: int
    dtype: torch.dtype
    is_channels_last: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    has_roi: bool
    has_vertical_flip: bool
    erase_values: tuple[float, ...]
    device_id: int | None
    num_threads: int
    roi_decode: bool = False


def make_spec(
    plans: Sequence[Plan],
    dtype: torch.dtype | None,
    memory_format: torch.memory_format | None,
    device_id: int | None,
    num_threads: int,
    roi_decode: bool = False,
) -> DaliSpec:
    """What DALI is to do for a transform.

    Args:
        plans: Of each view.
        dtype, memory_format: As of `Plan.encode`, which has checked them.
        device_id, num_threads, roi_decode: As of `DaliSpec`.

    Raises:
        ValueError: DALI can't do it; the text names the step.
    """
    if len(plans) != 1:
        raise ValueError(f"backend='dali' makes one image of a sample, the transform makes {len(plans)}")
    plan = plans[0]
    for step in plan.steps:
        reason = _reason_against(step)
        if reason is not None:
            raise ValueError(f"backend='dali' can't do {type(step).__name__}{reason}: {_CAN}")
    if sum(isinstance(step, (RandomResizedCrop, Resize)) for step in plan.steps) > 1:
        raise ValueError(f"backend='dali' can't resize twice: {_CAN}")
    if plan.output_shape[0] != 3:
        raise ValueError("backend='dali' makes RGB images, the transform makes gray ones")
    erasing = plan.erasing
    if erasing is not None and erasing.values is None:
        raise ValueError(f"backend='dali' can't do {RandomErasing.__name__} with random values: {_CAN}")
    # ToTensor divides by 255, and Normalize counts in what it gives.
    unit = 1.0 if plan.scale == NO_SCALE else 255.0
    return DaliSpec(
        height=plan.output_shape[1],
        width=plan.output_shape[2],
        dtype=plan.dtype if dtype is None else dtype,
        is_channels_last=memory_format == torch.channels_last,
        mean=tuple(unit * value for value in _each_channel(plan.mean or (0.0,))),
        std=tuple(unit * value for value in _each_channel(plan.std or (1.0,))),
        has_roi=_has_roi(plan.steps),
        has_vertical_flip=any(isinstance(step, VerticalFlip) for step in plan.steps),
        erase_values=() if erasing is None or erasing.values is None else _each_channel(erasing.values),
        device_id=device_id,
        num_threads=num_threads,
        roi_decode=roi_decode,
    )


def _reason_against(step: Step) -> str | None:
    """None: DALI can do it."""
    if isinstance(step, (RandomResizedCrop, Resize)):
        return None if step.filter == _BILINEAR else " with another interpolation than bilinear"
    if isinstance(step, RandomCrop):
        return " with padding" if any(step.padding) or step.pad_if_needed else None
    return None if isinstance(step, (CenterCrop, HorizontalFlip, VerticalFlip)) else ""


def _has_roi(steps: Sequence[Step]) -> bool:
    """Whether something is cut off behind a resize."""
    kinds = [type(step) for step in steps]
    resizes = [place for place, kind in enumerate(kinds) if kind in (RandomResizedCrop, Resize)]
    return bool(resizes) and any(kind in (CenterCrop, RandomCrop) for kind in kinds[resizes[0] :])


def _each_channel(values: tuple[float, ...]) -> tuple[float, ...]:
    return values * 3 if len(values) == 1 else values
