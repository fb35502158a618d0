# SPDX-License-Identifier: Apache-2.0
"""The images of one data set as one array: taken over where it has one, else collected item by item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torchvision.datasets import CIFAR10, CIFAR100, MNIST, QMNIST, SVHN

from torch_dts import _native
from torch_dts._image_errors import without_addresses
from torch_dts._progress import Progress
from torch_dts._words import num_of
from torch_dts.convert._items import class_number, describe
from torch_dts.convert._originals import OriginalSet
from torch_dts.convert._report import BadSample, BadSamplesError
from torch_dts.convert._samples import OUR_TROUBLE
from torch_dts.file import DTSFile

MAX_PAYLOAD_BYTES = (1 << 32) - 1  # a 32-bit field of the header

Shape = tuple[int, int, int]
_MODES = {"L": 1, "RGB": 3}
_TEST_SPLITS = frozenset({"test", "val", "valid", "validation"})


@dataclass(frozen=True, eq=False)
class Images:
    """The images of one data set.

    Attributes:
        name: What they are, such as "KMNIST".
        is_cifar100: Of 32 x 32 x 3 images: it is CIFAR-100.
        is_training: None: the data set does not say.
        pixels: uint8 ``[n, height, width, channels]``, of any strides.
        labels: int64 ``[n]``.
    """

    name: str
    is_cifar100: bool
    is_training: bool | None
    pixels: NDArray[np.uint8]
    labels: Tensor

    @property
    def shape(self) -> Shape:
        """Height, width, channels."""
        height, width, channels = self.pixels.shape[1:]
        return height, width, channels


def is_array_set(dataset: Any) -> bool:
    """True for pixel files, original files, and torchvision's CIFAR, MNIST and SVHN sets as they are."""
    if isinstance(dataset, DTSFile):
        return not dataset.header.has_blocks
    if isinstance(dataset, OriginalSet):
        return True
    kind = type(dataset)
    return any(
        isinstance(dataset, owner) and kind.__getitem__ is owner.__getitem__ and kind.__len__ is owner.__len__
        for owner in (CIFAR10, MNIST, QMNIST, SVHN)
    )


def open_images(dataset: Any) -> Images | None:
    """The images of an array set; None where its arrays are not what torchvision loads.

    Raises:
        CorruptFileError: A pixel file is damaged.
    """
    if isinstance(dataset, DTSFile):
        return _open_file(dataset)
    if isinstance(dataset, OriginalSet):
        is_cifar100 = dataset.kind == "CIFAR100"
        numbers = torch.from_numpy(dataset.targets)
        return Images(dataset.kind, is_cifar100, dataset.train, dataset.data, numbers)
    found = getattr(dataset, "data", None)
    if isinstance(dataset, MNIST):
        is_own = isinstance(found, Tensor) and found.dtype == torch.uint8 and found.ndim == 3
        data = found.cpu().numpy()[..., None] if is_own and isinstance(found, Tensor) else None
    else:
        is_own = isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.ndim == 4
        data = found if is_own and isinstance(found, np.ndarray) else None
        if data is not None and isinstance(dataset, SVHN):  # planes, as in its files
            data = data.transpose(0, 2, 3, 1)
        data = data if data is not None and data.shape[3] == 3 else None
    targets: Any = getattr(dataset, "labels" if isinstance(dataset, SVHN) else "targets", None)
    if isinstance(dataset, QMNIST):
        # Rows of class, series, writer and so on, of which an item has the class unless asked for all.
        is_rows = isinstance(targets, Tensor) and targets.ndim == 2 and getattr(dataset, "compat", False)
        targets = targets[:, 0] if is_rows else None
    labels = _label_tensor(targets)
    if data is None or labels is None or len(data) != len(labels) or not math.prod(data.shape[1:]):
        return None
    name = type(dataset).__name__
    return Images(name, isinstance(dataset, CIFAR100), says_training(dataset), data, labels)


def collect_images(dataset: Any, items: Sequence[int], progress: bool | None) -> Images:
    """Asks a data set for some of its items, PIL images or uint8 arrays of one size.

    Returns:
        The images in the order of `items`.

    Raises:
        TypeError: An item without pixels.
        ValueError: Images of different sizes, or more than a pixel file holds.
        BadSamplesError: The data set can't give an item.
    """
    name = type(dataset).__name__
    pixels: NDArray[np.uint8] | None = None
    labels = torch.zeros(len(items), dtype=torch.int64)
    with Progress("reading", len(items), progress) as bar:
        for i, item in enumerate(items):
            where = f"{name}[{item}]"
            image, label = _take_apart(_ask(dataset, item, i, len(items), where), where)
            if pixels is None:
                check_payload(len(items), _as_shape(image))
                pixels = np.empty((len(items), *image.shape), dtype=np.uint8)
            if image.shape != pixels.shape[1:]:
                raise ValueError(
                    f"{where} is {size_text(_as_shape(image))}, but {name}[{items[0]}] is "
                    f"{size_text(_as_shape(pixels[0]))} (height, width, channels); the images of a pixel "
                    f"file have one size"
                )
            pixels[i] = image
            labels[i] = label
            bar.add(1)
    if pixels is None:
        pixels = np.empty((0, 0, 0, 0), dtype=np.uint8)
    return Images(name, False, says_training(dataset), pixels, labels)


def check_payload(num_samples: int, shape: Shape) -> None:
    """Raises ValueError for more samples of a shape than one pixel file holds."""
    num_bytes = num_samples * (1 + math.prod(shape))
    if num_bytes > MAX_PAYLOAD_BYTES:
        raise ValueError(
            f"{num_of(num_samples, 'image')} of {size_text(shape)} are {num_bytes} bytes with their labels; "
            f"a pixel file holds less than 4 GiB. encoding='png' stores them as images in blocks, which have "
            f"no such limit"
        )


def says_training(dataset: Any) -> bool | None:
    """Whether a data set is for training, as its `train` or `split` says; None where it does not."""
    if isinstance(dataset, DTSFile):
        return bool(dataset.header.is_training)
    train = getattr(dataset, "train", None)
    if isinstance(train, bool):
        return train
    return False if getattr(dataset, "split", None) in _TEST_SPLITS else None


def size_text(shape: Shape) -> str:
    """ "32 x 32 x 3"."""
    return " x ".join(map(str, shape))


def _open_file(file: DTSFile) -> Images:
    # Checked whatever the file was opened with: damage must not be copied.
    labels, pixels = _native.read_pixels(file.handle, True)
    kind = file.header.dataset_type
    name = str(file.info.get("name", kind))
    return Images(name, kind == "CIFAR100", says_training(file), pixels.numpy(), labels)


def _label_tensor(targets: Any) -> Tensor | None:
    try:
        labels = torch.as_tensor(targets)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    is_number = labels.ndim == 1 and not (
        labels.dtype.is_floating_point or labels.dtype.is_complex or labels.dtype == torch.bool
    )
    return labels.to("cpu", torch.int64) if is_number else None


def _ask(dataset: Any, item: int, i: int, num_items: int, where: str) -> Any:
    try:
        return dataset[item]
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in OUR_TROUBLE:
            raise
        bad = BadSample(where, i, f"it raised {type(error).__name__}: {without_addresses(str(error))}")
        advice = "Nothing was written. A pixel file leaves no sample out: choose the good ones with a Subset."
        raise BadSamplesError([bad], num_items, advice) from error


def _take_apart(item: Any, where: str) -> tuple[NDArray[np.uint8], int]:
    """The pixels of an item, uint8 ``[height, width, channels]``, and its class number."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise TypeError(f"{where} must be (image, class number), found {describe(item)}")
    image, label = item
    if isinstance(image, Image.Image) and image.mode in _MODES:
        pixels = np.asarray(image)
    elif isinstance(image, np.ndarray) and image.dtype == np.uint8:
        pixels = image
    else:
        pixels = np.empty(0, dtype=np.uint8)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in _MODES.values() or not pixels.size:
        raise TypeError(
            f"{where}: for encoding='pixels' the image must be a PIL image of mode L or RGB or a uint8 array "
            f"[height, width] or [height, width, 3], found {describe(image)}"
        )
    return pixels, class_number(label, where)


def _as_shape(image: NDArray[np.uint8]) -> Shape:
    height, width, channels = image.shape
    return height, width, channels
