# SPDX-License-Identifier: Apache-2.0
"""The operations that native code knows, as plain frozen data; each can write its line of a plan.

The lines are read by csrc/core/pipeline/sample_plan.h, where every key is described. `op`
is an operation's place among the random ones (docs/format.md section 5); `filter` is
Pillow's number of a resampling filter.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]


def encode_value(value: int | float) -> str:
    """A number without loss: integers in digits, floats as C's hexadecimal notation."""
    return float(value).hex() if isinstance(value, float) else str(int(value))


def encode_line(name: str, **keys: int | float | tuple[int | float, ...] | None) -> str:
    """``name key=number[,number...] ...``; keys that are None or empty are left out."""
    words = [name]
    for key, value in keys.items():
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        if values:
            words.append(f"{key}={','.join(encode_value(number) for number in values)}")
    return " ".join(words)


@dataclass(frozen=True)
class RandomResizedCrop:
    """A random box, resized to `height` x `width`."""

    op: int
    height: int
    width: int
    scale: Range
    ratio: Range
    filter: int

    def encode(self) -> str:
        return encode_line("resized_crop", **vars(self))


@dataclass(frozen=True)
class Resize:
    """To `height` x `width`.

    `width` 0: the shorter side to `height`, the longer to at most `max_size` (0: to any).
    """

    height: int
    width: int
    filter: int
    max_size: int = 0

    def encode(self) -> str:
        return encode_line("resize", **vars(self))


@dataclass(frozen=True)
class CenterCrop:
    """The middle `height` x `width` pixels, with black around an image that is smaller."""

    height: int
    width: int

    def encode(self) -> str:
        return encode_line("center_crop", **vars(self))


@dataclass(frozen=True)
class RandomCrop:
    """A random box of `height` x `width` of the padded image.

    `padding`: left, top, right, bottom. `fill`: one value, one per channel, or none (0).
    `pad_mode`: 0 constant, 1 edge, 2 reflect, 3 symmetric.
    """

    op: int
    height: int
    width: int
    padding: tuple[int, ...] = (0, 0, 0, 0)
    fill: tuple[int, ...] = ()
    pad_mode: int = 0
    pad_if_needed: bool = False

    def encode(self) -> str:
        return encode_line("random_crop", **vars(self))


@dataclass(frozen=True)
class Pad:
    """A border; the fields are RandomCrop's. Negative numbers cut off."""

    padding: tuple[int, ...]
    fill: tuple[int, ...] = ()
    pad_mode: int = 0

    def encode(self) -> str:
        return encode_line("pad", **vars(self))


@dataclass(frozen=True)
class HorizontalFlip:
    """Left and right exchanged with probability `p`."""

    op: int
    p: float

    def encode(self) -> str:
        return encode_line("horizontal_flip", **vars(self))


@dataclass(frozen=True)
class VerticalFlip:
    """Top and bottom exchanged with probability `p`."""

    op: int
    p: float

    def encode(self) -> str:
        return encode_line("vertical_flip", **vars(self))


@dataclass(frozen=True)
class ColorJitter:
    """Brightness, contrast, saturation, hue in random order; None: that one is left out."""

    op: int
    brightness: Range | None = None
    contrast: Range | None = None
    saturation: Range | None = None
    hue: Range | None = None

    def encode(self) -> str:
        return encode_line("color_jitter", **vars(self))


@dataclass(frozen=True)
class Grayscale:
    """Gray in `channels` equal channels (1 or 3)."""

    channels: int

    def encode(self) -> str:
        return encode_line("grayscale", **vars(self))


@dataclass(frozen=True)
class RandomGrayscale:
    """Gray with probability `p`, the number of channels as it is."""

    op: int
    p: float

    def encode(self) -> str:
        return encode_line("random_grayscale", **vars(self))


@dataclass(frozen=True)
class RandomRotation:
    """About `center` (x, y; None: the middle) by an angle of the range `degrees`."""

    op: int
    degrees: Range
    filter: int
    fill: tuple[int, ...] = ()
    center: Range | None = None

    def encode(self) -> str:
        return encode_line("rotation", **vars(self))


@dataclass(frozen=True)
class RandomAutocontrast:
    """Each channel stretched to the full range with probability `p`."""

    op: int
    p: float

    def encode(self) -> str:
        return encode_line("autocontrast", **vars(self))


@dataclass(frozen=True)
class GaussianBlur:
    """`kernel`: width, height; `sigma`: the range it is drawn from."""

    op: int
    kernel: tuple[int, int]
    sigma: Range

    def encode(self) -> str:
        return encode_line("gaussian_blur", **vars(self))


@dataclass(frozen=True)
class RandomErasing:
    """A random box of the result set to `values`: one, or one per channel, in output units.

    None: standard normal numbers, one for each value in the box.
    With `deferred` the box is drawn, and filled by somebody else.
    """

    op: int
    p: float
    scale: Range
    ratio: Range
    values: tuple[float, ...] | None
    deferred: bool = False

    def encode(self) -> str:
        return encode_line(
            "erasing",
            op=self.op,
            p=self.p,
            scale=self.scale,
            ratio=self.ratio,
            value=self.values,
            random=1 if self.values is None and not self.deferred else None,
            deferred=1 if self.deferred else None,
        )


Step = (
    RandomResizedCrop
    | Resize
    | CenterCrop
    | RandomCrop
    | Pad
    | HorizontalFlip
    | VerticalFlip
    | ColorJitter
    | Grayscale
    | RandomGrayscale
    | RandomRotation
    | RandomAutocontrast
    | GaussianBlur
)
