# SPDX-License-Identifier: Apache-2.0
"""Colours and blur: torchvision's pixels for the drawn factors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn
from torchvision import transforms as v1
from torchvision.transforms import functional as F
from torchvision.transforms import v2

from torch_dts.transforms import compile
from torch_dts.transforms._read import read

SIZE = (33, 41)
ADJUST = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
RANGES = {"brightness": (0.2, 1.9), "contrast": (0.5, 1.5), "saturation": (0.0, 2.5), "hue": (-0.4, 0.5)}


def as_bytes(*operations: Any) -> nn.Sequential:
    return nn.Sequential(v1.Resize(SIZE), *operations, v2.PILToTensor())


def jitter_order(words: list[Any], i: int) -> list[int]:
    order = [0, 1, 2, 3]
    for last in (3, 2, 1):
        j = int(words[3 - last][i]) * (last + 1) >> 32
        order[last], order[j] = order[j], order[last]
    return order


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("names", [tuple(RANGES), ("brightness", "hue"), ("contrast", "saturation"), ()])
def test_jitter_is_pils_for_the_drawn_order_and_factors(
    library: Any,
    gray: bool,
    names: tuple[str, ...],
    pictures: Callable[..., list[bytes]],
    opened: Any,
    draws: Any,
) -> None:
    datas = pictures(20, seed=len(names))
    jitter = library.ColorJitter(**{name: RANGES[name] for name in names})
    first = [v1.Grayscale()] if gray else []
    batch = compile(as_bytes(*first, jitter))(datas, seed=6, epoch=1)
    choices = draws(range(len(datas)), 6, 1)
    for i, data in enumerate(datas):
        image = F.resize(opened(data), list(SIZE))
        image = F.to_grayscale(image) if gray else image
        for which in jitter_order(choices.words(0), i):
            name = tuple(RANGES)[which]
            if name in names:
                factor = float(choices.between(0, *RANGES[name], 1, which)[i])
                image = ADJUST[which](image, factor)
        np.testing.assert_array_equal(batch[i].numpy(), F.pil_to_tensor(image).numpy())


FIXED = {
    "gray": [v1.Grayscale()],
    "gray in three": [v2.Grayscale(3)],
    "gray and back": [v2.Grayscale(1), v2.RGB(), v1.Pad(2, fill=(4, 5, 6))],
    "RGB of RGB": [v2.RGB()],
    "random gray": [v1.RandomGrayscale(1.0)],
    "never gray": [v2.RandomGrayscale(0.0)],
    "random gray of gray": [v1.Grayscale(1), v2.RandomGrayscale(1.0)],
    "gray of gray": [v1.Grayscale(1), v1.Grayscale(3), v2.Grayscale(1)],
    "autocontrast": [v1.RandomAutocontrast(1.0)],
    "autocontrast of gray": [v1.Grayscale(), v2.RandomAutocontrast(1.0)],
}


@pytest.mark.parametrize("name", FIXED)
def test_what_is_fixed_is_torchvisions(
    name: str, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    transform, datas = as_bytes(*FIXED[name]), pictures(16, seed=4)
    found = compile(transform)
    assert found.reason == ""
    np.testing.assert_array_equal(found(datas).numpy(), on_pil(transform, datas).numpy())


@pytest.mark.parametrize("operation", [v1.RandomGrayscale, v2.RandomAutocontrast])
def test_gates_fire_where_they_are_drawn(
    operation: Any, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor], draws: Any
) -> None:
    datas = pictures(40, seed=2)
    never, always = (on_pil(as_bytes(operation(p)), datas) for p in (0.0, 1.0))
    batch = compile(as_bytes(v1.RandomHorizontalFlip(0.0), operation(0.4)))(datas, seed=3)
    for i, fires in enumerate(draws(range(40), 3).gates(1, 0.4)):
        np.testing.assert_array_equal(batch[i].numpy(), (always if fires else never)[i].numpy())


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("kernel", [1, 5, (3, 23)])
@pytest.mark.parametrize("tensor", [False, True])
def test_blur_is_within_a_level_for_the_drawn_sigma(
    library: Any,
    kernel: Any,
    tensor: bool,
    pictures: Callable[..., list[bytes]],
    opened: Any,
    draws: Any,
) -> None:
    datas = pictures(5, seed=8)
    operations = [library.GaussianBlur(kernel, (0.1, 4.0))]
    transform = nn.Sequential(v1.Resize(SIZE), *([v2.ToImage()] if tensor else []), *operations, v2.ToImage())
    assert "within 1 level" in read(transform).steps[2 if tensor else 1].note
    batch = compile(transform)(datas, seed=5)
    far = 0.0
    for i, sigma in enumerate(draws(range(5), 5).between(0, 0.1, 4.0)):
        pixels = F.pil_to_tensor(F.resize(opened(datas[i]), list(SIZE)))
        size = [kernel, kernel] if isinstance(kernel, int) else list(kernel)
        functional = F if library is v1 else v2.functional
        expected = functional.gaussian_blur(pixels, size, [float(sigma), float(sigma)])
        difference = (batch[i].int() - expected.int()).abs()
        assert difference.max() <= 1
        far += float((difference > 0).float().mean()) / 5
    assert far < 1e-3  # "in rare pixels"


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("operation", ["Grayscale", "RandomGrayscale"])
def test_gray_of_tensors_is_within_a_level(
    library: Any, operation: str, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    made = getattr(library, operation)(**({"p": 1.0} if operation[0] == "R" else {"num_output_channels": 3}))
    transform, datas = nn.Sequential(v1.Resize(SIZE), v2.ToImage(), made), pictures(16, seed=1)
    assert "within 1 level" in read(transform).steps[2].note
    difference = compile(transform)(datas).int() - on_pil(transform, datas).int()
    assert difference.min() == 0  # torchvision rounds down
    assert difference.max() == 1


@pytest.mark.parametrize("library", [v1, v2])
def test_gray_tensors_stay(
    library: Any, pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    """v1 leaves one channel as it is, whatever is asked for; v2 makes three of it."""
    datas = pictures(6)
    transform = as_bytes(v1.Grayscale(1), v2.ToImage(), library.Grayscale(3))
    np.testing.assert_array_equal(compile(transform)(datas).numpy(), on_pil(transform, datas).numpy())


REFUSED = {
    "on tensors torchvision computes it otherwise": [v2.ToImage(), v2.ColorJitter(0.5)],
    "put it before ToTensor": [v2.ToImage(), v2.RandomAutocontrast()],
    "torch.float32 tensors": [v1.ToTensor(), v1.Grayscale()],
    "not odd and at most 1023": [v1.GaussianBlur(1025)],
    "on torch.float32": [v1.ToTensor(), v1.GaussianBlur(3)],
}


@pytest.mark.parametrize("part", REFUSED)
def test_what_native_code_does_not_do_is_refused(part: str) -> None:
    assert part in read(v1.Compose([v1.Resize(SIZE), *REFUSED[part], v2.ToImage()])).reason


@pytest.mark.parametrize(
    ("operation", "name", "value", "part"),
    [
        (v1.ColorJitter(0.2), "hue", (0.2, 0.6), "within -0.5 to 0.5"),
        (v1.ColorJitter(0.2), "contrast", (0.9, 0.2), "no range"),
        (v1.Grayscale(), "num_output_channels", 2, "not 1 or 3"),
        (v1.GaussianBlur(3), "kernel_size", (2, 3), "not odd"),
        (v1.GaussianBlur(3), "sigma", (0.0, 1.0), "not above 0"),
        (v1.RandomGrayscale(), "p", float("nan"), "not finite"),
    ],
)
def test_parameters_that_were_spoilt_are_refused(operation: Any, name: str, value: Any, part: str) -> None:
    setattr(operation, name, value)
    reading = read(as_bytes(operation))
    assert reading.plan is None
    assert part in reading.reason
