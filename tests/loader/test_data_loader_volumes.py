# SPDX-License-Identifier: Apache-2.0
"""The native loader over a set of volumes: as over one file with the same list of blocks."""

from __future__ import annotations

import itertools
import pathlib
import pickle
from typing import Any

import pytest
import torch
from loader_sets import FIXED, NUM_PHOTOS, RANDOM, hashes, labels_of
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import _native
from torch_dts.loader._data_loader import DataLoader


@pytest.fixture(scope="module")
def photos_set(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The photos in four volumes; the folder that holds them."""
    folder = tmp_path_factory.mktemp("set")
    torch_dts.convert(photos, folder / "photos.dts", num_volumes=4, progress=False)
    return folder


def loader_of(path: pathlib.Path, **options: Any) -> DataLoader:
    settings = {"batch_size": 5, "shuffle": True, "seed": 5, "shuffle_window": 2, "return_index": True}
    return DataLoader(torch_dts.DTSDataset(path, RANDOM), **{**settings, **options})


@pytest.mark.parametrize("mode", ["partial", "fully"])
def test_the_order_is_that_of_one_list_of_blocks(photos_set: pathlib.Path, mode: Any) -> None:
    expected = None
    with torch_dts.open(photos_set) as file:
        sizes = file.block_table.num_samples
        orders = [file.source_index[_native.sample_order(sizes, 5, epoch, 2)].tolist() for epoch in range(2)]
    assert sizes.tolist() == [5, 6, 6, 6]
    for num_workers, readers in ((0, 1), (2, 3)):
        loader = loader_of(photos_set, mode=mode, num_workers=num_workers, reader_threads=readers)
        epochs = [list(loader), list(loader)]
        for batches, order in zip(epochs, orders, strict=True):
            assert list(itertools.chain(*(batch[2].tolist() for batch in batches))) == order
        made = [hashes(batches) for batches in epochs]
        assert expected in (None, made)
        expected = made
        loader.close()


def test_pixels_and_choices_are_those_of_the_folder(photos: pathlib.Path, photos_set: pathlib.Path) -> None:
    def by_index(dataset: Any) -> dict[int, bytes]:
        loader = DataLoader(dataset, batch_size=5, shuffle=True, seed=3, return_index=True, num_workers=2)
        return {
            int(index): image.numpy().tobytes()
            for images, _, indices in loader
            for image, index in zip(images, indices, strict=True)
        }

    found = by_index(torch_dts.DTSDataset(photos_set, RANDOM))
    assert found == by_index(ImageFolder(photos, RANDOM))
    assert len(found) == NUM_PHOTOS


def test_dataset_order_and_paths(photos: pathlib.Path, photos_set: pathlib.Path) -> None:
    expected = hashes(DataLoader(ImageFolder(photos, FIXED), batch_size=5, num_workers=1))
    for path in (photos_set, photos_set / "*.dts", photos_set / "photos-00000-of-00004.dts"):
        assert hashes(DataLoader(path, batch_size=5, transform=FIXED, num_workers=1)) == expected


def test_ranks_share_the_set(photos_set: pathlib.Path) -> None:
    with torch_dts.open(photos_set) as file:
        sizes, source = file.block_table.num_samples, file.source_index
    for rank in range(3):
        loader = loader_of(photos_set, num_replicas=3, rank=rank, num_workers=1)
        found = list(itertools.chain(*(batch[2].tolist() for batch in loader)))
        expected = source[_native.sample_order(sizes, 5, 0, 2, 3, rank)].tolist()
        assert len(expected) == 7 + (rank > 0)
        assert found == expected + expected[: 8 - len(expected)]  # filled up


def test_the_iterable_dataset(photos_set: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(photos_set, FIXED, seed=5, shuffle_window=2)
    labels = labels_of(DataLoader(dataset, batch_size=4, num_workers=2))
    file = dataset.file
    order = file.source_index[_native.sample_order(file.block_table.num_samples, 5, 0, 2)]
    assert list(itertools.chain(*labels)) == file.labels[order].tolist()
    again = pickle.loads(pickle.dumps(dataset))
    assert again.file.fingerprint == file.fingerprint


def test_memory_is_shared_by_the_set(photos_set: pathlib.Path) -> None:
    """The same name for the same volumes, however they were opened."""
    with torch_dts.open(photos_set) as one, torch_dts.open(photos_set / "*.dts") as other:
        sources = [_native.source_dts(file.handle, 2) for file in (one, other)]
        assert _native.source_keep(sources[0]) == 4
        info = _native.source_info(sources[1])
        assert info.num_blocks == 4
        assert info.is_complete
        assert _native.source_keep(sources[1]) == 0
        arena, offsets, sizes, _ = _native.source_read(sources[1], torch.arange(NUM_PHOTOS))
        for stored, source in enumerate(one.source_index.tolist()):
            start = int(offsets[stored])
            assert bytes(arena[start : start + int(sizes[stored])].numpy()) == bytes(one.read(source))
        for each in sources:
            _native.source_close(each)
