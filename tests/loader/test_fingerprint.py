# SPDX-License-Identifier: Apache-2.0
"""Fingerprints tell datasets apart, and are made once."""

from __future__ import annotations

import os
import pathlib
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._fingerprint import Fingerprints


class Arrays(SimpleNamespace):
    """Looks like a set of torchvision's in memory."""

    __hash__ = object.__hash__

    def __len__(self) -> int:
        return len(self.data)


def of(dataset: Any) -> str:
    return Fingerprints().of(dataset)


def test_files_and_what_is_around_them(photos_file: pathlib.Path, blocks_file: pathlib.Path) -> None:
    data: Any = torch_dts.DTSDataset(photos_file)
    assert of(data) == of(torch_dts.DTSIterableDataset(photos_file)) == data.file.fingerprint
    others = [
        of(made)
        for made in (
            data,
            torch_dts.DTSDataset(blocks_file),
            Subset(data, [1, 2]),
            Subset(data, [2, 1]),
            ConcatDataset([data, data]),
            Subset(Subset(data, [1, 2]), [0, 1]),
            range(3),
            range(4),
        )
    ]
    assert len(set(others)) == len(others)
    assert of(Subset(data, [1, 2])) == of(Subset(data, range(1, 3)))


def test_folders(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copied = shutil.copytree(photos, tmp_path / "copied")
    assert of(ImageFolder(copied)) == of(ImageFolder(photos))  # times are copied too
    known = Fingerprints()
    data = ImageFolder(copied)
    first = known.of(data)
    path = next(iter(copied.rglob("*.jpg")))
    os.utime(path, ns=(1, 1))
    assert known.of(data) == first  # not looked at again
    assert of(ImageFolder(copied)) != first
    path.unlink()
    assert len({of(ImageFolder(copied)), first}) == 2


def test_arrays() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    same = [Arrays(data=pixels.copy(), targets=[1, 0]) for _ in range(2)]
    assert of(same[0]) == of(same[1])
    changed = pixels.copy()
    changed[1, 2, 3] = 0
    made = {
        of(Arrays(data=data, targets=targets))
        for data, targets in (
            (pixels, [1, 0]),
            (changed, [1, 0]),
            (pixels, [0, 1]),
            (pixels.reshape(2, 4, 3), [1, 0]),
            (pixels.view(np.int8), [1, 0]),
        )
    }
    assert len(made) == 5
