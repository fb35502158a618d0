# SPDX-License-Identifier: Apache-2.0
"""Whole transforms: containers, numbering, what is nobody else's to read, and whatever comes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

from torch_dts import _native
from torch_dts.transforms import _steps as steps
from torch_dts.transforms import compile
from torch_dts.transforms._read import _READERS, Reading, read

TRAIN = [
    v1.RandomResizedCrop(224),
    v1.RandomHorizontalFlip(),
    v1.ToTensor(),
    v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.25]),
    v1.RandomErasing(),
]


def test_a_training_transform() -> None:
    plan = read(v1.Compose(TRAIN)).plan
    assert plan is not None
    assert plan.steps == (
        steps.RandomResizedCrop(0, 224, 224, (0.08, 1.0), (3 / 4, 4 / 3), 2),
        steps.HorizontalFlip(1, 0.5),
    )
    assert plan.erasing == steps.RandomErasing(2, 0.5, (0.02, 0.33), (0.3, 3.3), (0.0,))
    assert (plan.mean, plan.std) == ((0.5, 0.4, 0.3), (0.2, 0.3, 0.25))
    assert (plan.output_shape, plan.dtype, plan.num_random_ops) == ((3, 224, 224), torch.float32, 3)


def test_containers_change_nothing() -> None:
    nested = v2.Compose(
        [v1.Compose(TRAIN[:1]), nn.Sequential(), v1.Compose((TRAIN[1], v1.Compose(TRAIN[2:])))]
    )
    assert read(nested).plan == read(v1.Compose(TRAIN)).plan
    listed = v1.Compose(nn.ModuleList([v2.Resize((4, 5)), nn.Identity(), v2.Identity(), v2.ToImage()]))
    plan = read(listed).plan
    assert plan is not None
    assert plan.steps == (steps.Resize(4, 5, 2),)


def test_random_operations_are_numbered_in_their_order_whether_or_not_they_fire() -> None:
    operations = [
        v1.RandomCrop(8, padding=2),
        v1.CenterCrop(8),
        v1.RandomHorizontalFlip(0.0),
        v1.ColorJitter(),
        v1.Compose([v1.RandomGrayscale(0.0), v1.RandomRotation(0)]),
        v1.RandomAutocontrast(0),
        v2.GaussianBlur(3, 1.0),
        v1.ToTensor(),
        v1.RandomVerticalFlip(),
        v1.RandomErasing(0),
    ]
    plan = read(v1.Compose(operations), source_size=(8, 8)).plan
    assert plan is not None
    numbers = [step.op for step in plan.steps if hasattr(step, "op")]
    assert numbers == list(range(8))
    assert plan.erasing is not None
    assert (plan.erasing.op, plan.num_random_ops) == (8, 9)


class Subclass(v1.Resize):
    pass


class Raises:
    """Any look at it runs its code."""

    def __getattribute__(self, name: str) -> Any:
        raise KeyboardInterrupt(name)

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    def __call__(self, image: Any) -> Any:
        raise KeyboardInterrupt


class RaisingList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise KeyboardInterrupt


class RaisingNumber(float):
    def __float__(self) -> float:
        raise KeyboardInterrupt


def with_attribute(operation: Any, name: str, value: Any) -> Any:
    operation.__dict__[name] = value
    return operation


NOT_OURS: dict[str, Callable[[], Any]] = {
    "test_read.Subclass: it is not an operation of torchvision's own types": lambda: Subclass(4),
    "test_read.Raises": Raises,
    "<lambda>: it is not an operation": lambda: lambda image: image,
    "Lambda(lambd=function): it is not run natively": lambda: v1.Lambda(lambda image: image),
    "builtins.int": lambda: 5,
    "RandomApply(transforms=[ColorJitter], p=0.5): it is not run natively": lambda: v1.RandomApply(
        [v1.ColorJitter()]
    ),
    "v2.RandAugment": v2.RandAugment,
    "FiveCrop": lambda: v1.FiveCrop(4),
    "its transforms are RaisingList": lambda: v1.Compose(RaisingList()),
    "size has 3 numbers": lambda: with_attribute(v1.CenterCrop(3), "size", (3, 3, 3)),
    "size is RaisingList": lambda: with_attribute(v1.CenterCrop(3), "size", RaisingList()),
    "p is RaisingNumber, not a number": lambda: with_attribute(v1.RandomGrayscale(), "p", RaisingNumber(0.5)),
    "it has no attribute 'antialias'": lambda: v2.Compose(
        [v2.ToImage(), without(v2.Resize((3, 3)), "antialias")]
    ),
    "its forward was exchanged": lambda: with_attribute(v1.CenterCrop(3), "forward", Raises()),
    "its transforms are Raises": lambda: with_attribute(v1.Compose([]), "transforms", Raises()),
}


def without(operation: Any, name: str) -> Any:
    del operation.__dict__[name]
    return operation


@pytest.mark.parametrize("part", NOT_OURS)
def test_what_is_not_the_librarys_own_is_python(part: str) -> None:
    reading = read(v1.Compose([NOT_OURS[part](), v1.CenterCrop(4), v1.ToTensor()]))
    assert reading.plan is None
    assert part in reading.reason


def test_a_compose_that_holds_itself() -> None:
    compose = v1.Compose([])
    compose.transforms.append(compose)
    assert "nested more than 32 deep" in read(compose).reason


def test_what_stands_behind_an_unknown_operation_is_not_judged() -> None:
    reading = read(v1.Compose([v1.Lambda(torch.tensor), v1.Normalize([0.5], [0.5])]))
    assert [step.reason for step in reading.steps] == [
        "it is not run natively",
        "what reaches it is not known",
    ]


def test_no_transform_and_other_channels() -> None:
    assert "without a transform" in read(None).reason
    assert read(v1.Compose(TRAIN), source_channels=4).reason == "images of 4 channels are not run natively"
    assert "the size of the result depends on the image" in read(v1.ToTensor()).reason
    assert read(v1.ToTensor(), source_size=(5, 6)).plan.output_shape == (3, 5, 6)
    assert "the result is a PIL image" in read(v1.CenterCrop(3)).reason


def run_pixels(reading: Reading, pixels: Any, **how: Any) -> torch.Tensor:
    assert reading.plan is not None, reading.reason
    arena = torch.from_numpy(pixels.reshape(-1).copy())
    count, size = len(pixels), pixels[0].size
    shape = [*pixels.shape[1:], 1][:3]
    images, status = _native.run_plan(
        arena,
        torch.arange(count) * size,
        torch.full((count,), size),
        torch.tensor([shape] * count),
        reading.plan.encode(**how),
        torch.arange(count),
        torch.empty(0, dtype=torch.int64),
        3,
        0,
    )
    assert not status.any()
    return images


def test_gray_pixels(on_gray: Callable[..., torch.Tensor]) -> None:
    """MNIST's way: PIL images of mode L, all of one size."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 28, 28), dtype=np.uint8)
    for operations in (
        [v1.ToTensor(), v1.Normalize((0.1307,), (0.3081,))],
        [v1.Pad(2, fill=9), v1.RandomRotation((30, 30), fill=3), v1.ToTensor()],
        [v1.Grayscale(3), v1.Resize(32), v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)],
        [v2.RGB(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.1] * 3, [0.2] * 3)],
        [v1.GaussianBlur(1), v1.RandomAutocontrast(1.0), v1.RandomGrayscale(1.0), v1.ToTensor()],
    ):
        transform = v1.Compose(operations)
        found = run_pixels(read(transform, source_channels=1, source_size=(28, 28)), pixels)
        torch.testing.assert_close(found, on_gray(transform, pixels), rtol=1e-6, atol=1e-7)


def test_output_as_another_type_and_in_another_order(pictures: Any) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 9, 8, 3), dtype=np.uint8)
    reading = read(v1.Compose([v1.ToTensor(), v1.Normalize([0.5], [0.3])]), source_size=(9, 8))
    plain = run_pixels(reading, pixels)
    half = run_pixels(reading, pixels, dtype=torch.float16, memory_format=torch.channels_last)
    assert half.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(half, plain.to(torch.float16))
    raw = read(v1.PILToTensor(), source_size=(9, 8))
    assert torch.equal(run_pixels(raw, pixels, dtype=torch.bfloat16), run_pixels(raw, pixels).bfloat16())


GARBAGE = [
    None,
    -1,
    0,
    2,
    2.5,
    1e300,
    float("nan"),
    10**30,
    True,
    "random",
    "bilinear",
    b"x",
    [],
    (1,),
    (3, 5),
    [0.5, 0.25],
    (-1, 2, 3),
    [1, 2, 3, 4],
    (None, 1),
    {"others": 3},
    {},
    np.float32(0.5),
    np.arange(3),
    torch.tensor([0.5, 0.5, 0.5]),
    torch.float16,
    torch.int64,
    v1.InterpolationMode.BOX,
    object(),
]
_DEFAULTS: dict[str, Any] = {
    "size": 8,
    "padding": 2,
    "degrees": 20,
    "kernel_size": 3,
    "dtype": torch.float32,
    "mean": [0.5],
    "std": [0.5],
    "crop_size": 8,
}


def made(kind: type) -> Any:
    needed = {
        name: _DEFAULTS[name]
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
        and parameter.kind is not parameter.VAR_POSITIONAL
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**needed)


@pytest.mark.parametrize("kind", list(_READERS), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_whatever_is_in_an_operation_is_read_or_refused(kind: type) -> None:
    """read() never raises, and native code takes each plan it makes."""
    nothing = torch.empty(0, dtype=torch.int64)
    names = made(kind).__dict__.keys() - nn.Module().__dict__.keys()
    for before in ([], [v2.ToImage()], [v1.ToTensor()]):
        for name in [*sorted(names), ""]:
            for value in GARBAGE if name else GARBAGE[:1]:
                operation = made(kind)
                if name:
                    operation.__dict__[name] = value
                transform = v1.Compose([v1.CenterCrop(16), *before, operation, v2.ToImage()])
                reading = read(transform)
                assert (reading.plan is None) == bool(reading.reason)
                if reading.plan is not None:
                    images, _ = _native.run_plan(
                        torch.empty(0, dtype=torch.uint8),
                        nothing,
                        nothing,
                        nothing.reshape(0, 3),
                        reading.plan.encode(),
                        nothing,
                        nothing,
                        0,
                        0,
                    )
                    assert images.shape[1:] == reading.plan.output_shape


def test_every_other_operation_of_torchvision_is_refused() -> None:
    for library in (v1, v2):
        for name, kind in vars(library).items():
            if not inspect.isclass(kind) or kind in _READERS or issubclass(kind, (v1.Compose, v2.Compose)):
                continue
            if not kind.__module__.startswith("torchvision.transforms") or issubclass(kind, Enum):
                continue
            operation = object.__new__(kind)
            reading = read(v1.Compose([operation, v1.ToTensor()]))
            assert reading.plan is None, name


def test_compile_reads_once() -> None:
    crop = v1.CenterCrop(4)
    compiled = compile(v1.Compose([crop, v1.ToTensor()]))
    crop.size = (9, 9)
    assert compiled.plan is not None
    assert compiled.plan.output_shape == (3, 4, 4)
