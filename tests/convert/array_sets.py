# SPDX-License-Identifier: Apache-2.0
"""torchvision's array data sets over noise; their constructors would want the files."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchvision.datasets import CIFAR10, CIFAR100, EMNIST, KMNIST, MNIST, FashionMNIST, VisionDataset

ARRAY_SETS = (MNIST, FashionMNIST, KMNIST, EMNIST, CIFAR10, CIFAR100)


def array_set(kind: type, num_samples: int, *, train: bool = True, seed: int = 0, **transforms: Any) -> Any:
    """A data set of this type with the attributes that its constructor sets, laid out as it does."""
    random = np.random.default_rng(seed)
    dataset = kind.__new__(kind)
    VisionDataset.__init__(dataset, "unused", **transforms)
    dataset.train = train
    if issubclass(kind, MNIST):
        if issubclass(kind, EMNIST):
            dataset.split = "letters"
            dataset.classes = kind.classes_split_dict["letters"]
        num_classes = len(dataset.classes)
        pixels = random.integers(0, 256, (num_samples, 28, 28), dtype=np.uint8)
        dataset.data = torch.from_numpy(pixels)
        dataset.targets = torch.from_numpy(random.integers(0, num_classes, num_samples))
        return dataset
    num_classes = 100 if issubclass(kind, CIFAR100) else 10
    dataset.classes = [f"class{i}" for i in range(num_classes)]
    dataset.class_to_idx = {name: i for i, name in enumerate(dataset.classes)}
    planes = random.integers(0, 256, (num_samples, 3, 32, 32), dtype=np.uint8)
    dataset.data = planes.transpose(0, 2, 3, 1)
    dataset.targets = random.integers(0, num_classes, num_samples).tolist()
    return dataset


def items_of(dataset: Any) -> list[tuple[str, tuple[int, int], bytes, int]]:
    """Mode, size, pixels and class number of each item."""
    return [
        (image.mode, image.size, image.tobytes(), int(label))
        for image, label in (dataset[i] for i in range(len(dataset)))
    ]
