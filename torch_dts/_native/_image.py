# SPDX-License-Identifier: Apache-2.0
"""Looking into encoded images, decoding and resampling them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from torch_dts._native._call import Path, call, tensor
from torch_dts._paths import join_paths

TENSOR_OPS = (
    "scan_samples",
    "decode_crop_resize",
    "fused_normalize",
)
STATEFUL_OPS = (
    "jpeg_library",
    "probe_files",
)


def jpeg_library() -> str:
    return str(call("jpeg_library"))


def probe_files(paths: Sequence[Path]) -> Tensor:
    """[n, 5]: kind (1 JPEG, 0 not understood, -errno unreadable), bytes, width, height, components."""
    return tensor(call("probe_files", join_paths(paths)))


def scan_samples(arena: Tensor, offsets: Tensor, sizes: Tensor) -> Tensor:
    """[n, 4]: kind (1 JPEG, 0 other), width, height, complete (1: an EOI ends the last scan)."""
    return tensor(call("scan_samples", arena, offsets, sizes))


# What decode_crop_resize says of a sample (csrc/core/jpeg/decode.h); for all but OK its
# pixels are zero and Pillow is to be asked.
DECODE_STATUS = ("ok", "no JPEG", "not decoded natively", "incomplete", "damaged")


def decode_crop_resize(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    boxes: Tensor,
    height: int,
    width: int,
    interpolation: str = "bilinear",
    channels: int = 3,
) -> tuple[Tensor, Tensor]:
    """Decodes JPEGs in memory, each cropped and resized, on torch's threads.

    Pixels equal Pillow 13's: ``open().convert("RGB").crop().resize()``, of which a window is
    taken.

    Args:
        arena: uint8, holds the encoded samples.
        offsets, sizes: int64 [n], where they lie.
        boxes: int64 [n, 8]: crop (top, left, height, width) in the image, height and width
            it is resized to, top and left of the window of the result.
        height, width: Of the window, for all.
        interpolation: nearest, box, bilinear, hamming, bicubic or lanczos.
        channels: 3, or 1 for gray JPEGs alone.

    Returns:
        uint8 [n, height, width, channels], and int64 [n], a position in DECODE_STATUS.
    """
    images, status = call(
        "decode_crop_resize", arena, offsets, sizes, boxes, height, width, interpolation, channels
    )
    return images, status


def fused_normalize(
    images: Tensor,
    flip: Tensor,
    mean: Tensor,
    std: Tensor,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = False,
) -> Tensor:
    """Flip, ToTensor and Normalize in one pass: (x / 255 - mean) / std.

    Args:
        images: uint8 [n, H, W, C], C 1 or 3.
        flip: bool [n], left and right exchanged.
        mean, std: float32, C or 1 values; both empty: no Normalize.
        dtype: float32, float16, bfloat16, or uint8 (the pixels as they are).
        channels_last: Memory order of the result.

    Returns:
        [n, C, H, W]. float32 equals torch's own; the 16-bit types are that, rounded.
    """
    return tensor(call("fused_normalize", images, flip, mean, std, dtype, channels_last))
