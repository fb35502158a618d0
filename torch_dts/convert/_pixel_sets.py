# SPDX-License-Identifier: Apache-2.0
"""Sources whose images are pixels of one size: what goes into a pixel file."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torch_dts._paths import display
from torch_dts.convert._classes import apply_class_to_idx, check_labels, number_classes
from torch_dts.convert._folder import GivenPath, is_path
from torch_dts.convert._originals import OriginalSet
from torch_dts.convert._pixel_leaf import (
    Images,
    Shape,
    check_payload,
    collect_images,
    is_array_set,
    open_images,
    size_text,
)
from torch_dts.convert._sources import check_not_empty, common_classes, flatten
from torch_dts.convert._targets import Targets

MAX_CLASSES = 256  # labels are bytes
_PIECE_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class PixelSet:
    """All samples of a source, in source order.

    Attributes:
        name: What the images are, such as "KMNIST", for the file's INFO.
        dataset_type: For the file's header.
        is_val: True when the data sets say that they are for testing.
        shape: Height, width, channels of every image.
        labels: int64 ``[n]``.
        classes: Class names by number.
        images: The data sets.
        leaf_of, item_of: int64 ``[n]``, where each sample is: position in `images`, and in that.
    """

    name: str
    dataset_type: str
    is_val: bool
    shape: Shape
    labels: Tensor
    classes: list[str]
    images: list[Images]
    leaf_of: Tensor
    item_of: Tensor

    @property
    def num_bytes(self) -> int:
        """Of all pixels."""
        return self.labels.numel() * math.prod(self.shape)

    def pieces(self) -> Iterator[Tensor]:
        """All pixels in source order: uint8 ``[k, height, width, channels]``, some MiB at a time."""
        step = max(1, _PIECE_BYTES // math.prod(self.shape))
        leaves, items = self.leaf_of.numpy(), self.item_of.numpy()
        for start in range(0, len(leaves), step):
            leaf, item = leaves[start : start + step], items[start : start + step]
            piece = np.empty((len(leaf), *self.shape), dtype=np.uint8)
            for number in np.unique(leaf).tolist():
                at = leaf == number
                piece[at] = self.images[number].pixels[item[at]]
            yield torch.from_numpy(piece)


def find_pixel_set(
    source: Any,
    *,
    is_asked: bool,
    class_to_idx: Mapping[str, int] | None,
    progress: bool | None,
    targets: Targets | None = None,
) -> PixelSet | None:
    """What a source is as a pixel set; None: it is none.

    Args:
        source: As `torch_dts.convert` takes it.
        is_asked: False: only data sets that hold arrays of one size are pixel sets. True: any
            data set of images of one size is, and what is none is an error.
        class_to_idx: Class numbers to use in place of the source's; None: the source's.
        progress: For items that are read one by one.
        targets: Classes in place of the source's.

    Raises:
        ValueError: More than a pixel file holds, labels or classes that don't fit;
            with `is_asked`: images of different sizes, no samples, a sample that can't be had.
        TypeError: With `is_asked`: a source or item without pixels.
        CorruptFileError: A .dts file of the source is damaged.
    """
    is_given = isinstance(source, GivenPath) and not isinstance(source, OriginalSet)
    if is_given or is_path(source):
        if is_asked:
            what = "this source holds files" if is_given else f"{display(source)!r} is a folder"
            raise TypeError(
                f"encoding='pixels' needs a data set of images that are pixels, such as CIFAR10; {what}"
            )
        return None
    leaves, leaf_of, item_of = flatten(source)
    if is_asked:
        check_not_empty(source, leaf_of)
    elif not len(leaf_of) or not all(map(is_array_set, leaves)):
        return None
    found = [open_images(leaf) if is_array_set(leaf) else None for leaf in leaves]
    if not is_asked and (None in found or len({images.shape for images in found if images}) > 1):
        return None
    classes = None
    if targets is None:
        classes = common_classes(leaves)
    else:
        with contextlib.suppress(ValueError):  # data sets of different classes may be joined then
            classes = common_classes(leaves)
    if class_to_idx is None and targets is None and classes is not None:
        _check_num_classes(len(classes))
    images = []
    for number, leaf in enumerate(leaves):
        at = leaf_of == number
        each = found[number]
        if each is None:
            each = collect_images(leaf, item_of[at].tolist(), progress)
            item_of[at] = torch.arange(int(at.sum()))
        images.append(each)
    # Data sets of which nothing was chosen may have any size.
    used = [images[number] for number in sorted(set(leaf_of.tolist()))]
    shape = _common_shape(used)
    check_payload(len(leaf_of), shape)
    labels = torch.zeros(len(leaf_of), dtype=torch.int64)
    for number, each in enumerate(images):
        at = leaf_of == number
        labels[at] = each.labels[item_of[at]]
    if targets is not None:
        labels, classes = targets.settle(len(labels), classes, class_to_idx)
    elif class_to_idx is not None:
        labels, classes = apply_class_to_idx(labels, classes, class_to_idx)
    elif classes is None:
        classes = number_classes(labels)
    _check_num_classes(len(classes))
    check_labels(labels, len(classes))
    return PixelSet(
        name=" + ".join(dict.fromkeys(each.name for each in used)),
        dataset_type=_type_of(shape, used),
        is_val=all(each.is_training is False for each in used),
        shape=shape,
        labels=labels,
        classes=classes,
        images=images,
        leaf_of=leaf_of,
        item_of=item_of,
    )


def _check_num_classes(count: int) -> None:
    if count > MAX_CLASSES:
        raise ValueError(
            f"the source has {count} classes; a pixel file holds at most {MAX_CLASSES}, as its labels are "
            f"bytes. encoding='png' stores the images in blocks, which have no such limit"
        )


def _common_shape(images: Sequence[Images]) -> Shape:
    shape = images[0].shape
    for number, each in enumerate(images):
        if each.shape != shape:
            raise ValueError(
                f"the images of the joined data sets have different sizes: {size_text(shape)} in the first, "
                f"{size_text(each.shape)} in number {number} (height, width, channels)"
            )
    return shape


def _type_of(shape: Shape, images: Sequence[Images]) -> str:
    """dataset_type of the header (docs/format.md, "Pixel files")."""
    if shape == (28, 28, 1):
        return "MNIST"
    if shape == (32, 32, 3):
        return "CIFAR100" if all(each.is_cifar100 for each in images) else "CIFAR10"
    return "PIXELS"
