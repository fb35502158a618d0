# SPDX-License-Identifier: Apache-2.0
"""Datasets to recognise, and what is asked of the result."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import CIFAR10, MNIST, VisionDataset

from torch_dts import _native
from torch_dts.loader._recognise import Readable, Recognised, inspect, recognise


def found(dataset: Any) -> Readable:
    readable = inspect(dataset)
    assert isinstance(readable, Readable), readable
    return readable


def reason(dataset: Any) -> str:
    readable = inspect(dataset)
    assert isinstance(readable, str)
    return readable


def opened(dataset: Any, keep: int = 0) -> Recognised:
    recognised = recognise(dataset, keep=keep)
    assert isinstance(recognised, Recognised), recognised
    return recognised


def bare(kind: type, **attributes: Any) -> Any:
    """A torchvision dataset without its download."""
    dataset = kind.__new__(kind)
    VisionDataset.__init__(dataset, "somewhere")
    for name, value in attributes.items():
        setattr(dataset, name, value)
    return dataset


def cifar(num_samples: int = 6, **attributes: Any) -> Any:
    planes = np.random.default_rng(1).integers(0, 256, (num_samples, 3, 4, 5), dtype=np.uint8)
    given = {"data": planes.transpose(0, 2, 3, 1), "targets": list(range(num_samples)), **attributes}
    return bare(CIFAR10, **given)


def mnist(num_samples: int = 6) -> Any:
    generator = torch.Generator().manual_seed(1)
    data = torch.randint(0, 256, (num_samples, 4, 5), dtype=torch.uint8, generator=generator)
    return bare(MNIST, data=data, targets=torch.arange(num_samples) % 10)


def require_same_items(dataset: Any) -> None:
    """Labels, and the pixels of the bytes read by sample, are those of the dataset's items."""
    recognised = opened(dataset)
    samples = recognised.samples
    num_samples = int(_native.source_info(recognised.source)[0])
    assert recognised.labels.dtype == torch.int64
    assert recognised.labels.numel() == len(dataset)
    for i in range(len(dataset)):
        image, label = dataset[i]
        sample = i if samples is None else int(samples[i])
        assert 0 <= sample < num_samples
        decoded = Image.open(io.BytesIO(recognised.read_bytes(sample)))
        assert np.array_equal(np.asarray(decoded.convert(image.mode)), np.asarray(image))
        assert int(recognised.labels[i]) == label
    recognised.resource.close()
    with pytest.raises(ValueError, match="source"):
        _native.source_info(recognised.source)
