# SPDX-License-Identifier: Apache-2.0
"""MosaicML Streaming: MDS shards, read by its StreamingDataset in a torch DataLoader."""

from __future__ import annotations

from typing import Any

import torch
from PIL import Image
from streaming import MDSWriter, StreamingDataset

from contestants.work import Epoch, Work, make_transform


def make(key: str, work: Work) -> None:
    with MDSWriter(out=work.place, columns={"image": "jpeg", "label": "int"}) as writer:
        for path, label in work.samples():
            with Image.open(path) as image:  # the writer keeps the bytes of the file
                writer.write({"image": image, "label": label})


class Photos(StreamingDataset):
    def __init__(self, work: Work) -> None:
        super().__init__(local=work.place, shuffle=True, batch_size=work.batch_size)
        self.transform = make_transform(work.image_size, work.is_float())

    def __getitem__(self, at: Any) -> Any:
        sample = super().__getitem__(at)
        return self.transform(sample["image"].convert("RGB")), sample["label"]


def start(key: str, work: Work) -> Epoch:
    loader = torch.utils.data.DataLoader(Photos(work), **work.torch_arguments())
    return loader.__iter__
