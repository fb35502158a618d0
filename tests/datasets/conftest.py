# SPDX-License-Identifier: Apache-2.0
"""A small file of several blocks whose samples tell their number, and what a stream delivers."""

from __future__ import annotations

import io
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import torch_dts

# Data sets over arrays are built beside the tests of convert.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "convert"))

NUM_SAMPLES = 23
NUM_CLASSES = 5


class NumberedImages:
    """Encoded images of one gray each. Zeros behind the end fill blocks of 16 MiB with few samples."""

    def __init__(self, num_samples: int, padding_bytes: int) -> None:
        self.num_samples = num_samples
        self.padding_bytes = padding_bytes
        self.classes = [f"class{label}" for label in range(NUM_CLASSES)]

    def __len__(self) -> int:
        return self.num_samples

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        if index >= self.num_samples:
            raise IndexError(index)
        stream = io.BytesIO()
        Image.new("L", (8, 8), index * 8).save(stream, "JPEG", quality=95)
        # Between 0.75 and 1.5 times, so that blocks hold different numbers of samples.
        padding = self.padding_bytes * (6 + index * 3 % 7) // 8
        return stream.getvalue() + bytes(padding), index % NUM_CLASSES


def number_of(image: Image.Image) -> int:
    """The number of an image of NumberedImages."""
    return round(int(np.asarray(image)[0, 0, 0]) / 8)


@pytest.fixture(scope="session")
def many_blocks(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of 23 samples in several blocks."""
    path = tmp_path_factory.mktemp("many_blocks") / "many.dts"
    torch_dts.convert(NumberedImages(NUM_SAMPLES, 4 << 20), path, check="none", progress=False)
    with torch_dts.open(path) as file:
        assert 6 <= file.num_blocks <= 10
    return path


@pytest.fixture(scope="session")
def one_block(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of 10 samples in one block."""
    path = tmp_path_factory.mktemp("one_block") / "one.dts"
    torch_dts.convert(NumberedImages(10, 0), path, check="none", progress=False)
    return path


@pytest.fixture
def numbers() -> Callable[[Iterable[Any]], list[int]]:
    """The numbers of the samples that a dataset of (image, label) delivers; labels are checked."""

    def collect(items: Iterable[Any]) -> list[int]:
        found = [(number_of(image), int(label)) for image, label in items]
        assert [label for _, label in found] == [number % NUM_CLASSES for number, _ in found]
        return [number for number, _ in found]

    return collect
