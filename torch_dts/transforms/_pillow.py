# SPDX-License-Identifier: Apache-2.0
"""Pillow and Python in place of native code: for images only it can open, and for whole transforms."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import default_collate

from torch_dts import _native
from torch_dts.transforms._seeds import seeded_generators

_NEVER_BEFORE = torch.empty(0, dtype=torch.int64)  # no index came earlier in the epoch


def open_rgb(position: int, sample: memoryview) -> Image.Image:
    """The picture in mode RGB; Pillow's error, with the sample's position, where it refuses."""
    with naming(position), Image.open(io.BytesIO(sample)) as image:
        rgb: Image.Image = image.convert("RGB")
    return rgb


@contextlib.contextmanager
def naming(position: int) -> Iterator[None]:
    """Adds the sample's position to the text of an error from inside."""
    try:
        yield
    except Exception as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]} (sample {position} of the batch)", *error.args[1:])
        raise


def transform_one(
    transform: Any, image: Image.Image, position: int, index: int, seed: int, epoch: int
) -> Tensor:
    """What the transform itself makes of an image, or its error, with the sample's position."""
    with seeded_generators() as seed_all, naming(position):
        seed_all(int(_native.choose_seed(torch.tensor([index]), _NEVER_BEFORE, seed, epoch)[0]))
        result = transform(image)
    if not isinstance(result, Tensor):
        raise TypeError(
            f"the transform gives {type(result).__name__} for sample {position}, expected a tensor"
        )
    return result.as_subclass(Tensor)


def run_in_python(
    transform: Any, samples: list[memoryview], seed: int, epoch: int, indices: Tensor
) -> Tensor:
    """The transform as it is, image by image, each from its own seed (op 32767 of docs/format.md)."""
    seeds = _native.choose_seed(indices, _NEVER_BEFORE, seed, epoch).tolist()
    results = []
    with seeded_generators() as seed_all:
        for position, sample in enumerate(samples):
            image = open_rgb(position, sample)
            with naming(position):
                seed_all(seeds[position])
                results.append(image if transform is None else transform(image))
    if not isinstance(results[0], Tensor):
        raise TypeError(
            f"the transform gives {type(results[0]).__name__}, expected a tensor; "
            "ToTensor() or its like is missing"
        )
    batch: Tensor = default_collate(results)
    return batch
