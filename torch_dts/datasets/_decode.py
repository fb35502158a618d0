# SPDX-License-Identifier: Apache-2.0
"""From the stored bytes of a sample to what a dataset returns, and errors that name the sample."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image

from torch_dts._image_errors import without_addresses
from torch_dts._paths import display
from torch_dts._raw import raw_image, raw_shape
from torch_dts.file import DTSFile

Loader = Callable[[memoryview], Any]
Transform = Callable[[Any], Any]

_MODES = {1: "L", 3: "RGB"}


def decode_rgb(data: bytes | memoryview) -> Image.Image:
    """The PIL image that torchvision's ImageFolder makes of a file with these bytes.

    Raises:
        Exception: What Pillow raises for bytes that it can't read.
    """
    return Image.open(io.BytesIO(data)).convert("RGB")


def decode_stored(data: bytes | memoryview) -> Image.Image:
    """As `decode_rgb`, for a file that may hold samples of pixels beside encoded ones.

    Raises:
        Exception: What Pillow raises for bytes that it can't read.
    """
    shape = raw_shape(data)
    return decode_rgb(data) if shape is None else raw_image(data, shape).convert("RGB")


@dataclass(frozen=True)
class PixelLoader:
    """Makes the image of a sample of a pixel file, as torchvision's MNIST and CIFAR10 make theirs.

    Attributes:
        height, width: Of the images.
        channels: 1: mode L, 3: mode RGB.
    """

    height: int
    width: int
    channels: int

    def __call__(self, data: bytes | memoryview) -> Image.Image:
        """The PIL image with a copy of these pixels, ``height * width * channels`` bytes."""
        return Image.frombytes(_MODES[self.channels], (self.width, self.height), data)


def default_loader(file: DTSFile) -> Loader:
    """What makes the image of a sample of this file.

    Raises:
        ValueError: It is a pixel file of images with other channels than 1 or 3.
    """
    header = file.header
    if header.has_blocks:
        return decode_stored if header.may_hold_raw_samples else decode_rgb
    if header.num_channels not in _MODES:
        raise ValueError(
            f"{display(file.path)} has images of {header.num_channels} channels, expected 1 or 3: "
            "pass loader= to make something of their pixels"
        )
    return PixelLoader(header.image_height, header.image_width, header.num_channels)


def load_sample(loader: Loader, data: memoryview, file: DTSFile, index: int) -> Any:
    """``loader(data)``; an error keeps its type and says in its text which sample it was.

    Args:
        loader: Takes the stored bytes, returns the sample.
        data: The stored bytes.
        file: The file they are from.
        index: The source index of the sample in `file`.
    """
    try:
        return loader(data)
    except Exception as error:
        extend_message(error, file.describe_sample(index))
        raise


def make_item(
    sample: Any, target: int, transform: Transform | None, target_transform: Transform | None
) -> tuple[Any, Any]:
    """The pair a dataset returns, in torchvision's order: first the sample is transformed."""
    if transform is not None:
        sample = transform(sample)
    return sample, target if target_transform is None else target_transform(target)


def extend_message(error: Exception, text: str) -> None:
    """Appends ``[text]`` to the message of `error`. Never raises.

    Where the message can't be changed, the text becomes a note (Python 3.11 and later).
    """
    addition = f" [{text}]"
    with contextlib.suppress(Exception):
        if isinstance(error, SyntaxError):  # Pillow has it for a broken PNG; its text is not in args
            error.msg = f"{error.msg}{addition}"
        elif isinstance(error, OSError) and error.strerror is not None:
            error.strerror = f"{error.strerror}{addition}"
        elif not error.args:
            error.args = (addition[1:],)
        elif len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (without_addresses(error.args[0]) + addition,)
        elif hasattr(error, "add_note"):
            error.add_note(addition[1:])
