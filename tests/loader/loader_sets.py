# SPDX-License-Identifier: Apache-2.0
"""Transforms, images and comparisons for the tests of the loader."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision import transforms

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NUM_PHOTOS = 23
NUM_BLOCKS_SAMPLES = 20

FIXED = transforms.Compose(
    [
        transforms.Resize(20),
        transforms.CenterCrop(16),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
)
RANDOM = transforms.Compose(
    [
        transforms.RandomResizedCrop(16),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
)


def photo(number: int, size: tuple[int, int]) -> Image.Image:
    """A soft noisy image; no two numbers alike."""
    coarse = np.random.default_rng(number).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def hashes(batches: Iterable[Any]) -> list[str]:
    """A hash of each batch ``[images, labels, ...]``."""
    made = []
    for batch in batches:
        digest = hashlib.sha256()
        for part in batch:
            digest.update(part.contiguous().numpy().tobytes())
        made.append(digest.hexdigest())
    return made


def labels_of(batches: Iterable[Any]) -> list[list[int]]:
    """The labels of each batch."""
    return [batch[1].tolist() for batch in batches]


def same(found: Any, expected: Any) -> bool:
    """Whether two batches have equal types, dtypes, shapes and values."""
    if isinstance(expected, torch.Tensor):
        return (
            type(found) is type(expected) and found.dtype == expected.dtype and torch.equal(found, expected)
        )
    if isinstance(expected, (list, tuple)):
        return (
            type(found) is type(expected) and len(found) == len(expected) and all(map(same, found, expected))
        )
    return type(found) is type(expected) and bool(found == expected)


class PaddedPhotos:
    """Encoded photos; zeros behind their end fill blocks of 16 MiB with few samples. Label: number."""

    classes = tuple(f"class{number}" for number in range(NUM_BLOCKS_SAMPLES))

    def __len__(self) -> int:
        return NUM_BLOCKS_SAMPLES

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        if index >= NUM_BLOCKS_SAMPLES:
            raise IndexError(index)
        stream = io.BytesIO()
        photo(100 + index, (20 + index % 4, 22)).save(stream, "JPEG", quality=90)
        return stream.getvalue() + bytes((2 << 20) * (6 + index * 3 % 7) // 8), index
