# SPDX-License-Identifier: Apache-2.0
"""Sums over the pixels of samples, for mean and standard deviation of a set."""

from __future__ import annotations

from torch import Tensor

from torch_dts._native._call import call, tensor
from torch_dts._pillow import max_image_pixels

TENSOR_OPS = ("pixel_sums",)


def pixel_sums(arena: Tensor, offsets: Tensor, sizes: Tensor, shapes: Tensor) -> Tensor:
    """Adds up the pixels of samples in memory, in RGB (gray counts as three equal channels).

    Runs on the caller's thread alone.

    Args:
        arena: uint8, holds the samples.
        offsets, sizes: int64 [n], where they lie, in bytes.
        shapes: int64 [n, 3], height, width and channels (1 or 3) of pixels, or zeros for
            encoded samples.

    Returns:
        int64 [n, 8]: a position in DECODE_STATUS, the number of pixels, the sums of R, G and
        B (0 to 255), the sums of their squares. What is not OK is zeros and Pillow's to do, as
        encoded samples above its limit (Image.MAX_IMAGE_PIXELS, as it is now) are.

    Raises:
        ValueError: Wrong dtypes, lengths or shapes.
        IndexError: A sample outside of the arena.
    """
    return tensor(call("pixel_sums", arena, offsets, sizes, shapes, max_image_pixels()))
