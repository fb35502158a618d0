# SPDX-License-Identifier: Apache-2.0
"""Pillow and Python in place of native code: for images only it can open, and for whole transforms."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

from PIL import Image
from torch import Tensor
from torch.utils.data import default_collate

from torch_dts._seeding import kept_generators, sample_seeds
from torch_dts.transforms._views import apply_views


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
    parts: Sequence[Any], image: Image.Image, position: int, index: int, seed: int, epoch: int
) -> list[Tensor]:
    """What the transforms of an image's views make of it, or their error, with the sample's position."""
    seeds = [sample_seeds([index], [], seed, epoch, view)[0] for view in range(len(parts))]
    with kept_generators(), naming(position):
        results = apply_views(parts, image, seeds)
    for result in results:
        if not isinstance(result, Tensor):
            raise TypeError(
                f"the transform gives {type(result).__name__} for sample {position}, expected a tensor"
            )
    return [result.as_subclass(Tensor) for result in results]


def run_in_python(
    parts: Sequence[Any], samples: list[memoryview], seed: int, epoch: int, indices: Tensor
) -> list[Tensor]:
    """The transform of each view as it is, each image from its own seed (op 32767 of docs/format.md)."""
    numbers = indices.numpy()
    seeds = [sample_seeds(numbers, [], seed, epoch, view) for view in range(len(parts))]
    results = []
    with kept_generators():
        for position, sample in enumerate(samples):
            image = open_rgb(position, sample)
            with naming(position):
                results.append(apply_views(parts, image, [of_view[position] for of_view in seeds]))
    for made in results[0]:
        if not isinstance(made, Tensor):
            raise TypeError(
                f"the transform gives {type(made).__name__}, expected a tensor; "
                "ToTensor() or its like is missing"
            )
    return [default_collate(list(view)) for view in zip(*results, strict=True)]
