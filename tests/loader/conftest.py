# SPDX-License-Identifier: Apache-2.0
"""Small sets of images, made once for all tests of the loader."""

from __future__ import annotations

import pathlib
import sys

import pytest

import torch_dts

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from loader_sets import NUM_PHOTOS, PaddedPhotos, photo

from torch_dts.loader import _native_run


@pytest.fixture(autouse=True)
def many_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as tests ask for, on any machine."""
    monkeypatch.setattr(_native_run, "usable_cpus", lambda: 64)


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An image folder of 23 JPEGs of several sizes in 3 classes."""
    root = tmp_path_factory.mktemp("photos")
    for name in ("cat", "dog", "owl"):
        (root / name).mkdir()
    for number in range(NUM_PHOTOS):
        folder = root / ("cat", "dog", "owl")[number % 3]
        photo(number, (30 + number % 7, 24 + number % 5)).save(folder / f"{number:02}.jpg", quality=90)
    return root


@pytest.fixture(scope="session")
def photos_file(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The same as a ``.dts`` file of one block."""
    path = tmp_path_factory.mktemp("photos_file") / "photos.dts"
    torch_dts.convert(photos, path, progress=False)
    return path


@pytest.fixture(scope="session")
def blocks_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of 20 samples in several blocks; the label of a sample is its source index."""
    path = tmp_path_factory.mktemp("blocks_file") / "blocks.dts"
    torch_dts.convert(PaddedPhotos(), path, check="none", progress=False)
    with torch_dts.open(path) as file:
        assert 3 <= file.num_blocks <= 4
    return path
