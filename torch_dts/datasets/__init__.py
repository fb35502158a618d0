# SPDX-License-Identifier: Apache-2.0
"""Datasets over a ``.dts`` file: map-style, iterable, and a functional DataPipe; an indexed ImageFolder.

Importing this registers ``IterDataPipe.read_dts`` where torch has DataPipes.
"""

from importlib.util import find_spec

from torch_dts.datasets._folder_index import image_folder
from torch_dts.datasets._iterable import DTSIterableDataset
from torch_dts.datasets._map import DTSDataset

if find_spec("torch.utils.data.datapipes") is not None:
    from torch_dts.datasets import _datapipe  # noqa: F401  (importing it registers read_dts)

__all__ = ["DTSDataset", "DTSIterableDataset", "image_folder"]
