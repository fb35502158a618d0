# SPDX-License-Identifier: Apache-2.0
"""JPEGs made of JPEGs: restart markers and better tables without loss, and export levels."""

from __future__ import annotations

from torch import Tensor

from torch_dts._native._call import call
from torch_dts._pillow import max_image_pixels, resize_pass_order

TENSOR_OPS = ("export_jpegs", "transcode_jpegs")

# Values of `restart_interval` that are no number of MCUs.
AUTO_RESTART_INTERVAL = 0
NO_RESTART_MARKERS = -1

# Why the original bytes were kept (csrc/core/jpeg/transcode.h): the first number of the facts.
TRANSCODE_STATUS = (
    "transcoded",
    "no JPEG, or one only Pillow can judge",
    "not 8-bit Huffman coding with 1, 3 or 4 components in one scan",
    "incomplete",
    "damaged",
    "other pixels",
    "too many pixels",
    "bytes behind the picture",
)


def transcode_jpegs(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    restart_interval: int = AUTO_RESTART_INTERVAL,
    keep_metadata: bool = False,
    grain: int = 1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Writes JPEGs anew without loss: one sequential scan, optimal tables, restart markers.

    Coefficients and quantisation tables stay. The result is read again and compared with the original:
    all that pixels are made of, or (progressive pictures) the pixels. Where they differ, and for files that
    are unusual or damaged, the original bytes are given back. Runs on torch's threads.

    Args:
        arena: uint8, holds the encoded samples.
        offsets, sizes: int64 [n], where they lie, in bytes.
        restart_interval: MCUs between two markers, at most 65535 are taken; 0: the smallest
            divisor of the MCUs a row from 2 to 6, where there is none 1 (at most 40 MCUs a row)
            or the row; -1: no markers, tables alone.
        keep_metadata: All APPn and COM segments. Else APP0, APP14, ICC profile and the
            orientation, as a minimal EXIF segment; the rest is dropped and counted.
        grain: Samples for a thread at least; up to so many altogether run in the calling thread.

    Returns:
        uint8 [total], the results one behind the other; int64 [n], their offsets; int64 [n],
        their sizes; int64 [n, 3], the facts: position in TRANSCODE_STATUS, metadata segments
        dropped or cut down, bytes dropped with them.

    Raises:
        ValueError: A restart_interval below -1, a grain below 1.
        IndexError: A sample outside of the arena.
    """
    out, out_offsets, out_sizes, facts = call(
        "transcode_jpegs", arena, offsets, sizes, restart_interval, keep_metadata, grain
    )
    return out, out_offsets, out_sizes, facts


def export_jpegs(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    level: int,
    restart_interval: int = AUTO_RESTART_INTERVAL,
    pass_order: int | None = None,
    grain: int = 1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Makes JPEGs of an export level: resized, cut and encoded again (docs/format.md section 4).

    The decoded pixels are those of Pillow's open(), resize(), crop() and save(); the bytes have
    Huffman tables of their own and restart markers, and no metadata, as save() writes none.
    Pictures above Pillow's limit (Image.MAX_IMAGE_PIXELS, as it is now) are Pillow's to judge. Runs
    on torch's threads.

    Args:
        arena: uint8, holds the encoded samples.
        offsets, sizes: int64 [n], where they lie, in bytes.
        level: 1, 2 or 3.
        restart_interval: As in transcode_jpegs.
        pass_order: Of the resize (csrc/core/image/resample.h); None: the installed Pillow's.
        grain: As in transcode_jpegs.

    Returns:
        uint8 [total], the results one behind the other; int64 [n], their offsets; int64 [n],
        their sizes, 0 where Pillow is to be asked; int64 [n, 3], the facts: position in
        DECODE_STATUS (0: done, else ask Pillow), width and height of the result in pixels.

    Raises:
        ValueError: Another level, a restart_interval below -1, a grain below 1.
        IndexError: A sample outside of the arena.
    """
    order = resize_pass_order() if pass_order is None else pass_order
    out, out_offsets, out_sizes, facts = call(
        "export_jpegs", arena, offsets, sizes, level, restart_interval, order, max_image_pixels(), grain
    )
    return out, out_offsets, out_sizes, facts
