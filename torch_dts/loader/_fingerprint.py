# SPDX-License-Identifier: Apache-2.0
"""What tells whether a dataset is the one that a state was saved with."""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import DatasetFolder

from torch_dts.datasets import DTSDataset, DTSIterableDataset


class Fingerprints:
    """The fingerprints of a loader's datasets: files and arrays are looked at once.

    A list of a folder, or an array, that is another object than the last time is read anew;
    one that is the same object is taken to be unchanged.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, tuple[tuple[int, ...], str]] = weakref.WeakKeyDictionary()

    def of(self, dataset: Any) -> str:
        """The fingerprint of a dataset.

        * ``.dts`` files: the file's own (docs/format.md).
        * A folder: of the sorted relative paths, sizes and times of change of its files.
        * Arrays in memory (MNIST, CIFAR): of their shape and bytes.
        * Subset, ConcatDataset: of their indices and what is below.
        * Any other: its class and length; whether its samples are the same is not known.

        Raises:
            OSError: A file of a folder is gone.
        """
        if isinstance(dataset, (DTSDataset, DTSIterableDataset)):
            return dataset.file.fingerprint
        if isinstance(dataset, Subset):
            indices = np.asarray(dataset.indices)
            return _digest(["subset", self.of(dataset.dataset), str(indices.dtype.kind), _bytes(indices)])
        if isinstance(dataset, ConcatDataset):
            return _digest(["concat", *map(self.of, dataset.datasets)])
        if isinstance(dataset, DatasetFolder):
            return self._once(dataset, (dataset.samples,), _folder)
        data, targets = getattr(dataset, "data", None), getattr(dataset, "targets", None)
        if isinstance(data, (np.ndarray, torch.Tensor)):
            return self._once(dataset, (data, targets), _arrays)
        length = len(dataset) if hasattr(type(dataset), "__len__") else "no"
        return _digest(["other", type(dataset).__module__, type(dataset).__qualname__, str(length)])

    def _once(self, dataset: Any, parts: tuple[Any, ...], make: Any) -> str:
        identity = (*map(id, parts), *(len(part) for part in parts if hasattr(part, "__len__")))
        found = self._known.get(dataset)
        if found is None or found[0] != identity:
            found = (identity, make(dataset))
            self._known[dataset] = found
        return found[1]

    def __getstate__(self) -> dict[str, object]:
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        Fingerprints.__init__(self)


def _folder(dataset: DatasetFolder) -> str:
    listing = []
    for path, *_ in dataset.samples:
        found = os.stat(path)
        relative = os.path.relpath(path, dataset.root).replace(os.sep, "/")
        listing.append(f"{relative}\0{found.st_size}\0{found.st_mtime_ns}\n")
    return _digest(sorted(listing))


def _arrays(dataset: Any) -> str:
    data = np.asarray(dataset.data)
    targets = np.asarray(getattr(dataset, "targets", ()))
    return _digest(["arrays", str(data.shape), str(data.dtype), _bytes(data), _bytes(targets)])


def _bytes(array: np.ndarray[Any, Any]) -> bytes | memoryview:
    if array.dtype == object:
        return repr(array.tolist()).encode()
    return np.ascontiguousarray(array).data.cast("B") if array.size else b""


def _digest(parts: Iterable[str | bytes | memoryview]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part)
        made.update(b"\0")
    return made.hexdigest()
