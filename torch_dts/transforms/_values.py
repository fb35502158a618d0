# SPDX-License-Identifier: Apache-2.0
"""Parameters of a transform as plain numbers, or a Refusal that says why native code can't have them.

Only Python's, numpy's and torch's own types are looked into: a value of another type could
run its author's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torchvision.transforms import InterpolationMode

Parameters = Mapping[str, Any]

FILTERS = {  # Pillow's numbers
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}
_MODES_BY_NUMBER = {number: mode for mode, number in FILTERS.items()}
_MODES_BY_NAME = {mode.value: mode for mode in InterpolationMode}
PAD_MODES = ("constant", "edge", "reflect", "symmetric")
_PLAIN_NUMBERS = (int, float, bool)
# Limits of the core (csrc/core/pipeline/sample_plan.cpp), beyond what anybody needs.
MAX_SIDE = 65535  # pixels
MAX_STEPS = 64
MAX_NUMBER = 1e6  # scales, ratios, factors, degrees, sigmas
_MAX_FLOAT32 = 3.4028234663852886e38


class Refusal(Exception):
    """An operation, a parameter or an order of operations that native code does not run."""


def get(parameters: Parameters, name: str) -> Any:
    """A parameter as it stands in the object."""
    if name not in parameters:
        raise Refusal(f"it has no attribute {name!r}")
    return parameters[name]


def is_number(value: Any) -> bool:
    # Not isinstance(), which asks the object for its class.
    return type(value) in _PLAIN_NUMBERS or issubclass(type(value), np.number | np.bool_)


def number(value: Any, name: str) -> float:
    """A float that is finite as float32, too."""
    if not is_number(value):
        raise Refusal(f"{name} is {type(value).__name__}, not a number")
    if not abs(value) <= _MAX_FLOAT32:
        raise Refusal(f"{name} is {value}, not finite as float32")
    return float(value)


def integer(value: Any, name: str) -> int:
    if not is_number(value) or issubclass(type(value), float | np.inexact):
        raise Refusal(f"{name} is {show(value)}, not an integer")
    return int(value)


def sequence(value: Any, name: str) -> tuple[Any, ...]:
    """The items of a list or tuple."""
    if type(value) not in (list, tuple, torch.Size):
        raise Refusal(f"{name} is {type(value).__name__}, not a list or tuple")
    return tuple(value)


def side(value: Any, name: str) -> int:
    found = integer(value, name)
    if not 0 < found <= MAX_SIDE:
        raise Refusal(f"{name} is {found}, not between 1 and {MAX_SIDE}")
    return found


def height_width(parameters: Parameters, name: str = "size") -> tuple[int, int]:
    """A size that stands as (height, width)."""
    values = sequence(get(parameters, name), name)
    if len(values) != 2:
        raise Refusal(f"{name} has {len(values)} numbers, not 2")
    return side(values[0], name), side(values[1], name)


def pair(value: Any, name: str) -> tuple[float, float]:
    """Two finite floats."""
    values = sequence(value, name)
    if len(values) != 2:
        raise Refusal(f"{name} has {len(values)} numbers, not 2")
    return number(values[0], name), number(values[1], name)


def number_range(
    value: Any, name: str, low: float = -MAX_NUMBER, high: float = MAX_NUMBER
) -> tuple[float, float]:
    """(min, max) with low <= min <= max <= high."""
    first, last = pair(value, name)
    if not low <= first <= last <= high:
        raise Refusal(f"{name} is ({first}, {last}), which is no range within {low:g} to {high:g}")
    return first, last


def probability(parameters: Parameters) -> float:
    # Above 1 or below 0 is always or never, as torchvision has it.
    return min(max(number(get(parameters, "p"), "p"), 0.0), 1.0)


def channel_values(value: Any, name: str, channels: int) -> tuple[float, ...]:
    """One number, or one per channel, of a list, tuple, array or tensor."""
    if type(value) in (np.ndarray, torch.Tensor):
        value = value.tolist()
    values = tuple(value) if type(value) in (list, tuple) else (value,)
    if len(values) not in (1, channels):
        raise Refusal(f"{name} has {len(values)} values, the image has {channels} channels")
    return tuple(number(item, name) for item in values)


def interpolation(parameters: Parameters) -> InterpolationMode:
    """Of an enum, Pillow's number or a name."""
    value = get(parameters, "interpolation")
    if type(value) is InterpolationMode:
        return value
    if type(value) is int and value in _MODES_BY_NUMBER:
        return _MODES_BY_NUMBER[value]
    if type(value) is str and value in _MODES_BY_NAME:
        return _MODES_BY_NAME[value]
    raise Refusal(f"interpolation is {show(value)}, which torchvision does not know")


def padding(value: Any) -> tuple[int, int, int, int]:
    """left, top, right, bottom of one number, two (left/right, top/bottom) or four."""
    values = tuple(value) if type(value) in (list, tuple) else (value,)
    if len(values) not in (1, 2, 4):
        raise Refusal(f"padding has {len(values)} numbers, not 1, 2 or 4")
    sides = [integer(item, "padding") for item in values]
    for item in sides:
        if abs(item) > MAX_SIDE:
            raise Refusal(f"padding is {item}, beyond {MAX_SIDE}")
    left, top, right, bottom = sides if len(sides) == 4 else (sides * 4)[:4]
    return left, top, right, bottom


def pad_mode(parameters: Parameters) -> int:
    mode = get(parameters, "padding_mode")
    if type(mode) is not str or mode not in PAD_MODES:
        raise Refusal(f"padding_mode is {show(mode)}, which torchvision does not know")
    return PAD_MODES.index(mode)


def fill_bytes(value: Any, channels: int) -> tuple[int, ...]:
    """One byte, or one per channel; fractions are cut off, as torchvision does for PIL images."""
    values = (0.0,) if value is None else channel_values(value, "fill", channels)
    for item in values:
        if not 0 <= item < 256:
            raise Refusal(f"fill is {item}, not between 0 and 255")
    return tuple(int(item) for item in values)


def show(value: Any) -> str:
    """A value for a message: plain ones as they are, the type of any other."""
    is_plain = is_number(value) or value is None or type(value) in (str, torch.dtype, InterpolationMode)
    return repr(value) if is_plain else type(value).__name__
