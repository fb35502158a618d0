# SPDX-License-Identifier: Apache-2.0
"""Reads what makes tensors of images, and what is done to their values (see _geometry: readers)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torchvision import tv_tensors

from torch_dts.transforms import _steps as steps
from torch_dts.transforms import _values as values
from torch_dts.transforms._geometry import read_ratio
from torch_dts.transforms._plan import DIVIDE, DTYPES, MULTIPLY, NO_SCALE
from torch_dts.transforms._state import Kind, State
from torch_dts.transforms._values import Parameters, Refusal, get


def read_to_tensor(parameters: Parameters, state: State, version: int) -> str:
    if state.is_tensor:
        raise Refusal("it stands behind another conversion to a tensor")
    if torch.get_default_dtype() != torch.float32:
        raise Refusal(f"torch's default dtype is {torch.get_default_dtype()}, not torch.float32")
    state.kind = Kind.TENSOR
    _to_float(state, torch.float32, DIVIDE)
    return ""


def read_pil_to_tensor(parameters: Parameters, state: State, version: int) -> str:
    if state.is_tensor:
        if version == 1:
            raise Refusal("it stands behind another conversion to a tensor")
        return ""  # v2's leaves tensors as they are
    state.kind = Kind.TENSOR
    return ""


def read_to_image(parameters: Parameters, state: State, version: int) -> str:
    state.kind = Kind.IMAGE
    return ""


def read_to_pure_tensor(parameters: Parameters, state: State, version: int) -> str:
    if state.is_tensor:
        state.kind = Kind.TENSOR
    return ""


def read_convert_image_dtype(parameters: Parameters, state: State, version: int) -> str:
    if not state.is_tensor:
        raise Refusal("it stands on PIL images; put ToImage() or PILToTensor() before it")
    # v1 divides, v2 multiplies by 1 / 255.
    _convert(state, get(parameters, "dtype"), DIVIDE if version == 1 else MULTIPLY)
    return ""


def read_to_dtype(parameters: Parameters, state: State, version: int) -> str:
    if not state.is_tensor:
        raise Refusal("it does nothing to PIL images; put ToImage() before it")
    dtype = get(parameters, "dtype")
    if type(dtype) is dict:
        dtype = _dtype_of(dtype, state)
    if dtype is not None:
        _convert(state, dtype, MULTIPLY if values.number(get(parameters, "scale"), "scale") else NO_SCALE)
    return ""


def read_normalize(parameters: Parameters, state: State, version: int) -> str:
    if not state.is_tensor or state.dtype == torch.uint8:
        raise Refusal("it needs floats; put ToTensor() or ToDtype(torch.float32, scale=True) before it")
    if state.dtype != torch.float32:
        raise Refusal(f"on {state.dtype} it is not run natively; normalise in float32 and convert behind it")
    if state.mean:
        raise Refusal("a second Normalize is not run natively")
    mean = values.channel_values(get(parameters, "mean"), "mean", state.channels)
    std = values.channel_values(get(parameters, "std"), "std", state.channels)
    divisor = torch.tensor(std)
    if not (divisor != 0).all() or not divisor.isfinite().all() or not torch.tensor(mean).isfinite().all():
        raise Refusal(f"std={std} or mean={mean} is 0 or infinite as float32")
    state.mean, state.std = mean, std
    _erased(state, lambda erased: (erased - torch.tensor(mean)) / divisor)
    return ""


def read_random_erasing(parameters: Parameters, state: State, version: int) -> str:
    if not state.is_tensor:
        raise Refusal("on PIL images it is not run natively; put it behind the conversion to a tensor")
    if state.erasing is not None:
        raise Refusal("a second RandomErasing is not run natively")
    op = state.take_op()
    p = values.probability(parameters)
    scale = values.number_range(get(parameters, "scale"), "scale", 0.0, 1.0)
    ratio = read_ratio(parameters, version)
    value = get(parameters, "value")
    is_random = value is None if version == 2 else type(value) is str and value == "random"
    filling = None if is_random else values.channel_values(value, "value", state.channels)
    if state.dtype == torch.uint8:
        if filling is None:
            raise Refusal("random values of uint8 tensors are not run natively")
        if not all(0 <= item < 256 for item in filling):
            raise Refusal(f"value is {value}, not between 0 and 255, the range of a uint8 tensor")
        filling = tuple(float(int(item)) for item in filling)
    state.erasing = steps.RandomErasing(op, p, scale, ratio, filling)
    return ""


def _convert(state: State, dtype: Any, scale: int) -> None:
    if type(dtype) is not torch.dtype or dtype not in DTYPES:
        name = str(dtype) if type(dtype) is torch.dtype else type(dtype).__name__
        raise Refusal(f"dtype {name} is not run natively")
    if dtype == state.dtype:
        return
    if state.dtype == torch.uint8:
        _to_float(state, dtype, scale)
    elif dtype == torch.uint8 or state.dtype != torch.float32:
        raise Refusal(f"{state.dtype} to {dtype} is not run natively")
    else:
        state.dtype = dtype


def _to_float(state: State, dtype: torch.dtype, scale: int) -> None:
    state.dtype, state.scale = dtype, scale
    if scale == DIVIDE:
        _erased(state, lambda erased: erased / 255)
    elif scale == MULTIPLY:
        _erased(state, lambda erased: erased * (1.0 / 255))


def _erased(state: State, change: Any) -> None:
    """What comes behind RandomErasing changes its values as it changes the others."""
    if state.erasing is None:
        return
    if state.erasing.values is None:
        raise Refusal(
            "behind RandomErasing with random values it is not run natively; put RandomErasing last"
        )
    changed: Tensor = change(torch.tensor(state.erasing.values, dtype=torch.float32))
    if not changed.isfinite().all():
        raise Refusal(f"it makes {changed.tolist()} of the value of RandomErasing")
    state.erasing = replace(state.erasing, values=tuple(changed.tolist()))


def _dtype_of(dtypes: dict[Any, Any], state: State) -> Any:
    """What v2's ToDtype takes from a dict of types."""
    kinds: dict[Kind, type] = {Kind.IMAGE: tv_tensors.Image, Kind.TENSOR: torch.Tensor}
    if state.kind not in kinds:
        raise Refusal("which dtype of the dict is used depends on chance")
    if kinds[state.kind] not in dtypes and "others" not in dtypes:
        raise Refusal(f"the dict has no dtype for {state.kind.value}")
    return dtypes.get(kinds[state.kind], dtypes.get("others"))
