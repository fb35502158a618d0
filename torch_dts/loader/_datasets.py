# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of: files, folders, and other datasets around them."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.datasets.vision import StandardTransform

from torch_dts.datasets import DTSDataset, DTSIterableDataset
from torch_dts.file import DTSFile
from torch_dts.file._arguments import Verify
from torch_dts.file._whole_file import check_whole_file


def leaves(dataset: Any) -> Iterator[Any]:
    """The datasets inside of Subset and ConcatDataset, each once."""
    found: dict[int, Any] = {}
    open_ones = [dataset]
    while open_ones:
        inner = open_ones.pop()
        if isinstance(inner, ConcatDataset):
            open_ones += reversed(inner.datasets)
        elif isinstance(inner, Subset):
            open_ones.append(inner.dataset)
        elif id(inner) not in found:
            found[id(inner)] = inner
            yield inner


def files_of(dataset: Any) -> list[DTSFile]:
    """The ``.dts`` files that a dataset reads."""
    return [leaf.file for leaf in leaves(dataset) if isinstance(leaf, (DTSDataset, DTSIterableDataset))]


def whole_file(dataset: Any) -> DTSFile | None:
    """The file that a map-style dataset is, sample for sample; None for any other."""
    if isinstance(dataset, DTSDataset) and type(dataset).__len__ is DTSDataset.__len__:
        return dataset.file if dataset.file.header.has_blocks else None
    return None


def check_files(dataset: Any) -> None:
    """Reads all files of a dataset whole and checks their CRC-32 (``verify="file"``).

    Raises:
        CorruptFileError: A block or a file does not match its CRC-32.
    """
    for file in files_of(dataset):
        check_whole_file(file.handle, file.volumes)


def open_path(path: str | os.PathLike[str], transform: Any, verify: Verify) -> Any:
    """The dataset at a path: an ImageFolder where it is a folder without .dts files, else a DTSDataset.

    Raises:
        OSError, CorruptFileError: It can't be opened.
        FileNotFoundError: A folder without classes, or a class without images (torchvision's own error).
    """
    if os.path.isdir(path) and not any(name.endswith(".dts") for name in os.listdir(path)):
        return ImageFolder(path, transform)
    return DTSDataset(path, transform=transform, verify=verify)


def with_leaves(dataset: Any, change: Callable[[Any], None]) -> Any:
    """A shallow copy of a dataset, and of those around and inside it; `change` gets the innermost copies."""
    changed: Any = copy.copy(dataset)
    if isinstance(dataset, ConcatDataset):
        changed.datasets = [with_leaves(inner, change) for inner in dataset.datasets]
    elif isinstance(dataset, Subset):
        changed.dataset = with_leaves(dataset.dataset, change)
    else:
        change(changed)
    return changed


def with_transform(dataset: Any, transform: Any) -> Any:
    """A copy as of `with_leaves` with another transform.

    Raises:
        ValueError: A dataset has no attribute ``transform``.
    """

    def change(leaf: Any) -> None:
        if not hasattr(leaf, "transform"):
            raise ValueError(
                f"transform can't be given for a {type(leaf).__name__}, which has no attribute 'transform': "
                "give it to the dataset"
            )
        leaf.transform = transform
        if hasattr(leaf, "transforms"):  # torchvision keeps the pair too
            leaf.transforms = StandardTransform(transform, getattr(leaf, "target_transform", None))

    return with_leaves(dataset, change)
