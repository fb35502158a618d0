# SPDX-License-Identifier: Apache-2.0
"""Which transforms DALI can do, and what is told of the others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from dali_sets import FIXED, MEAN, RANDOM, STD, TENSOR, TRAIN
from torchvision import transforms as T
from torchvision.transforms import v2

from torch_dts.backends._dali_spec import DaliSpec, make_spec
from torch_dts.transforms._views import read_views


def spec_of(
    transform: Any, dtype: torch.dtype | None = None, memory_format: Any = None, views: int = 1
) -> DaliSpec:
    plans = read_views(transform, views).plans
    assert plans is not None
    return make_spec(plans, dtype, memory_format, None, 2)


def test_the_usual_transform() -> None:
    spec = spec_of(RANDOM)
    assert (spec.height, spec.width, spec.dtype) == (48, 48, torch.float32)
    assert spec.mean == pytest.approx([255 * value for value in MEAN])
    assert spec.std == pytest.approx([255 * value for value in STD])
    assert (spec.has_roi, spec.has_vertical_flip, spec.is_channels_last) == (False, False, False)
    assert spec.erase_values == ()
    assert (spec.device_id, spec.num_threads) == (None, 2)


def test_what_a_pipeline_has_more() -> None:
    assert spec_of(FIXED).has_roi
    assert spec_of(T.Compose([T.RandomVerticalFlip(), *TRAIN, *TENSOR])).has_vertical_flip
    assert spec_of(RANDOM, torch.bfloat16, torch.channels_last) == DaliSpec(
        **{**vars(spec_of(RANDOM)), "dtype": torch.bfloat16, "is_channels_last": True}
    )
    erasing = spec_of(T.Compose([*TRAIN, *TENSOR, T.RandomErasing(value=0.5)]))
    assert erasing.erase_values == (0.5, 0.5, 0.5)
    assert spec_of(T.Compose([*TRAIN, *TENSOR, T.RandomErasing(value=[1, 2, 3])])).erase_values == (1, 2, 3)


def test_values_without_normalization() -> None:
    assert spec_of(T.Compose([*TRAIN, T.ToTensor()])).std == (255.0, 255.0, 255.0)
    as_bytes = spec_of(T.Compose([*TRAIN, T.PILToTensor()]))
    assert (as_bytes.dtype, as_bytes.mean, as_bytes.std) == (torch.uint8, (0.0,) * 3, (1.0,) * 3)
    unscaled = spec_of(v2.Compose([*TRAIN, v2.ToImage(), v2.ToDtype(torch.float32, scale=False)]))
    assert unscaled.std == (1.0, 1.0, 1.0)
    one = spec_of(T.Compose([*TRAIN, T.ToTensor(), T.Normalize(0.5, 0.25)]))
    assert one.mean == (127.5, 127.5, 127.5)


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([*TRAIN, T.ColorJitter(0.4)], r"can't do ColorJitter: it can do .*backend='cpu' can do more"),
        ([*TRAIN, T.RandomRotation(5)], "can't do RandomRotation"),
        ([T.Pad(4), *TRAIN], "can't do Pad"),
        ([T.Resize(60), T.RandomCrop(48, padding=4)], "can't do RandomCrop with padding"),
        (
            [T.RandomResizedCrop(48, interpolation=T.InterpolationMode.BICUBIC)],
            "can't do RandomResizedCrop with another interpolation than bilinear",
        ),
        ([T.Resize((60, 60)), T.RandomResizedCrop(48)], "can't resize twice"),
        ([*TRAIN, T.RandomGrayscale()], "can't do RandomGrayscale"),
    ],
)
def test_other_steps_are_named(steps: list[Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"backend='dali' {named}"):
        spec_of(T.Compose([*steps, *TENSOR]))


def test_random_values_views_and_gray_are_refused() -> None:
    with pytest.raises(ValueError, match="can't do RandomErasing with random values"):
        spec_of(T.Compose([*TRAIN, *TENSOR, T.RandomErasing(value="random")]))
    with pytest.raises(ValueError, match="makes one image of a sample, the transform makes 2"):
        spec_of(RANDOM, views=2)
    with pytest.raises(ValueError, match=r"can't do Grayscale|makes RGB images"):
        spec_of(T.Compose([*TRAIN, T.Grayscale(), T.ToTensor()]))
