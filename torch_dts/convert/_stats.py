# SPDX-License-Identifier: Apache-2.0
"""Mean and standard deviation of a set, from the pixels of every stored sample.

Sums are integers: neither the order of the samples nor the number of threads changes a bit.
"""

from __future__ import annotations

import threading
import warnings
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._raw import raw_image, raw_shape
from torch_dts._words import num_of
from torch_dts.datasets._decode import decode_rgb

_OK = 0  # its place in DECODE_STATUS
_COLUMNS = 7  # pixels, sums, squares


class Normalization(NamedTuple):
    """What torchvision's Normalize takes: of pixels of 0 to 1, by channel (R, G, B).

    Attributes:
        mean, std: float32 ``[3]``; std of all pixels, not of a sample of them (no ``n - 1``).
    """

    mean: Tensor
    std: Tensor


class PixelStats:
    """Adds up the pixels of samples. Any number of threads may add at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals = [0] * _COLUMNS  # Python's: beyond 64 bits
        self.num_undecoded = 0

    def add_samples(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> None:
        """Adds stored samples; what neither we nor Pillow can decode is counted and left out.

        Args:
            arena: uint8, holds the samples.
            offsets, sizes: int64 ``[n]``, where they lie.
        """
        shapes = torch.zeros(len(sizes), 3, dtype=torch.int64)
        rows = _native.pixel_sums(arena, offsets, sizes, shapes)
        num_undecoded = 0
        for i in (rows[:, 0] != _OK).nonzero().flatten().tolist():
            start, size = int(offsets[i]), int(sizes[i])
            pixels = _pixels_of(arena.numpy().data[start : start + size])
            if pixels is None:
                num_undecoded += 1
            else:
                rows[i] = _row_of(pixels)
        self._add(rows, num_undecoded)

    def add_pixels(self, pixels: Tensor, channels: int) -> None:
        """Adds pixels, uint8 of any shape whose values are interleaved `channels` (1 or 3)."""
        self._add(_row_of(pixels.reshape(-1, 1, channels))[None], 0)

    def finish(self) -> Normalization:
        """The result; warns of samples that were left out.

        Raises:
            ValueError: There were no pixels.
        """
        num_pixels, *sums = self._totals
        if not num_pixels:
            raise ValueError("stats=True, but no sample of the set can be decoded: leave it out")
        if self.num_undecoded:
            warnings.warn(
                f"mean and std are without {num_of(self.num_undecoded, 'sample')} that can't be decoded",
                stacklevel=2,
            )
        mean = [Fraction(total, 255 * num_pixels) for total in sums[:3]]
        squares = [Fraction(total, 255**2 * num_pixels) for total in sums[3:]]
        std = [float(square - m * m) ** 0.5 for m, square in zip(mean, squares, strict=True)]
        return Normalization(torch.tensor([float(m) for m in mean]), torch.tensor(std))

    def _add(self, rows: Tensor, num_undecoded: int) -> None:
        # Of a block: below 2^63, as 4 GiB hold no more than 2^46 pixels that decode.
        totals = rows[:, 1:].sum(0).tolist()
        with self._lock:
            self._totals = [a + b for a, b in zip(self._totals, totals, strict=True)]
            self.num_undecoded += num_undecoded


def _pixels_of(data: memoryview) -> Tensor | None:
    """uint8 [H, W, 1 or 3]: what a DTSDataset gives of a sample that is not decoded natively."""
    shape = raw_shape(data)
    try:
        image = decode_rgb(data) if shape is None else raw_image(data, shape)
        return torch.from_numpy(np.array(image)).reshape(image.height, image.width, -1)
    except MemoryError:
        raise
    except Exception:  # Pillow's plugins raise all kinds
        return None


def _row_of(pixels: Tensor) -> Tensor:
    """The row of pixel_sums of an image [H, W, C]."""
    flat = pixels.contiguous().reshape(-1)
    nothing = torch.zeros(1, dtype=torch.int64)
    return _native.pixel_sums(flat, nothing, nothing + flat.numel(), torch.tensor([pixels.shape]))[0]
