# SPDX-License-Identifier: Apache-2.0
"""Every argument beyond torch's is an attribute."""

from __future__ import annotations

import dataclasses
import inspect
import pathlib

import torch_dts
from torch_dts.loader._arguments import Options
from torch_dts.loader._attributes import LoaderAttributes
from torch_dts.loader._data_loader import DataLoader


def test_options_attributes_and_arguments_are_the_same() -> None:
    names = {field.name for field in dataclasses.fields(Options)}
    assert names | {"dataset", "batch_size", "num_workers"} == set(inspect.get_annotations(LoaderAttributes))
    assert names <= set(inspect.signature(DataLoader.__init__).parameters)


def test_a_loader_says_what_it_is(photos_file: pathlib.Path) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file), 7, num_workers=2)
    assert repr(loader) == "DataLoader(DTSDataset of 23 samples, batch_size=7, num_workers=2, backend='cpu')"
    assert loader.effective_dataset() is loader.dataset
