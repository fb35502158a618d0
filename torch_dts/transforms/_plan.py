# SPDX-License-Identifier: Apache-2.0
"""`Plan`: a whole transform as native code runs it, and its text (csrc/core/pipeline/sample_plan.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from PIL import Image

from torch_dts._pillow import resize_pass_order
from torch_dts.transforms._steps import RandomErasing, Step, encode_line

# Their places are the numbers of csrc/core/image/fused_normalize.h, PixelType.
DTYPES = (torch.uint8, torch.float32, torch.float16, torch.bfloat16)
_LAYOUTS = (torch.contiguous_format, torch.channels_last)

Decoder = Literal["auto", "libjpeg"]
Decode = Literal["exact", "fast"]
DECODES = ("exact", "fast")  # their places are the plan's numbers

NO_SCALE, DIVIDE, MULTIPLY = 0, 1, 2  # x; x / 255; x * (1 / 255), which differs in the last bit


@dataclass(frozen=True)
class Plan:
    """A transform that native code runs from encoded bytes to the batch.

    Attributes:
        steps: On 8-bit pixels, in their order.
        output_shape: C, H, W of the result, the same for every image.
        dtype: Of the result.
        scale: NO_SCALE, DIVIDE or MULTIPLY.
        mean, std: Of Normalize, 1 or C values; empty where there is none.
        erasing: RandomErasing, the last thing that is done.
        num_random_ops: How many random operations the transform has.
        source_channels: Of images that come as pixels.
    """

    steps: tuple[Step, ...]
    output_shape: tuple[int, int, int]
    dtype: torch.dtype
    scale: int = NO_SCALE
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    erasing: RandomErasing | None = None
    num_random_ops: int = 0
    source_channels: int = 3

    def encode(
        self,
        dtype: torch.dtype | None = None,
        memory_format: torch.memory_format | None = None,
        decoder: Decoder = "auto",
        decode: Decode = "exact",
    ) -> str:
        """The plan as the text that the native ops take.

        Pillow's version and its limit on pixels are written down as they are at this moment.

        Args:
            dtype: Of the result instead of the transform's own, as ``.to(dtype)`` behind it.
            memory_format: torch.contiguous_format (the default) or torch.channels_last.
            decoder: "libjpeg" keeps our own JPEG decoder out; pixels are the same.
            decode: "fast" lets JPEGs be decoded smaller where they are shrunk anyway; pixels differ.

        Raises:
            ValueError: Another dtype or memory format than these; torch.uint8 for a
                transform that scales or normalises.
        """
        dtype = self.dtype if dtype is None else dtype
        memory_format = torch.contiguous_format if memory_format is None else memory_format
        if dtype not in DTYPES:
            raise ValueError(f"dtype is {dtype}, expected one of {', '.join(map(str, DTYPES))}")
        if dtype == torch.uint8 and self.dtype != torch.uint8:
            raise ValueError(
                f"dtype is torch.uint8, but the transform gives {self.dtype}; for bytes, end it with "
                "ToImage() or PILToTensor(), without ToDtype() and Normalize()"
            )
        if memory_format not in _LAYOUTS:
            raise ValueError(
                f"memory_format is {memory_format}, expected torch.contiguous_format or torch.channels_last"
            )
        channels, height, width = self.output_shape
        reader = {} if decoder == "auto" else {"reader": 1}
        if decode != "exact":
            reader["decode"] = DECODES.index(decode)
        lines = [
            encode_line(
                "source",
                channels=self.source_channels,
                max_pixels=_max_pixels(),
                pass_order=resize_pass_order(),
                **reader,
            ),
            *(step.encode() for step in self.steps),
            encode_line(
                "output",
                height=height,
                width=width,
                channels=channels,
                dtype=DTYPES.index(dtype),
                layout=_LAYOUTS.index(memory_format),
                scale=self.scale,
                mean=self.mean,
                std=self.std,
            ),
        ]
        if self.erasing is not None:
            lines.append(self.erasing.encode())
        return "\n".join(lines) + "\n"


def _max_pixels() -> int:
    """Above this Pillow warns or, above twice this, refuses; 0: never."""
    limit = Image.MAX_IMAGE_PIXELS
    return 0 if limit is None else max(1, int(limit))


def check_decoder(decoder: object) -> Decoder:
    """Raises ValueError where it is none of the two."""
    if decoder == "auto" or decoder == "libjpeg":
        return decoder
    raise ValueError(f"decoder is {decoder!r}, expected 'auto' or 'libjpeg'")


def check_decode(decode: object) -> Decode:
    """Raises ValueError where it is none of those that change pixels, or leave them."""
    if decode == "exact" or decode == "fast":
        return decode
    raise ValueError(f"decode is {decode!r}, expected 'exact' or 'fast'")
