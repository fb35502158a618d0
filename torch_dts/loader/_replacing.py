# SPDX-License-Identifier: Apache-2.0
"""``on_error="replace"`` where Python reads the dataset: what can't be decoded is a black image.

The transform is the user's there, so that nobody knows the shape of what it gives: the image is
replaced before it, and the transform does its work on it as on any other.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import get_worker_info
from torchvision.datasets import DatasetFolder, folder

from torch_dts._paths import display
from torch_dts.datasets import DTSDataset
from torch_dts.datasets._decode import PixelLoader, decode_rgb, decode_stored
from torch_dts.loader._datasets import leaves, with_leaves

_OWN_LOADERS = (decode_rgb, decode_stored, folder.default_loader, folder.pil_loader)
_DEFAULT_SIZE = 256, 256


class ReplacingLoader:
    """A ``loader=`` of a dataset that gives a black image where the library's own one raises.

    The image has the size that the file's header says; where it says none, that of the image
    before, or 256 x 256.

    Args:
        loader: One of the library's own or torchvision's.
        counts: int64 ``[num_workers + 1]`` in shared memory, replaced images of the training's
            process and of each worker.
    """

    def __init__(self, loader: Any, counts: Tensor) -> None:
        self._loader = loader
        self._counts = counts
        self._size = _DEFAULT_SIZE

    def __call__(self, source: Any) -> Any:
        """The image of a path, or of the bytes of a file."""
        try:
            image = self._loader(source)
        except Exception as error:
            self._count(source, error)
            return Image.new("RGB", _size_by_header(source) or self._size)
        self._size = image.size
        return image

    def _count(self, source: Any, error: Exception) -> None:
        if not self._counts.any():
            where = f" [{display(source)}]" if isinstance(source, str) else ""
            warnings.warn(
                f"a bad sample was replaced by a black image: {error}{where}. Further ones are only counted "
                "(loader.stats().num_replaced)",
                stacklevel=2,
            )
        info = get_worker_info()
        self._counts[0 if info is None else info.id + 1] += 1


def new_counts(num_workers: int) -> Tensor:
    """Zeros for `ReplacingLoader`."""
    counts: Tensor = torch.zeros(num_workers + 1, dtype=torch.int64)
    return counts.share_memory_()  # type: ignore[no-untyped-call, no-any-return]


def can_replace(dataset: Any) -> bool:
    """Whether all of a dataset's images come from a known ``loader``."""
    return all(_is_replaceable(leaf) for leaf in leaves(dataset))


def with_replacing(dataset: Any, counts: Tensor) -> Any:
    """A shallow copy of a dataset, and of those around and inside it, where `can_replace`."""

    def replace(leaf: Any) -> None:
        if leaf.loader in _OWN_LOADERS:
            leaf.loader = ReplacingLoader(leaf.loader, counts)

    return with_leaves(dataset, replace)


def _is_replaceable(leaf: Any) -> bool:
    loader = getattr(leaf, "loader", None)
    is_known = loader in _OWN_LOADERS or type(loader) is PixelLoader
    return isinstance(leaf, (DTSDataset, DatasetFolder)) and is_known


def _size_by_header(source: Any) -> tuple[int, int] | None:
    try:
        with Image.open(source if isinstance(source, str) else io.BytesIO(source)) as image:
            width, height = image.size
            return width, height
    except Exception:
        return None
