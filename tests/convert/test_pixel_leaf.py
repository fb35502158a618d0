# SPDX-License-Identifier: Apache-2.0
"""The arrays of one data set; test_convert_pixels.py has whole conversions."""

from __future__ import annotations

import errno
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import ARRAY_SETS, array_set
from PIL import Image
from torchvision.datasets import CIFAR10, MNIST

from torch_dts.convert import BadSamplesError
from torch_dts.convert._pixel_leaf import collect_images, is_array_set, open_images, says_training


class Items(list[Any]):
    """A map-style data set of given items."""

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        if isinstance(item, BaseException):
            raise item
        return item


@pytest.mark.parametrize("kind", ARRAY_SETS)
def test_arrays_are_taken_over_without_a_copy(kind: type) -> None:
    dataset = array_set(kind, 4, train=False)
    assert is_array_set(dataset)
    images = open_images(dataset)
    assert images is not None
    assert np.shares_memory(images.pixels, np.asarray(dataset.data))
    assert np.array_equal(images.pixels.reshape(np.asarray(dataset.data).shape), np.asarray(dataset.data))
    assert images.labels.tolist() == [int(label) for label in dataset.targets]
    assert images.labels.dtype == torch.int64
    assert images.is_training is False
    assert images.name == kind.__name__
    assert images.is_cifar100 == (kind.__name__ == "CIFAR100")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (MNIST, "data", torch.zeros(4, 28, 28)),
        (MNIST, "data", torch.zeros(4, 3, 28, 28, dtype=torch.uint8)),
        (MNIST, "data", np.zeros((4, 28, 28), np.uint8)),
        (MNIST, "data", torch.zeros(5, 28, 28, dtype=torch.uint8)),
        (MNIST, "data", torch.zeros(4, 0, 28, dtype=torch.uint8)),
        (MNIST, "data", None),
        (MNIST, "targets", torch.zeros(4)),
        (MNIST, "targets", torch.zeros(4, 8, dtype=torch.int64)),
        (CIFAR10, "data", np.zeros((4, 32, 32, 3), np.float32)),
        (CIFAR10, "data", np.zeros((4, 32, 32, 4), np.uint8)),
        (CIFAR10, "data", [np.zeros((32, 32, 3), np.uint8)] * 4),
        (CIFAR10, "targets", ["a", "b", "c", "d"]),
        (CIFAR10, "targets", None),
        (CIFAR10, "targets", [True, False, True, True]),
        (CIFAR10, "targets", [1 << 70, 0, 0, 0]),
    ],
)
def test_other_contents_are_left_to_the_items(kind: type, name: str, value: Any) -> None:
    dataset = array_set(kind, 4)
    setattr(dataset, name, value)
    assert open_images(dataset) is None


def test_changed_classes_are_no_array_sets() -> None:
    class Longer(CIFAR10):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2 * len(self.data)

    class Same(CIFAR10):  # type: ignore[misc]
        pass

    assert not is_array_set(array_set(Longer, 2))
    assert is_array_set(array_set(Same, 2))
    assert not is_array_set(Items())


def test_says_training() -> None:
    class Split:
        def __init__(self, **attributes: Any) -> None:
            vars(self).update(attributes)

    assert says_training(Split(train=True)) is True
    assert says_training(Split(train=False, split="train")) is False
    assert says_training(Split(split="test")) is False
    assert says_training(Split(split="val")) is False
    assert says_training(Split(split="train")) is None
    assert says_training(Split(train="yes")) is None
    assert says_training(object()) is None


def test_collected_images() -> None:
    gray = np.arange(12, dtype=np.uint8).reshape(3, 4)
    items = Items(
        [(Image.fromarray(gray), 3), (gray + 1, torch.tensor(2)), ((gray + 2)[..., None], np.int64(1))]
    )
    images = collect_images(items, [2, 0, 1, 0], False)
    assert images.shape == (3, 4, 1)
    assert np.array_equal(images.pixels[..., 0], np.stack([gray + 2, gray, gray + 1, gray]))
    assert images.labels.tolist() == [1, 3, 2, 3]
    assert (images.name, images.is_training, images.is_cifar100) == ("Items", None, False)


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (7, TypeError, r"Items\[1\] must be \(image, class number\), found int 7"),
        (
            (Image.new("RGB", (4, 3)), "cat"),
            TypeError,
            r"Items\[1\]: the class number must be an int, found str",
        ),
        ((Image.new("RGBA", (4, 3)), 0), TypeError, "mode L or RGB .* found Image of mode RGBA, 4 x 3"),
        ((torch.zeros(3, 4, dtype=torch.uint8), 0), TypeError, r"found Tensor of shape \(3, 4\)"),
        ((np.zeros((3, 4, 2), np.uint8), 0), TypeError, r"found ndarray of shape \(3, 4, 2\), uint8"),
        ((np.zeros((3, 4), np.float32), 0), TypeError, r"found ndarray of shape \(3, 4\), float32"),
        ((b"\xff\xd8\xff", 0), TypeError, "found bytes"),
        ((np.zeros((0, 4), np.uint8), 0), TypeError, r"shape \(0, 4\)"),
        (
            (np.zeros((4, 4), np.uint8), 0),
            ValueError,
            r"Items\[1\] is 4 x 4 x 1, but Items\[0\] is 3 x 4 x 1 \(height, width, channels\); the",
        ),
        ((Image.new("RGB", (4, 3)), 0), ValueError, r"Items\[1\] is 3 x 4 x 3, but Items\[0\] is 3 x 4 x 1"),
        (KeyError("gone"), BadSamplesError, r"Items\[1\] \(sample 1\): it raised KeyError: 'gone'"),
        (OSError(errno.EMFILE, "too many open files"), OSError, "too many open files"),
        (MemoryError("much"), MemoryError, "much"),
    ],
)
def test_items_that_can_t_be_used(item: Any, error: type[Exception], message: str) -> None:
    items = Items([(Image.new("L", (4, 3)), 0), item])
    with pytest.raises(error, match=message):
        collect_images(items, [0, 1], False)
