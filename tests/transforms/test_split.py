# SPDX-License-Identifier: Apache-2.0
"""A plan and its two parts give the same bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torchvision import transforms
from torchvision.transforms import v2

from torch_dts import _native
from torch_dts.transforms._plan import Plan
from torch_dts.transforms._read import read
from torch_dts.transforms._split import split_plans

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HEAD = [transforms.RandomResizedCrop(8), transforms.RandomHorizontalFlip()]


def plan_of(*parts: Any) -> Plan:
    plan = read(transforms.Compose([*HEAD, *parts])).plan
    assert plan is not None
    return plan


def run(text: str, pixels: Tensor) -> Tensor:
    count = len(pixels)
    sizes = torch.full((count,), pixels[0].numel())
    shapes = torch.tensor([list(pixels.shape[1:])] * count)
    numbers = torch.arange(count)
    arena = pixels.reshape(-1)
    images, status = _native.run_plan(
        arena, sizes.cumsum(0) - sizes, sizes, shapes, text, numbers, numbers, 3, 1
    )
    assert not status.any()
    return images


@pytest.mark.parametrize("memory_format", [None, torch.channels_last])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize(
    "parts",
    [
        [transforms.ToTensor()],
        [transforms.ToTensor(), transforms.Normalize(MEAN, STD)],
        [transforms.Grayscale(), transforms.ToTensor(), transforms.Normalize([0.5], [0.25])],
        [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)],
    ],
    ids=str,
)
def test_bytes_and_tail_are_the_plan(parts: list[Any], dtype: Any, memory_format: Any) -> None:
    plan = plan_of(*parts)
    found = split_plans([plan], dtype, memory_format)
    assert found is not None
    (bytes_plan,), (tail,) = found
    pixels = torch.randint(0, 256, (6, 11, 13, 3), dtype=torch.uint8)
    images = run(bytes_plan.encode(torch.uint8, torch.channels_last), pixels)
    made = tail.run(images.permute(0, 2, 3, 1), None, 0)
    expected = run(plan.encode(dtype, memory_format), pixels)
    assert made.dtype == expected.dtype
    assert torch.equal(made, expected)
    assert made.stride() == expected.stride()
    assert tail.num_bytes == images[0].numel()


def test_erasing_is_drawn_and_left_to_the_tail() -> None:
    erasing = transforms.RandomErasing(0.5, value=(0.5, -1.0, 2.0))
    plan = plan_of(transforms.ToTensor(), erasing)
    found = split_plans([plan, plan_of(transforms.ToTensor())], None, None)
    assert found is not None
    plans, tails = found
    assert "deferred=1" in plans[0].encode(torch.uint8, torch.channels_last)
    assert "erasing" not in plans[1].encode(torch.uint8, torch.channels_last)
    assert [tail.erase_values for tail in tails] == [(0.5, -1.0, 2.0), None]
    # The pixels are those without any erasing.
    pixels = torch.randint(0, 256, (4, 9, 9, 3), dtype=torch.uint8)
    made = run(plans[0].encode(torch.uint8, torch.channels_last), pixels)
    assert torch.equal(made, run(plans[1].encode(torch.uint8, torch.channels_last), pixels))


def test_what_has_no_tail_is_not_split() -> None:
    floats = plan_of(transforms.ToTensor())
    assert split_plans([floats, plan_of(transforms.PILToTensor())], None, None) is None
    normals = plan_of(transforms.ToTensor(), transforms.RandomErasing(0.5, value="random"))
    assert split_plans([normals], None, None) is None
    assert split_plans([floats], torch.float16, None) is not None
