# SPDX-License-Identifier: Apache-2.0
"""Folders, files and pixel sets: what is read of each, and states that are refused."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from recognise_sets import bare, cifar, found, mnist, opened, reason, require_same_items
from torch.utils.data import ConcatDataset
from torchvision.datasets import MNIST, QMNIST, FashionMNIST, ImageFolder

import torch_dts
from torch_dts import DTSDataset, DTSIterableDataset
from torch_dts.loader._recognise_leaves import _estimate_bytes

Make = Callable[..., pathlib.Path]


def test_mnist_and_cifar_are_used_in_place() -> None:
    gray, colour = mnist(), cifar()
    pixels = np.array(colour.data)
    require_same_items(gray)
    require_same_items(colour)
    assert np.array_equal(colour.data, pixels)
    assert colour.data.flags.c_contiguous
    recognised = opened(gray)
    assert (recognised.source_channels, recognised.source_size) == (1, (4, 5))
    assert recognised.describe(2) == "sample 2 of MNIST"
    assert opened(colour).source_channels == 3


def test_labels_and_lists_of_other_kinds(image_folder: Make) -> None:
    folder = ImageFolder(image_folder())
    paths = [path for path, _ in folder.samples]

    def with_labels(labels: list[Any]) -> ImageFolder:
        folder.samples = list(zip(paths, labels, strict=True))
        return folder

    assert reason(with_labels([0.5] * 5)) == "ImageFolder: its labels hold a float, not only ints"
    assert reason(with_labels([True] * 5)) == "ImageFolder: its labels hold a bool, not only ints"
    assert reason(with_labels([1 << 64] * 5)) == (
        "ImageFolder: its labels hold a number of more than 64 bits"
    )
    assert found(with_labels([np.int64(3)] * 5)).labels.tolist() == [3] * 5
    folder.target_transform = str
    assert "target_transform would see ints" in reason(folder)
    folder.target_transform = None
    folder.samples = [*zip(map(pathlib.Path, paths), [0] * 5, strict=True)]
    assert reason(folder) == "ImageFolder: its samples have paths that are no text"
    folder.samples = [("a\0b", 0)]
    assert "holds a NUL byte" in reason(folder)
    folder.samples = iter([])
    assert reason(folder) == "ImageFolder: its samples are a list_iterator, not a list"
    assert reason(cifar(targets=np.zeros(6, dtype=np.int32))).endswith("of type int32, not int64")
    assert reason(cifar(targets=[0])) == "CIFAR10: it has 6 images and 1 targets"
    assert reason(cifar(data=np.zeros((6, 2, 2, 4), np.uint8))).endswith(
        "[6, 2, 2, 4], not uint8 [n, H, W, 3]"
    )
    assert "float" in reason(cifar(data=np.zeros((6, 2, 2, 3))))
    assert reason(bare(MNIST, data=np.zeros((2, 2, 2)), targets=[1, 2])).endswith("ndarray, not a tensor")
    unset = mnist()
    del unset.targets
    assert reason(unset) == "MNIST: it was never given its targets"


def test_size_of_the_bytes(image_folder: Make, dts_file: Make) -> None:
    folder, file = ImageFolder(image_folder()), DTSDataset(dts_file())
    size = sum(os.path.getsize(path) for path, _ in folder.samples)
    assert found(folder).num_bytes() == size
    assert found(file).num_bytes() == os.path.getsize(file.file.path)
    assert found(ConcatDataset([folder, file])).num_bytes() == size + os.path.getsize(file.file.path)
    assert found(mnist()).num_bytes() == 0


def test_many_files_are_estimated(image_folder: Make) -> None:
    paths = [path for path, _ in ImageFolder(image_folder(classes={"a": 7})).samples]
    sizes = [os.path.getsize(path) for path in paths]
    assert _estimate_bytes(paths) == sum(sizes)
    assert _estimate_bytes(paths, num_asked=3) == (sizes[0] + sizes[3] + sizes[6]) * 7 // 3
    assert _estimate_bytes([*paths, "missing"]) == sum(sizes)
    assert _estimate_bytes([]) == 0


def test_kinds_of_mnist() -> None:
    data, targets = mnist().data, [1, 2, 3, 4, 5, 6]
    require_same_items(bare(FashionMNIST, data=data.flip(0), targets=targets))
    turned = bare(MNIST, data=data.transpose(1, 2), targets=targets)
    require_same_items(turned)
    assert turned.data.is_contiguous()
    assert "has a __getitem__ of its own" in reason(bare(QMNIST, data=data, targets=targets))


def test_arrays_that_cannot_be_written() -> None:
    dataset = cifar(data=np.ascontiguousarray(cifar().data))
    dataset.data.flags.writeable = False
    require_same_items(dataset)


def test_pixel_file(tmp_path: pathlib.Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
    path = tmp_path / "set.dts"
    torch_dts.convert(cifar(8, data=pixels), path, progress=False)
    dataset = DTSDataset(path)
    require_same_items(dataset)
    assert opened(dataset).source_size == (32, 32)
    assert found(DTSIterableDataset(path)).labels.tolist() == list(range(8))
    other = DTSDataset(path, loader=lambda data: Image.new("RGB", (32, 32)))
    assert reason(other) == "DTSDataset: its loader= is not the library's own"
