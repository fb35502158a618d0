# SPDX-License-Identifier: Apache-2.0
"""The work that every contestant does: RandomResizedCrop, flip, ToTensor and Normalize, batch by batch."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]
Epoch = Callable[[], Batches]


@dataclasses.dataclass(frozen=True)
class Work:
    """What to load and how.

    Attributes:
        folder: A folder of class folders of JPEGs.
        place: The folder of the set that the contestant packs, if it does.
        batch_size: Images of a batch; the last one may be smaller.
        image_size: Width and height of the results.
        num_workers: Threads or processes.
        dtype: "float32", normalised, or "uint8".
        raw_size: Longest side of an image that is stored as pixels.
    """

    folder: str
    place: str
    batch_size: int = 256
    image_size: int = 224
    num_workers: int = 2
    dtype: str = "float32"
    raw_size: int = 400

    def is_float(self) -> bool:
        return self.dtype == "float32"

    def samples(self) -> list[tuple[str, int]]:
        """Paths and class numbers, in ImageFolder's order."""
        return list(ImageFolder(self.folder).samples)

    def file(self, name: str) -> str:
        """A path in `place`."""
        return str(pathlib.Path(self.place) / name)

    def torch_arguments(self) -> dict[str, Any]:
        """Of a torch DataLoader whose workers stay from epoch to epoch."""
        return {
            "batch_size": self.batch_size,
            "num_workers": self.num_workers,
            "persistent_workers": self.num_workers > 0,
        }


def make_transform(size: int, is_float: bool = True) -> v1.Compose:
    """torchvision's v1 transforms over PIL images, the form that most training scripts have."""
    tail = [v1.ToTensor(), v1.Normalize(MEAN, STD)] if is_float else [v1.PILToTensor()]
    return v1.Compose([v1.RandomResizedCrop(size), v1.RandomHorizontalFlip(), *tail])


def make_v2_transform(size: int, is_float: bool = True) -> v2.Compose:
    """The form that torchvision's docs advise for speed: v2, on uint8 tensors until the last step."""
    tail = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)] if is_float else []
    return v2.Compose(
        [v2.ToImage(), v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip(), *tail]
    )


def epoch_of(loader: Any) -> Callable[[], int]:
    """A function that runs one epoch of a loader and returns its number of images."""
    return run_of(lambda: iter(loader))


def run_of(begin: Epoch) -> Callable[[], int]:
    """The same of what a contestant's `start` gives."""
    return lambda: sum(touch(images, labels) for images, labels in begin())


def touch(images: torch.Tensor, labels: torch.Tensor) -> int:
    """Reads one value of each image, so that no batch goes by unread. Returns the number of images."""
    return int(images[:, 0, 0, 0].isfinite().sum()) + 0 * int(labels[0])
