# SPDX-License-Identifier: Apache-2.0
"""Reads operations on colours, and blur (see _geometry for what a reader is)."""

from __future__ import annotations

from torch_dts.transforms import _steps as steps
from torch_dts.transforms import _values as values
from torch_dts.transforms._state import State
from torch_dts.transforms._values import Parameters, Refusal, get

# torch rounds down what Pillow rounds to the nearest level.
_TENSOR_GRAY = "within 1 level of torchvision's gray of uint8 tensors"
_MAX_KERNEL = 1023  # the core's limit
# Sums of floats in another order, where a sum is within their rounding of a half.
_BLUR = "within 1 level of torchvision's, in rare pixels"


def read_color_jitter(parameters: Parameters, state: State, version: int) -> str:
    state.need_pil()
    op = state.take_op()
    ranges: list[tuple[float, float] | None] = []
    for name in ("brightness", "contrast", "saturation", "hue"):
        value = get(parameters, name)
        low, high = (-0.5, 0.5) if name == "hue" else (0.0, values.MAX_NUMBER)
        ranges.append(None if value is None else values.number_range(value, name, low, high))
    state.steps.append(steps.ColorJitter(op, *ranges))
    return ""


def read_grayscale(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    channels = values.integer(get(parameters, "num_output_channels"), "num_output_channels")
    if channels not in (1, 3):
        raise Refusal(f"num_output_channels is {channels}, not 1 or 3")
    note = _TENSOR_GRAY if state.is_tensor and state.channels == 3 else ""
    if version == 1 and state.is_tensor and state.channels == 1:
        channels = 1  # v1 leaves gray tensors as they are
    state.steps.append(steps.Grayscale(channels))
    state.channels = channels
    return note


def read_random_grayscale(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    state.steps.append(steps.RandomGrayscale(state.take_op(), values.probability(parameters)))
    return _TENSOR_GRAY if state.is_tensor and state.channels == 3 else ""


def read_rgb(parameters: Parameters, state: State, version: int) -> str:
    if state.channels == 1:
        state.need_bytes()
        state.steps.append(steps.Grayscale(3))
        state.channels = 3
    return ""


def read_autocontrast(parameters: Parameters, state: State, version: int) -> str:
    state.need_pil()
    state.steps.append(steps.RandomAutocontrast(state.take_op(), values.probability(parameters)))
    return ""


def read_gaussian_blur(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    op = state.take_op()
    kernel = values.sequence(get(parameters, "kernel_size"), "kernel_size")
    if len(kernel) != 2:
        raise Refusal(f"kernel_size has {len(kernel)} numbers, not 2")
    width, height = (values.side(item, "kernel_size") for item in kernel)
    if width % 2 == 0 or height % 2 == 0 or max(width, height) > _MAX_KERNEL:
        raise Refusal(f"kernel_size is ({width}, {height}), not odd and at most {_MAX_KERNEL}")
    sigma = values.number_range(get(parameters, "sigma"), "sigma")
    if sigma[0] <= 0:
        raise Refusal(f"sigma is {sigma}, not above 0")
    state.steps.append(steps.GaussianBlur(op, (width, height), sigma))
    return _BLUR
