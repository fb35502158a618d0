# SPDX-License-Identifier: Apache-2.0
"""Reads the transform that comes with torchvision's weights: ``ResNet50_Weights.DEFAULT.transforms()``."""

from __future__ import annotations

import torch
from torchvision.transforms._presets import ImageClassification

from torch_dts.transforms import _geometry, _tensors
from torch_dts.transforms._state import State
from torch_dts.transforms._values import Parameters, get

__all__ = ["ImageClassification", "read_image_classification"]


def read_image_classification(parameters: Parameters, state: State, version: int) -> str:
    """Resize, CenterCrop, conversion to float32, Normalize (see _geometry: readers)."""
    resize = {**parameters, "size": get(parameters, "resize_size"), "max_size": None}
    note = _geometry.read_resize(resize, state, version)
    _geometry.read_center_crop({"size": get(parameters, "crop_size")}, state, version)
    if not state.is_tensor:
        _tensors.read_pil_to_tensor({}, state, version)
    _tensors.read_convert_image_dtype({"dtype": torch.float}, state, version)
    _tensors.read_normalize(parameters, state, version)
    return note
