# SPDX-License-Identifier: Apache-2.0
"""Pack an image folder into one .dts file once, then train PyTorch from it.

>>> torch_dts.convert(torchvision.datasets.ImageFolder("imagenet/train"), "train.dts")
>>> dataset = torch_dts.DTSDataset("train.dts", transform=transform)   # dataset[i] is ImageFolder[i]
>>> loader = torch_dts.DataLoader(dataset, batch_size=256, shuffle=True)
"""

from torch_dts import (
    _fake,  # noqa: F401  (registers the fake kernels)
    transforms,
)
from torch_dts._errors import CorruptFileError
from torch_dts._version import __version__
from torch_dts.convert import convert
from torch_dts.datasets import DTSDataset, DTSIterableDataset
from torch_dts.file import DTSFile, extract, open, verify
from torch_dts.loader import DataLoader

__all__ = [
    "CorruptFileError",
    "DTSDataset",
    "DTSFile",
    "DTSIterableDataset",
    "DataLoader",
    "__version__",
    "convert",
    "extract",
    "open",
    "transforms",
    "verify",
]
