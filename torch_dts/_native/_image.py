# SPDX-License-Identifier: Apache-2.0
"""Looking into encoded images, decoding and resampling them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from torch_dts._native._call import Path, call, tensor
from torch_dts._native._cuda import load_cuda
from torch_dts._paths import join_paths

TENSOR_OPS = (
    "scan_samples",
    "decode_crop_resize",
    "fused_normalize",
)
STATEFUL_OPS = (
    "jpeg_library",
    "simd_level",
    "probe_files",
)


def jpeg_library() -> str:
    return str(call("jpeg_library"))


def simd_level() -> str:
    """What the kernels use: "generic", "avx2" or "avx512"."""
    return str(call("simd_level"))


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
    flip: Tensor | None,
    mean: Tensor,
    std: Tensor,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = False,
    *,
    boxes: Tensor | None = None,
    values: Tensor | None = None,
    scale: int = 1,
    pad_channels: int = 0,
) -> Tensor:
    """Flip, ToTensor, Normalize and RandomErasing in one pass: (x / 255 - mean) / std, boxes filled.

    On the CPU, or of CUDA tensors on their device's current stream, with the same bits. The
    tensors of sizes and numbers (mean, std, values) are on the CPU always.

    Args:
        images: uint8 [n, H, W, C], C 1 or 3.
        flip: bool [n], left and right exchanged; None: of none.
        mean, std: float32, C or 1 values; both empty: no Normalize.
        dtype: float32, float16, bfloat16, or uint8 (the pixels as they are).
        channels_last: Memory order of the result.
        boxes: int64 [n, 4]: top, left, height, width of what is erased behind the flip; height 0:
            nothing. On CUDA what lies outside of the image is left out.
        values: float32, C or 1: what the boxes hold, in units of the result.
        scale: 1: x / 255; 2: x * (1 / 255), as torchvision v2's ToDtype; 0: x.
        pad_channels: 4: a fourth channel of zeros behind three; 0: none.

    Returns:
        [n, C, H, W]. float32 equals torch's own; the 16-bit types are that, rounded.

    Raises:
        ValueError: Shapes, dtypes or values that don't fit; on the CPU a box outside of the image.
        RuntimeError: CUDA tensors, and no kernels for them (load_cuda says why).
    """
    if images.is_cuda:
        load_cuda()
    arguments = (images, flip, mean, std, dtype, channels_last, boxes, values, scale, pad_channels)
    return tensor(call("fused_normalize", *arguments))
