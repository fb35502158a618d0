# SPDX-License-Identifier: Apache-2.0
"""fused_normalize against torch and torchvision, bit for bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad
from torchvision.transforms import functional, v2

from torch_dts import _native

NONE = torch.tensor([])


def torch_tail(images: Tensor, flip: Tensor, mean: list[float], std: list[float]) -> Tensor:
    planes = images.permute(0, 3, 1, 2).contiguous()
    planes = torch.where(flip[:, None, None, None], planes.flip(3), planes).to(torch.float32).div(255)
    return functional.normalize(planes, mean, std) if mean else planes


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_normalize_is_torchs(channels: int, channels_last: bool, dtype: torch.dtype) -> None:
    images = torch.arange(256 * 4 * channels, dtype=torch.int64).remainder(256).to(torch.uint8)
    images = images.reshape(4, 16, 16, channels)
    flip = torch.tensor([False, True, True, False])
    for mean, std in (
        ([], []),
        ([0.485, 0.456, 0.406][:channels], [0.229, 0.224, 0.225][:channels]),
        ([0.5], [0.5]),
    ):
        got = _native.fused_normalize(
            images, flip, torch.tensor(mean), torch.tensor(std), dtype=dtype, channels_last=channels_last
        )
        expected = torch_tail(images, flip, mean, std).to(dtype)
        assert got.dtype == dtype
        assert got.is_contiguous(
            memory_format=torch.channels_last if channels_last else torch.contiguous_format
        )
        assert torch.equal(got, expected)


def test_uint8_is_only_turned() -> None:
    images = torch.randint(0, 256, (3, 5, 7, 3), dtype=torch.uint8)
    flip = torch.tensor([True, False, True])
    got = _native.fused_normalize(images, flip, torch.tensor([]), torch.tensor([]), dtype=torch.uint8)
    planes = images.permute(0, 3, 1, 2)
    assert torch.equal(got, torch.where(flip[:, None, None, None], planes.flip(3), planes))


def test_normalize_wrong_arguments() -> None:
    images, flip, none = (
        torch.zeros(2, 4, 5, 3, dtype=torch.uint8),
        torch.zeros(2, dtype=torch.bool),
        torch.tensor([]),
    )
    with pytest.raises(ValueError, match="images must have 4 dimensions"):
        _native.fused_normalize(images[0], flip, none, none)
    with pytest.raises(ValueError, match="flip has 1 elements, images has 2"):
        _native.fused_normalize(images, flip[:1], none, none)
    with pytest.raises(ValueError, match="dtype is not"):
        _native.fused_normalize(images, flip, none, none, dtype=torch.float64)
    with pytest.raises(ValueError, match="std holds 0, which would divide by zero"):
        _native.fused_normalize(images, flip, torch.tensor([0.5]), torch.tensor([0.0]))
    for bad in (float("nan"), float("inf")):
        for mean, std, name in ((0.5, bad, "std"), (bad, 1.0, "mean")):
            with pytest.raises(ValueError, match=rf"{name} holds -?{bad}, expected finite values"):
                _native.fused_normalize(images, flip, torch.tensor([mean]), torch.tensor([std]))


def test_no_flips_are_flips_of_none() -> None:
    images = torch.randint(0, 256, (3, 5, 7, 3), dtype=torch.uint8)
    got = _native.fused_normalize(images, None, NONE, NONE)
    assert torch.equal(got, _native.fused_normalize(images, torch.zeros(3, dtype=torch.bool), NONE, NONE))


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8])
def test_boxes_are_erased_as_torchvision_does(dtype: torch.dtype, channels_last: bool) -> None:
    images = torch.randint(0, 256, (4, 9, 11, 3), dtype=torch.uint8)
    boxes = torch.tensor([[0, 0, 9, 11], [2, 3, 4, 5], [0, 0, 0, 0], [8, 10, 1, 1]])
    flip = torch.tensor([False, True, True, False])
    is_bytes = dtype == torch.uint8
    values = [3.0, 200.0, 0.0] if is_bytes else [0.1, -2.5, 1.0]
    mean, std = ([], []) if is_bytes else ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    got = _native.fused_normalize(
        images,
        flip,
        torch.tensor(mean),
        torch.tensor(std),
        dtype,
        channels_last,
        boxes=boxes,
        values=torch.tensor(values),
    )
    planes = images.permute(0, 3, 1, 2)
    planes = torch.where(flip[:, None, None, None], planes.flip(3), planes)
    expected = planes if is_bytes else torch_tail(images, flip, mean, std)
    for image, box in zip(expected, boxes.tolist(), strict=True):
        functional.erase(image, *box, torch.tensor(values)[:, None, None], inplace=True)
    assert torch.equal(got, expected.to(dtype))
    assert got.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


def test_one_value_fills_all_channels() -> None:
    images = torch.randint(0, 256, (1, 4, 6, 3), dtype=torch.uint8)
    got = _native.fused_normalize(
        images, None, NONE, NONE, boxes=torch.tensor([[1, 2, 2, 3]]), values=torch.tensor([7.5])
    )
    assert torch.equal(got[0, :, 1:3, 2:5], torch.full((3, 2, 3), 7.5))
    assert (got == 7.5).sum() == 18


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_fourth_channel_is_zeros(dtype: torch.dtype, channels_last: bool) -> None:
    images = torch.randint(0, 256, (3, 5, 7, 3), dtype=torch.uint8)
    flip = torch.tensor([True, False, True])
    how = {"boxes": torch.tensor([[1, 1, 3, 3]] * 3), "values": torch.tensor([0.5, 1.5, 2.5])}
    numbers = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    three = _native.fused_normalize(images, flip, *numbers, dtype, channels_last, **how)
    four = _native.fused_normalize(images, flip, *numbers, dtype, channels_last, pad_channels=4, **how)
    assert torch.equal(four, pad(three, (0, 0, 0, 0, 0, 1)))
    assert four.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


def test_scales_are_torchvisions() -> None:
    images = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16, 1)
    planes = images.permute(0, 3, 1, 2)
    assert torch.equal(_native.fused_normalize(images, None, NONE, NONE, scale=0), planes.float())
    assert torch.equal(_native.fused_normalize(images, None, NONE, NONE), planes.float() / 255)
    scaled = v2.functional.to_dtype(planes, torch.float32, scale=True)
    assert torch.equal(_native.fused_normalize(images, None, NONE, NONE, scale=2), scaled)


def test_no_images_are_no_images() -> None:
    for shape in ((0, 4, 5, 3), (2, 0, 5, 3)):
        got = _native.fused_normalize(torch.zeros(shape, dtype=torch.uint8), None, NONE, NONE, pad_channels=4)
        assert got.shape == (shape[0], 4, *shape[1:3])


def test_further_wrong_arguments() -> None:
    images = torch.zeros(2, 4, 5, 3, dtype=torch.uint8)
    boxes, values = torch.tensor([[0, 0, 2, 2]] * 2), torch.tensor([0.5])
    wide = torch.tensor([[0, 3, 2, 4]] * 2)
    with pytest.raises(ValueError, match="boxes and values belong together"):
        _native.fused_normalize(images, None, NONE, NONE, boxes=boxes)
    with pytest.raises(ValueError, match=r"boxes has 4 elements, 4 \* images has 8"):
        _native.fused_normalize(images, None, NONE, NONE, boxes=boxes[:1], values=values)
    with pytest.raises(ValueError, match=r"boxes must have dtype torch\.int64"):
        _native.fused_normalize(images, None, NONE, NONE, boxes=boxes.int(), values=values)
    with pytest.raises(ValueError, match=r"the box 4x2 at \(3, 0\) is not inside of the image 5x4"):
        _native.fused_normalize(images, None, NONE, NONE, boxes=wide, values=values)
    for box in ([1, 1, -2, 2], [1, 1, 0, -1], [1, 1, -1, 0], [-1, 0, 2, 2]):
        with pytest.raises(ValueError, match=r"the box -?\d+x-?\d+ at .* is not inside of the image 5x4"):
            _native.fused_normalize(images, None, NONE, NONE, boxes=torch.tensor([box] * 2), values=values)
    nothing = torch.tensor([[9, 9, 0, 3], [-4, 0, 0, 0]])
    assert not _native.fused_normalize(images, None, NONE, NONE, boxes=nothing, values=values).any()
    with pytest.raises(ValueError, match="fill: 2 values, expected 1 or 3"):
        _native.fused_normalize(images, None, NONE, NONE, boxes=boxes, values=torch.tensor([0.5, 1.0]))
    with pytest.raises(ValueError, match="pad_channels is 5 for images of 3 channels"):
        _native.fused_normalize(images, None, NONE, NONE, pad_channels=5)
    with pytest.raises(ValueError, match="pad_channels is 4 for images of 1 channels"):
        _native.fused_normalize(images[..., :1].contiguous(), None, NONE, NONE, pad_channels=4)
    with pytest.raises(ValueError, match="scale is 3, expected 0"):
        _native.fused_normalize(images, None, NONE, NONE, scale=3)
