# SPDX-License-Identifier: Apache-2.0
"""Pack an image folder into one .dts file once, then train PyTorch from it.

>>> torch_dts.convert(torchvision.datasets.ImageFolder("imagenet/train"), "train.dts")
>>> dataset = torch_dts.DTSDataset("train.dts", transform=transform)   # dataset[i] is ImageFolder[i]
"""

from torch_dts import _fake  # noqa: F401  (registers the fake kernels)
from torch_dts._errors import CorruptFileError
from torch_dts._version import __version__
from torch_dts.convert import convert
from torch_dts.datasets import DTSDataset, DTSIterableDataset
from torch_dts.file import DTSFile, extract, open, verify

__all__ = [
    "CorruptFileError",
    "DTSDataset",
    "DTSFile",
    "DTSIterableDataset",
    "__version__",
    "convert",
    "extract",
    "open",
    "verify",
]
