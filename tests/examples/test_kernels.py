# SPDX-License-Identifier: Apache-2.0
"""The benchmark of single steps: all ways do the same work, and it says where ours loses."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.transforms import functional as f1


@pytest.fixture(scope="module")
def kernels(benchmark_module: Callable[[str], ModuleType]) -> Any:
    return benchmark_module("kernels")


@pytest.fixture
def groups(benchmark_module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    module = benchmark_module("kernel_groups")
    monkeypatch.setattr(module, "SIZE", 16)
    return module


@pytest.fixture
def images(groups: Any, kernels: Any, image_folder: Callable[..., pathlib.Path]) -> Any:
    folder = image_folder(classes={"a": 2}, size=(40, 30))
    return groups.Images(kernels.commonest(sorted(folder.rglob("*.jpg")), 5))


def ours(ways: Any) -> dict[str, Any]:
    """What our first way of each step gives, ``[n, H, W, 3]``; the others run, too."""
    found: dict[str, Any] = {}
    for step, way, work, num_pixels, _ in ways:
        made = work()
        assert num_pixels > 0
        if way.startswith("ours"):
            found.setdefault(step, made.permute(0, 2, 3, 1).numpy())
    return found


def test_the_commonest_size(kernels: Any, image_folder: Callable[..., pathlib.Path]) -> None:
    root = image_folder(classes={"a": 1}, size=(20, 10))
    more = image_folder(classes={"b": 3}, size=(10, 20))
    files = [*sorted(root.rglob("*.jpg")), *sorted(more.rglob("*.jpg"))]
    assert kernels.commonest(files, 2) == [path.read_bytes() for path in files[1:3]]


@pytest.mark.filterwarnings("ignore:The image decoding:DeprecationWarning")
def test_decoding_and_crops(groups: Any, images: Any) -> None:
    np.testing.assert_array_equal(ours(groups.decode(images))["whole"], np.stack(images.arrays))
    middle = np.stack(images.arrays)[:, 8:23, 10:30]
    np.testing.assert_array_equal(ours(groups.crop(images))["middle"], middle)


def test_resizes(groups: Any, images: Any) -> None:
    found = ours(groups.resample(images))
    assert set(found) == set(groups.FILTERS)
    for step, (_, filter_) in groups.FILTERS.items():
        expected = [np.array(image.resize((16, 16), filter_)) for image in images.pil]
        np.testing.assert_array_equal(found[step], np.stack(expected))


def test_colours(groups: Any, images: Any) -> None:
    found = ours(groups.color(images))
    assert len(found) == 7
    for step, expected in (
        ("brightness", [f1.adjust_brightness(image, 1.3) for image in images.small_pil]),
        ("hue", [f1.adjust_hue(image, 0.1) for image in images.small_pil]),
        ("grayscale", [f1.to_grayscale(image, 3) for image in images.small_pil]),
        ("rotate", [f1.rotate(image, 30, f1.InterpolationMode.BILINEAR) for image in images.small_pil]),
    ):
        np.testing.assert_array_equal(found[step], np.stack([np.array(image) for image in expected]))


def test_tails(groups: Any, images: Any) -> None:
    results: dict[str, list[torch.Tensor]] = {}
    for step, way, work, _, _ in groups.tail(images):
        made = work()
        if made is not None:
            results.setdefault(step, []).append(made)
        assert made is not None or way == "torchvision, PIL images"
    assert len(results) == 8
    for step, (own, torchs) in results.items():
        assert own.dtype == torchs.dtype, step
        assert own.stride() == torchs.stride(), step
        torch.testing.assert_close(own, torchs, rtol=0, atol=0)


def test_where_another_is_faster(kernels: Any) -> None:
    def kernel(step: str, way: str, ns: int) -> Any:
        one = kernels.Kernel("color", step, way, lambda: None, 10, 60, 2)
        one.times_ns = [ns, 10 * ns, ns // 2]
        return one

    found = [kernel("hue", "ours", 100), kernel("hue", "Pillow", 400), kernel("hue", "OpenCV", 200)]
    slower = [kernel("blur", "ours", 100), kernel("blur", "OpenCV", 40)]
    assert kernels.lost(found) == []
    assert kernels.lost([*found, *slower]) == ["color, blur: OpenCV 4 ns a pixel, ours 10"]
    rows = list(kernels.rows_of(found))
    assert rows[0] == {
        "step": "hue",
        "way": "ours",
        "ns a pixel": 10.0,
        "ms an image": pytest.approx(5e-5),
        "GB/s": 0.6,
        "times the best other": 2.0,
    }
    assert rows[1]["times the best other"] is None
