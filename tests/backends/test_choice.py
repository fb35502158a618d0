# SPDX-License-Identifier: Apache-2.0
"""The argument ``backend``."""

from __future__ import annotations

import pathlib
import pickle

import pytest
from dali_sets import RANDOM

import torch_dts
from torch_dts.backends._choice import chosen_backend


def test_auto_is_the_decoder_with_pillows_pixels() -> None:
    assert chosen_backend("auto") == "cpu"
    assert chosen_backend("cpu") == "cpu"
    assert chosen_backend("dali") == "dali"


@pytest.mark.parametrize(("backend", "named"), [("auto", "cpu"), ("cpu", "cpu"), ("dali", "dali")])
def test_repr_and_state_say_which(photos_file: pathlib.Path, backend: str, named: str) -> None:
    loader = torch_dts.DataLoader(
        photos_file, transform=RANDOM, batch_size=4, num_workers=1, seed=1, backend=backend
    )
    assert loader.backend == backend
    assert repr(loader) == (
        f"DataLoader(DTSDataset of 27 samples, batch_size=4, num_workers=1, backend={named!r})"
    )
    assert loader.state_dict()["backend"] == named
    assert pickle.loads(pickle.dumps(loader)).backend == backend


def test_another_backend_is_refused(photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"backend is 'gpu', expected 'auto', 'cpu' or 'dali'"):
        torch_dts.DataLoader(photos_file, transform=RANDOM, backend="gpu")
