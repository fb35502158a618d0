# SPDX-License-Identifier: Apache-2.0
"""FFCV over the same images, where it is installed: its JPEG mode and its raw mode."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
from torchvision.datasets import ImageFolder


def ffcv_loaders(
    folder: str, place: pathlib.Path, raw_size: int, *, batch_size: int, num_workers: int, size: int
) -> dict[str, tuple[Any, int]]:
    """Writes FFCV's files. Returns a loader and the bytes of its file by name; {} without FFCV.

    The work is that of loader.py: random crop to `size`, flip, normalised float32 in NCHW.
    """
    try:
        from ffcv.fields import IntField, RGBImageField
        from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage
        from ffcv.writer import DatasetWriter
    except ImportError:
        return {}
    found: dict[str, tuple[Any, int]] = {}
    modes: dict[str, dict[str, Any]] = {
        "FFCV, JPEG": {"write_mode": "jpg"},
        f"FFCV, raw, at most {raw_size} pixels": {"write_mode": "raw", "max_resolution": raw_size},
    }
    mean, std = 255 * np.array([0.485, 0.456, 0.406]), 255 * np.array([0.229, 0.224, 0.225])
    for number, (name, options) in enumerate(modes.items()):
        path = os.fspath(place / f"{number}.beton")
        fields = {"image": RGBImageField(**options), "label": IntField()}
        DatasetWriter(path, fields, num_workers=num_workers).from_indexed_dataset(ImageFolder(folder))
        image = [
            RandomResizedCropRGBImageDecoder((size, size)),
            RandomHorizontalFlip(),
            ToTensor(),
            ToTorchImage(),
            NormalizeImage(mean, std, np.float32),
        ]
        loader = Loader(
            path,
            batch_size=batch_size,
            num_workers=num_workers,
            order=OrderOption.QUASI_RANDOM,
            pipelines={"image": image, "label": [IntDecoder(), ToTensor(), Squeeze()]},
        )
        found[name] = loader, os.path.getsize(path)
    return found
