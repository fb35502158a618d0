# SPDX-License-Identifier: Apache-2.0
"""FFCV over files of its own: its JPEG mode and its raw mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from torchvision.datasets import ImageFolder

from contestants.work import MEAN, STD, Epoch, Work

FILE = "data.beton"


def make(key: str, work: Work) -> None:
    options: dict[str, Any] = {"write_mode": "jpg"}
    if key == "ffcv_raw":
        options = {"write_mode": "raw", "max_resolution": work.raw_size}
    fields = {"image": RGBImageField(**options), "label": IntField()}
    writer = DatasetWriter(work.file(FILE), fields, num_workers=max(1, work.num_workers))
    writer.from_indexed_dataset(ImageFolder(work.folder))


def start(key: str, work: Work) -> Epoch:
    size = (work.image_size, work.image_size)
    image = [RandomResizedCropRGBImageDecoder(size), RandomHorizontalFlip(), ToTensor(), ToTorchImage()]
    if work.is_float():
        image.append(NormalizeImage(255 * np.array(MEAN), 255 * np.array(STD), np.float32))
    loader = Loader(
        work.file(FILE),
        batch_size=work.batch_size,
        num_workers=max(1, work.num_workers),
        order=OrderOption.QUASI_RANDOM,
        drop_last=False,
        pipelines={"image": image, "label": [IntDecoder(), ToTensor(), Squeeze()]},
    )
    return lambda: iter(loader)
