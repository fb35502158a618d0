# SPDX-License-Identifier: Apache-2.0
"""`read`: a torchvision transform as a Plan, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

from torch_dts.transforms import _color, _geometry, _presets, _tensors
from torch_dts.transforms._plan import Plan
from torch_dts.transforms._state import Kind, State
from torch_dts.transforms._untouched import describe, parameters_of
from torch_dts.transforms._values import Parameters, Refusal, get

Reader = Callable[[Parameters, State, int], str]


@dataclass(frozen=True)
class ReadStep:
    """One operation of a transform.

    Attributes:
        text: Its name and parameters.
        reason: Why native code does not run it; "" where it does.
        note: How far its result may be from torchvision's; "" for byte-equal.
    """

    text: str
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Reading:
    """A transform as it was read.

    Attributes:
        steps: Its operations in order, without containers.
        plan: What native code runs; None where Python runs the transform as it is.
        reason: Why there is no plan; "" where there is one.
    """

    steps: tuple[ReadStep, ...]
    plan: Plan | None
    reason: str


def read(transform: Any, *, source_channels: int = 3, source_size: tuple[int, int] | None = None) -> Reading:
    """Reads `transform` as it is now; never raises and never runs code of the user's.

    Args:
        transform: A torchvision v1 or v2 transform, a Compose or nn.Sequential of them, None.
        source_channels: Of the images: 3 for RGB, 1 for gray (mode L).
        source_size: (height, width) where all images have the same.
    """
    state = State(source_channels, source_size, channels=source_channels)
    steps: list[ReadStep] = []
    try:
        if source_channels not in (1, 3):
            raise Refusal(f"images of {source_channels} channels are not run natively")
        if transform is None:
            raise Refusal("without a transform the samples are PIL images; ToTensor() or its like is missing")
        for operation in _flatten(transform):
            steps.append(_read_operation(operation, state))
        for step in steps:
            if step.reason:
                return Reading(tuple(steps), None, f"{step.text}: {step.reason}")
        return Reading(tuple(steps), state.finish(), "")
    except Refusal as refusal:
        return Reading(tuple(steps), None, str(refusal))
    except Exception as error:  # an object in a state that torchvision's own never has
        return Reading(tuple(steps), None, f"it can't be read ({type(error).__name__}: {error})")


def _flatten(transform: Any, depth: int = 0) -> Iterator[Any]:
    # Subclasses may do anything: only the very types are opened.
    if depth > 32:
        raise Refusal("its containers are nested more than 32 deep")
    if type(transform) in (v1.Compose, v2.Compose):
        children = get(parameters_of(transform), "transforms")
        if type(children) is nn.ModuleList:
            children = list(parameters_of(children)["_modules"].values())
        if type(children) not in (list, tuple):
            raise Refusal(f"its transforms are {type(children).__name__}, not a list")
    elif type(transform) is nn.Sequential:
        children = list(parameters_of(transform)["_modules"].values())
    else:
        yield transform
        return
    for child in children:
        yield from _flatten(child, depth + 1)


def _read_operation(operation: Any, state: State) -> ReadStep:
    text = describe(operation)
    found = _READERS.get(type(operation))
    if state.kind is Kind.UNKNOWN:
        return ReadStep(text, "what reaches it is not known")
    if found is None:
        state.kind = Kind.UNKNOWN
        is_known = type(operation).__module__.startswith("torchvision.")
        return ReadStep(
            text,
            "it is not run natively" if is_known else "it is not an operation of torchvision's own types",
        )
    reader, version = found
    try:
        note = reader(parameters_of(operation), state, version)
    except Refusal as refusal:
        return ReadStep(text, str(refusal))
    if version == 1 and state.kind is Kind.IMAGE:
        state.kind = Kind.EITHER  # v1's give plain tensors where they do something
    return ReadStep(text, note=note)


def _nothing(parameters: Parameters, state: State, version: int) -> str:
    return ""


_BY_NAME: dict[str, Reader] = {
    "RandomResizedCrop": _geometry.read_random_resized_crop,
    "Resize": _geometry.read_resize,
    "CenterCrop": _geometry.read_center_crop,
    "RandomCrop": _geometry.read_random_crop,
    "Pad": _geometry.read_pad,
    "RandomHorizontalFlip": _geometry.read_horizontal_flip,
    "RandomVerticalFlip": _geometry.read_vertical_flip,
    "RandomRotation": _geometry.read_random_rotation,
    "ColorJitter": _color.read_color_jitter,
    "Grayscale": _color.read_grayscale,
    "RandomGrayscale": _color.read_random_grayscale,
    "RandomAutocontrast": _color.read_autocontrast,
    "GaussianBlur": _color.read_gaussian_blur,
    "RGB": _color.read_rgb,
    "ToTensor": _tensors.read_to_tensor,
    "PILToTensor": _tensors.read_pil_to_tensor,
    "ToImage": _tensors.read_to_image,
    "ToPureTensor": _tensors.read_to_pure_tensor,
    "ConvertImageDtype": _tensors.read_convert_image_dtype,
    "ToDtype": _tensors.read_to_dtype,
    "Normalize": _tensors.read_normalize,
    "RandomErasing": _tensors.read_random_erasing,
    "Identity": _nothing,
}

# v1 lacks some, and v2 is to lose some.
_READERS: dict[type, tuple[Reader, int]] = {
    **{getattr(v1, name): (reader, 1) for name, reader in _BY_NAME.items() if hasattr(v1, name)},
    **{getattr(v2, name): (reader, 2) for name, reader in _BY_NAME.items() if hasattr(v2, name)},
    nn.Identity: (_nothing, 1),
    _presets.ImageClassification: (_presets.read_image_classification, 1),
}
