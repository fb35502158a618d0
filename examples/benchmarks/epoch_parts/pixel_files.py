# SPDX-License-Identifier: Apache-2.0
"""MNIST, CIFAR-10 and CIFAR-100 on the disk: torchvision's own files, or random ones in their format.

Nothing is downloaded. Where a folder has the real files they are used; else files of the same names,
formats and sizes are written, and torchvision's check of their MD5 is left out.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
from torchvision.datasets import CIFAR10, CIFAR100, MNIST

NAMES = ("MNIST", "CIFAR-10", "CIFAR-100")
SIZES = {
    "MNIST": {"train": 60_000, "val": 10_000},
    "CIFAR-10": {"train": 50_000, "val": 10_000},
    "CIFAR-100": {"train": 50_000, "val": 10_000},
}
_CLASSES: dict[str, Any] = {"MNIST": MNIST, "CIFAR-10": CIFAR10, "CIFAR-100": CIFAR100}


@contextlib.contextmanager
def _unchecked() -> Iterator[None]:
    with mock.patch("torchvision.datasets.cifar.check_integrity", return_value=True):
        yield


def opened(root: str, name: str, split: str, transform: Callable[[Any], Any] | None = None) -> Any:
    """The torchvision object over the files below `root`."""
    with _unchecked():
        return _CLASSES[name](root, train=split == "train", transform=transform, download=False)


def files_of(root: str, name: str, split: str) -> list[str]:
    """The files that torchvision reads for a split."""
    train = split == "train"
    if name == "MNIST":
        prefix = "train" if train else "t10k"
        return [f"{root}/MNIST/raw/{prefix}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1")]
    kind = _CLASSES[name]
    lists = kind.train_list if train else kind.test_list
    return [f"{root}/{kind.base_folder}/{file}" for file, _ in lists]


def is_there(root: str, name: str) -> bool:
    return all(os.path.isfile(path) for split in ("train", "val") for path in files_of(root, name, split))


def _write(path: str, data: bytes) -> None:
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_bytes(data)


def _write_cifar(root: str, name: str, split: str, count: int, generator: np.random.Generator) -> None:
    num_classes = 10 if name == "CIFAR-10" else 100
    label_key = "labels" if name == "CIFAR-10" else "fine_labels"
    paths = files_of(root, name, split)
    for number, path in enumerate(paths):
        part = (number + 1) * count // len(paths) - number * count // len(paths)
        entry = {
            "data": generator.integers(0, 256, (part, 3072), dtype=np.uint8),
            label_key: generator.integers(0, num_classes, part).tolist(),
        }
        _write(path, pickle.dumps(entry))
    kind = _CLASSES[name]
    classes = {kind.meta["key"]: [f"class {i}" for i in range(num_classes)]}
    _write(f"{root}/{kind.base_folder}/{kind.meta['filename']}", pickle.dumps(classes))


def _write_mnist(root: str, split: str, count: int, generator: np.random.Generator) -> None:
    images, labels = files_of(root, "MNIST", split)
    pixels = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    _write(images, struct.pack(">IIII", 0x803, count, 28, 28) + pixels.tobytes())
    values = generator.integers(0, 10, count, dtype=np.uint8)
    _write(labels, struct.pack(">II", 0x801, count) + values.tobytes())


def find_or_make(given: str | None, work: pathlib.Path, name: str, most: int | None) -> tuple[str, bool]:
    """The folder with a set's files, and whether they are the real ones.

    Args:
        given: A folder that may have them, in torchvision's layout.
        most: Images of a split that is made, at most; None: as many as the real set has.
    """
    if given is not None and is_there(given, name):
        return given, True
    root = os.fspath(work / f"pixels_{most or 'all'}")
    if not is_there(root, name):
        generator = np.random.default_rng(0)
        for split, size in SIZES[name].items():
            count = min(size, most or size)
            if name == "MNIST":
                _write_mnist(root, split, count, generator)
            else:
                _write_cifar(root, name, split, count, generator)
    return root, False
