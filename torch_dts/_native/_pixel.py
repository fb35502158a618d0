# SPDX-License-Identifier: Apache-2.0
"""Pixel files (MNIST, CIFAR): reading all pixels at once, and writing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from torch_dts._native._call import Path, call, release
from torch_dts._paths import escape

STATEFUL_OPS = (
    "read_pixels",
    "pixel_writer_open",
    "pixel_writer_write",
    "pixel_writer_set_normalization",
    "pixel_writer_finish",
    "pixel_writer_abort",
)


def read_pixels(handle: int, check: bool = True) -> tuple[Tensor, Tensor]:
    """All samples of a pixel file that `file_open` opened.

    Args:
        check: Compare the CRC-32 of everything behind the header.

    Returns:
        labels, int64 ``[n]``, and pixels, uint8 ``[n, height, width, channels]``.

    Raises:
        ValueError: It is a file of blocks.
        CorruptFileError: The CRC-32 or a label is wrong, or the file changed.
    """
    labels, pixels = call("read_pixels", handle, check)
    return labels, pixels


def pixel_writer_open(
    path: Path,
    *,
    overwrite: bool,
    dataset_type: str,
    is_training: int,
    num_classes: int,
    num_samples: int,
    height: int,
    width: int,
    channels: int,
) -> int:
    """A writer handle; the file is `<path>.partial` until pixel_writer_finish."""
    shape = (num_samples, height, width, channels)
    return int(
        call("pixel_writer_open", escape(path), overwrite, dataset_type, is_training, num_classes, *shape)
    )


def pixel_writer_write(writer: int, pixels: Tensor) -> None:
    """Appends pixels (uint8, any shape, contiguous), which come in source order. One thread at a time."""
    call("pixel_writer_write", writer, pixels)


def pixel_writer_set_normalization(writer: int, mean: Tensor, std: Tensor) -> None:
    """Mean and standard deviation of the set's pixels for the header, float32 [3], in 0 to 1."""
    call("pixel_writer_set_normalization", writer, mean, std)


def pixel_writer_finish(writer: int, labels: Tensor, info: bytes, classes: bytes) -> None:
    """Writes labels (int64 ``[n]``), the sections INFO and CLSS and the header; the file appears."""
    call("pixel_writer_finish", writer, labels, _as_tensor(info), _as_tensor(classes))


def pixel_writer_abort(writer: int) -> None:
    """Removes the partial file."""
    release("pixel_writer_abort", writer)


def _as_tensor(data: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytearray(data), dtype=np.uint8))
