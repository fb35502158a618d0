# SPDX-License-Identifier: Apache-2.0
"""Which sources are pixel sets, and their samples in source order."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import array_set
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import CIFAR10, CIFAR100, MNIST, ImageFolder

from torch_dts.convert._pixel_sets import PixelSet, find_pixel_set


def find(source: Any, is_asked: bool = False) -> PixelSet | None:
    return find_pixel_set(source, is_asked=is_asked, class_to_idx=None, progress=False)


def pixels_of(found: PixelSet | None) -> np.ndarray[Any, Any]:
    assert found is not None
    return np.concatenate([piece.numpy() for piece in found.pieces()])


def test_pieces_are_the_source_in_order() -> None:
    first, second = array_set(CIFAR10, 900), array_set(CIFAR10, 1100, seed=1)
    chosen = torch.randperm(2000, generator=torch.Generator().manual_seed(0)).tolist()
    found = find(Subset(ConcatDataset([first, second]), chosen))
    both = np.concatenate([first.data, second.data])[chosen]
    assert np.array_equal(pixels_of(found), both)
    assert found is not None
    assert len(list(found.pieces())) == 2
    assert found.num_bytes == 2000 * 3072
    assert found.labels.tolist() == np.asarray(first.targets + second.targets)[chosen].tolist()


def test_what_is_no_pixel_set_unless_asked(image_folder: Any, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder())
    assert find(str(image_folder())) is None
    assert find(folder) is None
    assert find([(np.zeros((2, 2), np.uint8), 0)]) is None
    assert find(ConcatDataset([array_set(MNIST, 2), folder])) is None
    odd = array_set(MNIST, 2)
    odd.data = odd.data.float()
    assert find(odd) is None
    other = array_set(CIFAR10, 2)
    other.classes, other.class_to_idx = MNIST.classes, {name: i for i, name in enumerate(MNIST.classes)}
    assert find(ConcatDataset([array_set(MNIST, 2), other])) is None  # two sizes
    with pytest.raises(ValueError, match="sizes: 28 x 28 x 1 in the first, 32 x 32 x 3 in number 1"):
        find(ConcatDataset([array_set(MNIST, 2), other]), is_asked=True)
    only_first = find(Subset(ConcatDataset([array_set(MNIST, 2), other]), [1, 0]), is_asked=True)
    assert pixels_of(only_first).shape == (2, 28, 28, 1)


def test_arrays_and_items_together() -> None:
    arrays = array_set(MNIST, 3)
    items = [(arrays.data[i].numpy(), int(arrays.targets[i])) for i in (2, 0)]

    class Named(list[Any]):
        classes = MNIST.classes

    found = find(Subset(ConcatDataset([arrays, Named(items)]), [4, 1, 3]), is_asked=True)
    assert np.array_equal(pixels_of(found)[..., 0], arrays.data[[0, 1, 2]].numpy())
    assert found is not None
    assert found.labels.tolist() == arrays.targets[[0, 1, 2]].tolist()
    assert found.name == "MNIST + Named"
    assert not found.is_val


@pytest.mark.parametrize(
    ("kind", "height", "expected"),
    [
        (MNIST, 28, "MNIST"),
        (MNIST, 27, "PIXELS"),
        (CIFAR10, 32, "CIFAR10"),
        (CIFAR100, 32, "CIFAR100"),
        (CIFAR100, 31, "PIXELS"),
    ],
)
def test_type_by_shape(kind: type, height: int, expected: str) -> None:
    dataset = array_set(kind, 2)
    dataset.data = dataset.data[:, :height]
    found = find(dataset)
    assert found is not None
    assert found.dataset_type == expected


def test_labels_without_class_names() -> None:
    dataset = array_set(CIFAR10, 3)
    del dataset.classes, dataset.class_to_idx
    dataset.targets = [4, 0, 2]
    found = find(dataset)
    assert found is not None
    assert found.classes == ["0", "1", "2", "3", "4"]
    dataset.targets = [300, 0, 2]
    with pytest.raises(ValueError, match="the source has 301 classes; a pixel file holds at most 256"):
        find(dataset)
    dataset.targets = [-1, 0, 2]
    with pytest.raises(ValueError, match="sample 0 has label -1"):
        find(dataset)
