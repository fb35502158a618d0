# SPDX-License-Identifier: Apache-2.0
"""Width and height of encoded images, from their headers."""

from __future__ import annotations

import io

import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native


def image_sizes(arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[tuple[int, int]]:
    """(width, height) of each image, as Pillow says; (0, 0) where it knows none.

    Args:
        arena: uint8, holds the encoded images.
        offsets, sizes: int64 [k] place of each in `arena`.
    """
    is_jpeg, width, height, _ = _native.scan_samples(arena, offsets, sizes).unbind(1)
    found = list(zip((width * is_jpeg).tolist(), (height * is_jpeg).tolist(), strict=True))
    view = arena.numpy().data
    for i in torch.nonzero(is_jpeg == 0).flatten().tolist():
        start, size = int(offsets[i]), int(sizes[i])
        found[i] = _pillow_size(view[start : start + size])
    return found


def _pillow_size(data: memoryview) -> tuple[int, int]:
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.width, image.height
    except Exception:  # Pillow's plugins raise nearly anything on damaged files
        return 0, 0
