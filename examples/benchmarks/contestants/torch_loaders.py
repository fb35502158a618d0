# SPDX-License-Identifier: Apache-2.0
"""torch's DataLoader over torchvision's ImageFolder, in three forms."""

from __future__ import annotations

import torch
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image

from contestants.work import Epoch, Work, make_transform, make_v2_transform


def load_tensor(path: str) -> torch.Tensor:
    return decode_image(path, mode=ImageReadMode.RGB)


def start(key: str, work: Work) -> Epoch:
    if key == "torch":
        dataset = ImageFolder(work.folder, make_transform(work.image_size, work.is_float()))
    else:
        transform = make_v2_transform(work.image_size, work.is_float())
        dataset = ImageFolder(work.folder, transform)
        if key == "torch_decode":
            dataset = ImageFolder(work.folder, transform, loader=load_tensor)
    loader = torch.utils.data.DataLoader(dataset, shuffle=True, **work.torch_arguments())
    return loader.__iter__
