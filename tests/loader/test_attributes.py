# SPDX-License-Identifier: Apache-2.0
"""Every argument beyond torch's is an attribute."""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
import pickle

import pytest

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


@pytest.mark.parametrize("name", sorted({field.name for field in dataclasses.fields(Options)} | {"shuffle"}))
def test_arguments_stay_as_they_were_given(photos_file: pathlib.Path, name: str) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file), 7, num_workers=1)
    for one in (loader, pickle.loads(pickle.dumps(loader))):
        before = getattr(one, name)
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is init"):
            setattr(one, name, "x")
        assert getattr(one, name) is before or getattr(one, name) == before


def test_other_attributes_are_torchs_and_the_users(photos_file: pathlib.Path) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file), 7, num_workers=1)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is init"):
        loader.batch_size = 3
    loader.num_workers = 2
    loader.note = "mine"  # type: ignore[attr-defined]
    assert (loader.num_workers, loader.note) == (2, "mine")  # type: ignore[attr-defined]
