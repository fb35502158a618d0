# SPDX-License-Identifier: Apache-2.0
"""Reads crops, resizes, borders, mirror images and rotations.

Each reader takes an operation's parameters, the state before it, and 1 or 2 for torchvision's
transforms or transforms.v2. It changes the state and returns how far the result may be from
torchvision's: "" for byte-equal.
"""

from __future__ import annotations

import math
from typing import Any

import PIL.Image
import torch
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode

from torch_dts.transforms import _steps as steps
from torch_dts.transforms import _values as values
from torch_dts.transforms._state import Kind, State
from torch_dts.transforms._values import Parameters, Refusal, get

# Both round twice, at different places, so two levels are the bound; measured over 10^9
# values of noise, more than one was seen in fewer than one of ten million.
_TENSOR_RESIZE = {
    1: "within 1 level of torchvision's resize of uint8 tensors",
    2: "within 1 level of torchvision's resize of uint8 tensors (2 in fewer than one of a million values)",
}


def read_random_resized_crop(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    op = state.take_op()
    height, width = values.height_width(parameters)
    scale = values.number_range(get(parameters, "scale"), "scale", low=0.0)
    ratio = read_ratio(parameters, version)
    filter_number, note = _resampling(parameters, state, version, width)
    state.steps.append(steps.RandomResizedCrop(op, height, width, scale, ratio, filter_number))
    state.size = height, width
    return note


def read_resize(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    size, max_size = get(parameters, "size"), get(parameters, "max_size")
    if size is None:
        raise Refusal("size=None is not run natively")
    sides = values.sequence(size, "size") if not values.is_number(size) else (size,)
    if len(sides) not in (1, 2):
        raise Refusal(f"size has {len(sides)} numbers, not 1 or 2")
    wanted = tuple(values.side(item, "size") for item in sides)
    longest = 0 if max_size is None else values.side(max_size, "max_size")
    if longest and (len(wanted) == 2 or longest <= wanted[0]):
        raise Refusal(f"max_size={longest} does not go with size={wanted}, torchvision refuses it")
    if longest and version == 1 and state.is_tensor:
        raise Refusal("max_size on tensors is not run natively")
    if len(wanted) == 1 and state.size is not None:
        state.size = resized_size(state.size, wanted[0], longest)
        if min(state.size) < 1:
            raise Refusal(f"it gives images of {state.size[0]} x {state.size[1]} pixels")
    else:
        state.size = (wanted[0], wanted[1]) if len(wanted) == 2 else None
    filter_number, note = _resampling(parameters, state, version, wanted[-1])
    height, width = wanted if len(wanted) == 2 else (wanted[0], 0)
    state.steps.append(steps.Resize(height, width, filter_number, longest))
    return note


def resized_size(size: tuple[int, int], shorter: int, longest: int) -> tuple[int, int]:
    """(height, width) of an image resized to a shorter side, the longer at most `longest` (0: any)."""
    height, width = size
    short, long = min(size), max(size)
    new_short, new_long = shorter, int(shorter * long / short)
    if longest and new_long > longest:
        new_short, new_long = int(longest * new_short / new_long), longest
    return (new_long, new_short) if width <= height else (new_short, new_long)


def read_center_crop(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    size = get(parameters, "size")
    sides = (size,) if values.is_number(size) else values.sequence(size, "size")
    if len(sides) not in (1, 2):
        raise Refusal(f"size has {len(sides)} numbers, not 1 or 2")
    height, width = values.side(sides[0], "size"), values.side(sides[-1], "size")
    state.steps.append(steps.CenterCrop(height, width))
    state.size = height, width
    return ""


def read_random_crop(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    op = state.take_op()
    height, width = values.height_width(parameters)
    padding = _crop_padding(get(parameters, "padding"), version)
    if_needed = bool(values.number(get(parameters, "pad_if_needed"), "pad_if_needed"))
    fill, mode = _border(parameters, state, version, padding) if any(padding) or if_needed else ((), 0)
    if version == 2 and if_needed and any(padding) and (mode >= 2 or min(padding) < 0):
        # v2 adds up the two borders, v1 and native code put one around the other.
        raise Refusal("padding with pad_if_needed is not run natively with mirrors or negative numbers")
    _check_mirrors(state, state.size, padding, mode)
    padded = _padded_size(state.size, padding)
    if padded is not None and not if_needed and (padded[0] < height or padded[1] < width):
        raise Refusal(f"the crop is larger than the image of {padded[0]} x {padded[1]} pixels")
    if if_needed:
        more = (1, 1) if padded is None else (max(height - padded[0], 0), max(width - padded[1], 0))
        _check_mirrors(state, padded, (more[1], more[0]) * 2, mode)
    state.steps.append(steps.RandomCrop(op, height, width, padding, fill, mode, if_needed))
    state.size = height, width
    return ""


def read_pad(parameters: Parameters, state: State, version: int) -> str:
    state.need_bytes()
    padding = values.padding(get(parameters, "padding"))
    fill, mode = _border(parameters, state, version, padding)
    _check_mirrors(state, state.size, padding, mode)
    state.size = _padded_size(state.size, padding)
    if state.size is not None and min(state.size) < 1:
        raise Refusal(f"it gives images of {state.size[0]} x {state.size[1]} pixels")
    state.steps.append(steps.Pad(padding, fill, mode))
    return ""


def read_horizontal_flip(parameters: Parameters, state: State, version: int) -> str:
    state.steps.append(steps.HorizontalFlip(_flip_op(state), values.probability(parameters)))
    return ""


def read_vertical_flip(parameters: Parameters, state: State, version: int) -> str:
    state.steps.append(steps.VerticalFlip(_flip_op(state), values.probability(parameters)))
    return ""


def read_random_rotation(parameters: Parameters, state: State, version: int) -> str:
    state.need_pil()
    op = state.take_op()
    mode = values.interpolation(parameters)
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT, InterpolationMode.BILINEAR):
        raise Refusal(f"interpolation {mode.value} of a rotation is not run natively")
    if values.number(get(parameters, "expand"), "expand"):
        raise Refusal("expand=True is not run natively")
    center = get(parameters, "center")
    if center is not None:
        center = values.pair(center, "center")
    degrees = values.number_range(get(parameters, "degrees"), "degrees")
    fill = values.fill_bytes(_fill(parameters, state, version), state.channels)
    filter_number = 2 if mode is InterpolationMode.BILINEAR else 0
    state.steps.append(steps.RandomRotation(op, degrees, filter_number, fill, center))
    return ""


def read_ratio(parameters: Parameters, version: int) -> tuple[float, float]:
    """The range of aspect ratios; v2 draws from the logarithms it took when it was made."""
    ratio = values.number_range(get(parameters, "ratio"), "ratio")
    if ratio[0] <= 0:
        raise Refusal(f"ratio is {ratio}, not above 0")
    if version == 2:
        logs = get(parameters, "_log_ratio")
        expected = torch.tensor([math.log(side) for side in ratio])
        if type(logs) is not torch.Tensor or not torch.allclose(logs.float().cpu(), expected, atol=1e-5):
            raise Refusal("ratio was changed; transforms.v2 keeps drawing from the first one")
    return ratio


def _flip_op(state: State) -> int:
    # A mirror image is the same before and behind a conversion to floats.
    if state.erasing is not None:
        raise Refusal("behind RandomErasing it is not run natively; put RandomErasing last")
    return state.take_op()


def _resampling(parameters: Parameters, state: State, version: int, width: int) -> tuple[int, str]:
    """Pillow's number of the filter, and how far torchvision's tensor op may be."""
    mode = values.interpolation(parameters)
    if not state.is_tensor:  # Pillow always antialiases, whatever the parameter says
        return values.FILTERS.get(mode, values.FILTERS[InterpolationMode.NEAREST]), ""
    if mode is not InterpolationMode.BILINEAR:
        raise Refusal(
            f"{mode.value} on tensors differs from Pillow's by more than 1 level; "
            "put it before ToTensor() or ToImage()"
        )
    antialias = get(parameters, "antialias")
    if antialias is not True:
        raise Refusal(
            f"antialias={values.show(antialias)} on tensors is not run natively; use antialias=True"
        )
    if version == 1 and width == 1:
        raise Refusal("on tensors torch's own resize to a width of 1 pixel is another one")
    return values.FILTERS[mode], _TENSOR_RESIZE[version]


def _crop_padding(padding: Any, version: int) -> tuple[int, int, int, int]:
    if padding is None:
        return 0, 0, 0, 0
    if version == 2:  # v2 keeps left, right, top, bottom
        sides = values.sequence(padding, "padding")
        if len(sides) != 4:
            raise Refusal(f"padding has {len(sides)} numbers, not 4")
        padding = [sides[0], sides[2], sides[1], sides[3]]
    return values.padding(padding)


def _border(
    parameters: Parameters, state: State, version: int, padding: tuple[int, ...]
) -> tuple[tuple[int, ...], int]:
    """Fill bytes and mode of a border."""
    mode = values.pad_mode(parameters)
    fill = _fill(parameters, state, version)
    if state.is_tensor:
        if min(padding) < 0:
            raise Refusal("negative padding of tensors is not run natively")
        if type(fill) in (list, tuple) and (version == 1 or mode != 0):
            raise Refusal("torchvision does not take a list as the fill of a tensor here")
        numbers = values.channel_values(0 if fill is None else fill, "fill", state.channels)
        if any(byte != int(byte) for byte in numbers):
            raise Refusal(f"fill={fill} of a uint8 tensor is not a whole number")
    return (values.fill_bytes(fill, state.channels) if mode == 0 else ()), mode


def _padded_size(size: tuple[int, int] | None, padding: tuple[int, ...]) -> tuple[int, int] | None:
    """(height, width) with a border; None: not known."""
    return None if size is None else (size[0] + padding[1] + padding[3], size[1] + padding[0] + padding[2])


def _check_mirrors(state: State, size: tuple[int, int] | None, padding: tuple[int, ...], mode: int) -> None:
    """Refuses mirrored borders wider than the image, which torchvision gives PIL images but not tensors."""
    if not state.is_tensor or mode < 2 or not any(padding):
        return
    if size is None:
        raise Refusal(
            "mirrored borders of tensors need images of one known size; put it before ToTensor() or ToImage()"
        )
    height, width = (side - 1 if values.PAD_MODES[mode] == "reflect" else side for side in size)
    if max(padding[0], padding[2]) > width or max(padding[1], padding[3]) > height:
        raise Refusal(f"torchvision refuses this border of a tensor of {size[0]} x {size[1]} pixels")


def _fill(parameters: Parameters, state: State, version: int) -> Any:
    """The fill; v2 keeps one for each type of image."""
    if version == 1:
        return get(parameters, "fill")
    fills = get(parameters, "_fill")
    if type(fills) is not dict:
        raise Refusal("fill was changed")
    kinds: dict[Kind, type] = {
        Kind.PIL: PIL.Image.Image,
        Kind.IMAGE: tv_tensors.Image,
        Kind.TENSOR: torch.Tensor,
    }
    if state.kind not in kinds and set(fills) != {"others"}:
        raise Refusal("which fill of the dict is used depends on chance")
    return fills.get(kinds.get(state.kind, "others"), fills.get("others"))
