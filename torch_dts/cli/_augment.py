# SPDX-License-Identifier: Apache-2.0
"""What a transform makes of samples, as training draws it."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Subset
from torchvision.transforms import v2

from torch_dts._paths import display
from torch_dts.datasets import DTSDataset
from torch_dts.loader import DataLoader
from torch_dts.transforms._read import read


def _imagenet(size: int = 224) -> Any:
    return v2.Compose([v2.RandomResizedCrop(size), v2.RandomHorizontalFlip(), v2.PILToTensor()])


def _imagenet_val(size: int = 224) -> Any:
    return v2.Compose([v2.Resize(size * 8 // 7), v2.CenterCrop(size), v2.PILToTensor()])


def _cifar(size: int = 32) -> Any:
    return v2.Compose([v2.RandomCrop(size, padding=4), v2.RandomHorizontalFlip(), v2.PILToTensor()])


PRESETS: dict[str, Callable[..., Any]] = {
    "imagenet": _imagenet,
    "imagenet-val": _imagenet_val,
    "cifar": _cifar,
}


def load_transform(name: str, size: int | None = None) -> Any:
    """A transform by name: of a preset, or ``module:object``, the module dotted or a ``.py`` file.

    The module is imported, which runs its code. A function or class that needs no arguments
    is called for the transform.

    Args:
        name: See above.
        size: Side of a preset's result in pixels; None: its own.

    Raises:
        ValueError: No such name, or it is nothing that can be called; `size` for one that is no preset.
        Exception: What importing the module raises.
    """
    if name in PRESETS:
        return PRESETS[name]() if size is None else PRESETS[name](size)
    if size is not None:
        raise ValueError(f"size={size} is for {', '.join(PRESETS)}: {name!r} says its size itself")
    place, colon, attributes = name.rpartition(":")
    if not colon or not place or not attributes:
        raise ValueError(
            f"{name!r} is no transform, expected one of {', '.join(PRESETS)}, or module:object or "
            "file.py:object for one of your own"
        )
    found: Any = _import(place)
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise ValueError(f"{display(place)} has no {attributes!r} ({attribute!r} is missing)")
        found = getattr(found, attribute)
    if not callable(found):
        raise ValueError(f"{name!r} is {type(found).__name__}, expected a transform, which can be called")
    return found() if _is_factory(found) else found


def _import(place: str) -> Any:
    if not place.endswith(".py"):
        if os.getcwd() not in sys.path:  # as `python -m` has it, so that the user's own modules are found
            sys.path.insert(0, os.getcwd())
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ValueError(f"module {place!r} can't be imported: {error}") from error
    path = os.path.expanduser(place)
    if not os.path.isfile(path):
        raise ValueError(f"{display(path)} is no file")
    name = "torch_dts_augment_file"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{display(path)} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_factory(found: Any) -> bool:
    if not (inspect.isfunction(found) or inspect.isclass(found) or isinstance(found, functools.partial)):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in free for p in parameters)


def variants(
    dataset: DTSDataset, indices: list[int], seed: int, epoch: int
) -> Generator[tuple[int, Any], None, None]:
    """What a `DataLoader` with this seed delivers of some samples in an epoch.

    Args:
        dataset: With the transform.
        indices: Source indices, each once.

    Yields:
        An index and its sample, or the exception that it raised, in the order of `indices`.
    """
    while indices:
        # An error ends the loader's epoch: the next one begins behind it.
        done = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # how it is run is of no interest here
                items = _begin(Subset(dataset, indices), seed, epoch)
            for sample, _ in items:
                yield indices[done], sample
                done += 1
            return
        except Exception as error:
            yield indices[done], error
        indices = indices[done + 1 :]


def _begin(dataset: Subset[Any], seed: int, epoch: int) -> Iterator[Any]:
    # "partial": a few samples are read, never the whole file.
    loader = DataLoader(dataset, batch_size=None, num_workers=0, seed=seed, mode="partial")
    loader.set_epoch(epoch)
    return iter(loader)


class Shown:
    """Turns what a transform gives into pictures; normalised values are taken back first."""

    def __init__(self, transform: Any) -> None:
        plan = read(transform).plan
        self._mean, self._std = _normalization(transform) if plan is None else (plan.mean, plan.std)

    def __call__(self, sample: Any) -> Image.Image:
        """The picture.

        Raises:
            ValueError: It is nothing that has one.
        """
        if isinstance(sample, Image.Image):
            return sample
        if not isinstance(sample, (Tensor, np.ndarray)):
            raise ValueError(f"the transform gives {type(sample).__name__}, which can't be shown")
        values = torch.as_tensor(sample).as_subclass(Tensor).detach().cpu()
        if values.ndim == 2:
            values = values[None]
        is_hwc = isinstance(sample, np.ndarray) and values.ndim == 3 and values.shape[2] in (1, 3)
        if is_hwc:
            values = values.permute(2, 0, 1)
        if values.ndim != 3 or values.shape[0] not in (1, 3) or not values.numel():
            raise ValueError(f"the transform gives shape {tuple(values.shape)}, expected [1 or 3, H, W]")
        pixels = self._bytes(values).permute(1, 2, 0).contiguous().numpy()
        return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)

    def _bytes(self, values: Tensor) -> Tensor:
        if not values.is_floating_point():
            return values.clamp(0, 255).to(torch.uint8)
        values = values.to(torch.float32)
        if self._mean and len(self._mean) in (1, values.shape[0]):
            values = values * torch.tensor(self._std).view(-1, 1, 1)
            values = values + torch.tensor(self._mean).view(-1, 1, 1)
        return torch.nan_to_num(values * 255).clamp(0, 255).round().to(torch.uint8)


def _normalization(transform: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and std of the Normalize in a Compose that Python runs; empty without one."""
    for child in reversed(list(getattr(transform, "transforms", ()))):
        if type(child).__name__ == "Normalize":
            mean, std = torch.as_tensor(child.mean), torch.as_tensor(child.std)
            return tuple(mean.flatten().tolist()), tuple(std.flatten().tolist())
    return (), ()
