# SPDX-License-Identifier: Apache-2.0
"""The transforms that come with torchvision's weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torchvision.models import Inception_V3_Weights, ResNet50_Weights
from torchvision.transforms import v2
from torchvision.transforms._presets import ImageClassification

from torch_dts.transforms import compile
from torch_dts.transforms._read import read


def test_weights_transforms(pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]) -> None:
    datas = pictures(4, low=40, high=300)
    for weights in (ResNet50_Weights.DEFAULT, Inception_V3_Weights.DEFAULT):
        transform = weights.transforms()
        compiled = compile(transform)
        assert compiled.reason == ""
        torch.testing.assert_close(compiled(datas), on_pil(transform, datas), rtol=2e-7, atol=1e-7)


def test_behind_a_conversion(pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]) -> None:
    datas = pictures(6, low=20)
    transform = nn.Sequential(v2.ToImage(), ImageClassification(crop_size=12, resize_size=15))
    assert "within 1 level" in read(transform).steps[1].note
    difference = (compile(transform)(datas) - on_pil(transform, datas)).abs()
    assert difference.max() < 1.01 / 255 / 0.224


def test_parameters_are_read() -> None:
    preset = ImageClassification(crop_size=12, resize_size=15)
    preset.crop_size = [13]
    assert read(preset).plan.output_shape == (3, 13, 13)
    preset.std = [0.0]
    assert "ImageClassification" in read(preset).reason
    assert "is 0 or infinite" in read(preset).reason
