# SPDX-License-Identifier: Apache-2.0
"""Pillow and Python in place of native code: for images only it can open, and for whole transforms."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from PIL import Image
from torch import Tensor
from torch.utils.data import default_collate

from torch_dts._seeding import kept_generators, sample_seeds, seed_generators


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
    with kept_generators(), naming(position):
        seed_generators(sample_seeds([index], [], seed, epoch)[0])
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
    seeds = sample_seeds(indices.numpy(), [], seed, epoch)
    results = []
    with kept_generators():
        for position, sample in enumerate(samples):
            image = open_rgb(position, sample)
            with naming(position):
                seed_generators(seeds[position])
                results.append(image if transform is None else transform(image))
    if not isinstance(results[0], Tensor):
        raise TypeError(
            f"the transform gives {type(results[0]).__name__}, expected a tensor; "
            "ToTensor() or its like is missing"
        )
    batch: Tensor = default_collate(results)
    return batch
