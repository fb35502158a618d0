# SPDX-License-Identifier: Apache-2.0
"""Images of the kinds that DALI takes and of those it doesn't, made once."""

from __future__ import annotations

import pathlib
import sys

import pytest

import torch_dts

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dali_sets import save_all


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An image folder of 27 files in 3 classes; what DALI can't take is among them."""
    return save_all(tmp_path_factory.mktemp("dali_photos"))


@pytest.fixture(scope="session")
def photos_file(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The same as a ``.dts`` file."""
    path = tmp_path_factory.mktemp("dali_file") / "photos.dts"
    torch_dts.convert(photos, path, progress=False)
    return path
