# SPDX-License-Identifier: Apache-2.0
"""Crops, resizes, borders, mirror images, rotations: what is read, and torchvision's pixels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torch import Tensor, nn
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as F

from torch_dts.transforms import _steps as steps
from torch_dts.transforms import compile
from torch_dts.transforms._geometry import resized_size
from torch_dts.transforms._read import read


def as_bytes(*operations: Any) -> nn.Sequential:
    return nn.Sequential(*operations, v2.PILToTensor())


FIXED = {
    "resize": [v1.Resize(40), v1.CenterCrop(37)],
    "resize of both sides": [v2.Resize((30, 50))],
    "resize up to": [v1.Resize([30], max_size=44), v1.CenterCrop((33, 70))],
    "crop beyond the image": [v2.CenterCrop((150, 61))],
    "pad": [v1.Resize((20, 20)), v1.Pad((3, 4, 5, 6), fill=(1, 2, 3))],
    "pad of one number": [v2.Resize((20, 20)), v2.Pad(7, fill=9.7)],
    "pad that cuts off": [v1.Resize((20, 20)), v1.Pad((3, -4, -5, 6), fill=9)],
    "pad without fill": [v2.Resize((20, 20)), v2.Pad([2], fill=None)],
    "pad with edges": [v1.Resize((20, 24)), v1.Pad((3, 4), padding_mode="edge")],
    "pad with mirror": [v2.Resize((20, 24)), v2.Pad((3, 4), padding_mode="reflect")],
    "pad with mirror, wider than the image": [v1.Resize((4, 3)), v1.Pad((13, 14), padding_mode="reflect")],
    "pad with symmetry": [v1.Resize((20, 24)), v1.Pad((3, 4), padding_mode="symmetric")],
    "pad that mirrors and cuts": [v1.Resize((20, 20)), v1.Pad((3, -4, -5, 6), padding_mode="reflect")],
    "pad of a type": [v2.Resize((20, 20)), v2.Pad(3, fill={Image.Image: 17, "others": 3})],
    "flips": [v1.Resize((20, 24)), v1.RandomHorizontalFlip(1), v2.RandomVerticalFlip(1.0), v1.CenterCrop(22)],
    "no flips": [v1.Resize((20, 24)), v2.RandomHorizontalFlip(0.0), v1.RandomVerticalFlip(0)],
    "crop of all": [v1.Resize((20, 24)), v1.RandomCrop((20, 24), pad_if_needed=True)],
    "the same size": [v1.CenterCrop(31), v1.Resize(31), v1.Resize((31, 31))],
}


@pytest.mark.parametrize("name", FIXED)
def test_what_is_fixed_is_torchvisions(
    name: str, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    transform = as_bytes(*FIXED[name])
    # A side of 1 pixel would become one of 0, which Pillow refuses.
    low = 9 if name == "resize up to" else 1
    compiled, datas = compile(transform), pictures(16, seed=len(name), low=low)
    assert compiled.reason == ""
    np.testing.assert_array_equal(compiled(datas).numpy(), on_pil(transform, datas).numpy())


@pytest.mark.parametrize("mode", list(InterpolationMode))
def test_every_filter_is_pillows(
    mode: InterpolationMode, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    datas = pictures(12, seed=3)
    for given in (mode, mode.value):  # by enum, by name
        transform = as_bytes((v1 if given is mode else v2).Resize((31, 17), given))
        np.testing.assert_array_equal(compile(transform)(datas).numpy(), on_pil(transform, datas).numpy())


def test_pillows_number_of_a_filter() -> None:
    plan = read(as_bytes(v2.Resize((3, 4), Image.Resampling.LANCZOS.value))).plan
    assert plan is not None
    assert plan.steps == (steps.Resize(3, 4, 1),)


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("mode", [InterpolationMode.BILINEAR, InterpolationMode.BICUBIC])
def test_random_resized_crop_is_pils_at_the_drawn_box(
    library: Any, mode: InterpolationMode, pictures: Callable[..., list[bytes]], opened: Any, draws: Any
) -> None:
    scale, ratio = (0.0, 0.9), (0.5, 3.0)
    datas = pictures(40, seed=5)
    images = [opened(data) for data in datas]
    transform = as_bytes(library.RandomResizedCrop((23, 31), scale, ratio, mode))
    batch = compile(transform)(datas, seed=11, epoch=3)
    boxes = draws(range(40), 11, 3).boxes(0, [(image.height, image.width) for image in images], scale, ratio)
    for image, box, found in zip(images, boxes, batch, strict=True):
        expected = F.pil_to_tensor(F.resized_crop(image, *box, [23, 31], mode))
        np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=str((image.size, box)))


CROPS = {
    "plain": ({"size": (9, 12)}, (20, 25)),
    "padding": ({"size": 32, "padding": 4}, (32, 32)),
    "two paddings and a fill": ({"size": (9, 12), "padding": (2, 3), "fill": (7, 8, 9)}, (20, 25)),
    "four paddings, mirrored": (
        {"size": (20, 20), "padding": (1, 2, 3, 4), "padding_mode": "reflect"},
        (20, 25),
    ),
    "edges": ({"size": (22, 28), "padding": 3, "padding_mode": "edge"}, (20, 25)),
    "if needed": ({"size": (40, 30), "pad_if_needed": True, "fill": 5}, (20, 25)),
    "if needed, symmetric": (
        {"size": (27, 10), "pad_if_needed": True, "padding_mode": "symmetric"},
        (20, 25),
    ),
}


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("name", CROPS)
def test_random_crop_is_pils_at_the_drawn_place(
    name: str, library: Any, pictures: Callable[..., list[bytes]], opened: Any, draws: Any
) -> None:
    how, (height, width) = CROPS[name]
    operation = library.RandomCrop(**how)
    datas = pictures(24, seed=9)
    batch = compile(as_bytes(v1.Resize((height, width)), operation))(datas, seed=2)
    crop_height, crop_width = operation.size
    for i, data in enumerate(datas):
        image = F.resize(opened(data), [height, width])
        fill, mode = how.get("fill", 0), how.get("padding_mode", "constant")
        if "padding" in how:
            image = F.pad(image, how["padding"], fill, mode)
        if how.get("pad_if_needed"):
            more = max(crop_width - image.width, 0), max(crop_height - image.height, 0)
            image = F.pad(image, more, fill, mode)
        [(top, left)] = draws([i], 2).crops(0, (image.height, image.width), (crop_height, crop_width))
        expected = F.pil_to_tensor(F.crop(image, top, left, crop_height, crop_width))
        np.testing.assert_array_equal(batch[i].numpy(), expected.numpy())


def test_flips_fire_where_they_are_drawn(
    pictures: Callable[..., list[bytes]], opened: Any, draws: Any
) -> None:
    datas = pictures(60, seed=1)
    operations = v1.Resize((9, 11)), v1.RandomHorizontalFlip(0.3), v2.RandomVerticalFlip(0.6)
    batch = compile(as_bytes(*operations))(datas, seed=4)
    for i, data in enumerate(datas):
        expected = F.pil_to_tensor(F.resize(opened(data), [9, 11]))
        if draws([i], 4).gates(0, 0.3)[0]:
            expected = expected.flip(2)
        if draws([i], 4).gates(1, 0.6)[0]:
            expected = expected.flip(1)
        np.testing.assert_array_equal(batch[i].numpy(), expected.numpy())


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
def test_rotation_is_pils_at_the_drawn_angle(
    library: Any, mode: InterpolationMode, pictures: Callable[..., list[bytes]], opened: Any, draws: Any
) -> None:
    datas = pictures(30, seed=2)
    operation = library.RandomRotation((-70, 200), mode, center=(3, 20.5), fill=(9, 8, 7))
    batch = compile(as_bytes(v1.Resize((40, 37)), operation))(datas, seed=8)
    angles = draws(range(30), 8).between(0, -70.0, 200.0)
    for data, angle, found in zip(datas, angles, batch, strict=True):
        image = F.resize(opened(data), [40, 37])
        expected = F.pil_to_tensor(F.rotate(image, float(angle), mode, center=[3, 20.5], fill=[9, 8, 7]))
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("angle", [0, 90, 180, 270, 360, -450, 33.5])
def test_special_angles(
    angle: float, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    datas = pictures(8, seed=6)
    for height, width in ((30, 30), (30, 41)):
        transform = as_bytes(v1.Resize((height, width)), v1.RandomRotation((angle, angle), fill=3))
        np.testing.assert_array_equal(compile(transform)(datas).numpy(), on_pil(transform, datas).numpy())


TENSOR_GEOMETRY = {
    "crops and borders": (0, [v2.CenterCrop((31, 150)), v2.Pad((2, 3), fill=7), v2.CenterCrop(40)]),
    "v1's": (0, [v1.CenterCrop((31, 150)), v1.Pad((2, 3), padding_mode="edge"), v1.RandomVerticalFlip(1)]),
    "mirrors": (
        0,
        [v2.CenterCrop(30), v2.Pad(9, padding_mode="symmetric"), v2.Pad(5, padding_mode="reflect")],
    ),
    "fill of a type": (0, [v2.CenterCrop(30), v2.Pad(3, fill={tv_tensors.Image: (4, 5, 6), "others": 1})]),
    "resize": (2, [v2.Resize((33, 45), antialias=True)]),
    "v1's resize": (1, [v1.Resize((33, 45), antialias=True)]),
    "resize of one side": (2, [v2.Resize(33), v2.CenterCrop(30)]),
}


@pytest.mark.parametrize("name", TENSOR_GEOMETRY)
def test_tensors_are_torchvisions_as_far_as_explain_says(
    name: str, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    levels, operations = TENSOR_GEOMETRY[name]
    transform = nn.Sequential(v2.ToImage(), *operations, v2.ToPureTensor())
    datas = pictures(24, seed=7, low=2)
    reading = read(transform)
    assert reading.reason == ""
    assert any(f"within {min(levels, 1)} level" in step.note for step in reading.steps) == (levels > 0)
    difference = (compile(transform)(datas).int() - on_pil(transform, datas).int()).abs()
    assert difference.max() <= levels
    assert (difference > 1).float().mean() < 1e-6


def test_random_resized_crop_of_tensors(
    pictures: Callable[..., list[bytes]], opened: Any, draws: Any
) -> None:
    datas = pictures(24, seed=8, low=2)
    images = [opened(data) for data in datas]
    batch = compile(v2.Compose([v2.ToImage(), v2.RandomResizedCrop(29)]))(datas, seed=1)
    sizes = [(image.height, image.width) for image in images]
    boxes = draws(range(24), 1).boxes(0, sizes, (0.08, 1.0), (3 / 4, 4 / 3))
    for image, box, found in zip(images, boxes, batch, strict=True):
        expected = v2.functional.resized_crop(F.pil_to_tensor(image), *box, [29, 29], antialias=True)
        assert (found.int() - expected.int()).abs().max() <= 1


REFUSED = {
    "antialias=False on tensors": (v2.ToImage(), v2.Resize((4, 4), antialias=False)),
    "antialias=None on tensors": (v2.ToImage(), v2.RandomResizedCrop(4, antialias=None)),
    "bicubic on tensors": (v2.ToImage(), v2.Resize((4, 4), InterpolationMode.BICUBIC)),
    "nearest on tensors": (v2.ToImage(), v2.Resize((4, 4), InterpolationMode.NEAREST)),
    "before the conversion to floats": (v1.ToTensor(), v1.CenterCrop(4)),
    "on tensors torchvision computes it otherwise": (v2.ToImage(), v2.RandomRotation(3), v2.CenterCrop(3)),
    "resize to a width of 1 pixel": (v1.PILToTensor(), v1.Resize((4, 1))),
    "negative padding of tensors": (v2.ToImage(), v2.CenterCrop(9), v2.Pad(-1)),
    "does not take a list as the fill": (v2.ToImage(), v1.CenterCrop(9), v1.Pad(1, fill=(1, 2, 3))),
    "fill=1.5 of a uint8 tensor": (v2.ToImage(), v2.CenterCrop(9), v2.Pad(1, fill=1.5)),
    "fill has 2 values": (v1.CenterCrop(9), v1.Pad(1, fill=(1, 2))),
    "fill is 256.0": (v1.CenterCrop(9), v1.Pad(1, fill=256)),
    "expand=True": (v1.CenterCrop(9), v1.RandomRotation(5, expand=True)),
    "interpolation bicubic of a rotation": (
        v1.CenterCrop(9),
        v1.RandomRotation(5, InterpolationMode.BICUBIC),
    ),
    "size=None": (v2.Resize(None, max_size=9), v2.CenterCrop(4)),
    "max_size=4 does not go with": (v1.Resize(4, max_size=4), v1.CenterCrop(4)),
    "within 0 to": (v1.RandomResizedCrop(4, scale=(-0.5, 1.0)),),
    "above 0": (v1.RandomResizedCrop(4, ratio=(0.0, 1.0)),),
    "not run natively with mirrors": (
        v2.RandomCrop(9, padding=2, pad_if_needed=True, padding_mode="reflect"),
    ),
    "need images of one known size": (
        v2.ToImage(),
        v1.RandomCrop(9, pad_if_needed=True, padding_mode="symmetric"),
    ),
    "torchvision refuses this border of a tensor of 9 x 8": (
        v1.CenterCrop((9, 8)),
        v2.ToImage(),
        v2.Pad((0, 9), padding_mode="reflect"),
    ),
    "torchvision refuses this border of a tensor of 11 x 8": (  # the first of its two is fine
        v1.CenterCrop((9, 8)),
        v1.PILToTensor(),
        v1.RandomCrop((12, 18), padding=(0, 1), pad_if_needed=True, padding_mode="symmetric"),
    ),
    "larger than the image of 5 x 5": (v1.CenterCrop(5), v1.RandomCrop(6)),
    "gives images of 0 x 0": (v1.CenterCrop(4), v1.Pad(-2)),
    "not between 1 and 65535": (v1.CenterCrop(70000),),
}


@pytest.mark.parametrize("part", REFUSED)
def test_what_native_code_does_not_do_is_refused(part: str) -> None:
    reading = read(v1.Compose([*REFUSED[part], v2.ToImage(), v2.ToPureTensor()]))
    assert reading.plan is None
    assert part in reading.reason


def test_v2s_ratio_that_was_changed_is_refused() -> None:
    """v2 keeps drawing from the logarithms of its first ratio, v1 from the new one."""
    for library in (v1, v2):
        operation = library.RandomResizedCrop(8)
        operation.ratio = (1.0, 2.0)
        reading = read(as_bytes(operation))
        assert (reading.plan is None) == (library is v2), reading.reason


def test_parameters_are_read_when_they_are_needed() -> None:
    operation = v1.RandomResizedCrop(8)
    operation.size = (5, 6)
    assert read(as_bytes(operation)).plan.output_shape == (3, 5, 6)
    operation.size = 5  # torchvision would now resize the shorter side
    assert "size is int" in read(as_bytes(operation)).reason


def test_resized_size_is_torchvisions() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        height, width, shorter = (int(side) for side in generator.integers(1, 500, 3))
        longest = int(generator.integers(0, 2) * generator.integers(shorter + 1, 600))
        expected = F._compute_resized_output_size((height, width), [shorter], longest or None)
        assert resized_size((height, width), shorter, longest) == tuple(expected)


def test_sizes_known_beforehand_give_a_fixed_result() -> None:
    transform = as_bytes(v1.Resize(16), v1.Pad((1, 2)))
    assert read(transform).plan is None
    plan = read(transform, source_size=(30, 40)).plan
    assert plan is not None
    assert plan.output_shape == (3, 20, 23)
