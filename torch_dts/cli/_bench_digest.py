# SPDX-License-Identifier: Apache-2.0
"""One hash for all that an epoch delivers, so that machines can compare."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Digest(NamedTuple):
    """Of an epoch."""

    sha256: str
    """64 hexadecimal digits."""
    num_images: int


def digest_epoch(batches: Iterable[Any]) -> Digest:
    """SHA-256 over the samples in their order: of each its label, 8 bytes, then its pixels.

    The pixels are those of ``[C, H, W]`` in C order, whatever the memory order of the batch; numbers
    are little-endian. Sizes of batches make no difference.

    Args:
        batches: Of ``[images, labels]``: uint8 or floats ``[B, C, H, W]`` and int64 ``[B]``.

    Raises:
        ValueError: A batch is something else.
    """
    found = hashlib.sha256()
    num_images = 0
    for batch in batches:
        images, labels = _parts(batch)
        num_images += labels.numel()
        labels_bytes = _as_bytes(labels)
        for i in range(labels.numel()):
            found.update(labels_bytes[8 * i : 8 * i + 8])
            found.update(_as_bytes(images[i]))
    return Digest(found.hexdigest(), num_images)


def _parts(batch: Any) -> tuple[Tensor, Tensor]:
    parts = list(batch) if isinstance(batch, (list, tuple)) else []
    if len(parts) == 2 and all(isinstance(part, Tensor) for part in parts):
        images, labels = parts
        if labels.ndim == 1 and images.ndim >= 1 and images.shape[0] == labels.shape[0]:
            return images.detach().cpu(), labels.detach().cpu().long()
    raise ValueError(
        "digest is of batches [images, labels] of tensors, but the transform makes others of "
        f"{type(batch).__name__}: end it with ToTensor(), PILToTensor() or the like"
    )


def _as_bytes(values: Tensor) -> bytes:
    flat = values.contiguous().view(-1)
    array = flat.view(torch.uint8).reshape(-1, flat.element_size()).numpy()
    if sys.byteorder == "big":
        array = array[:, ::-1]
    return array.tobytes()
