# SPDX-License-Identifier: Apache-2.0
"""Looking into datasets: their files, and copies with another transform."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import FakeData, ImageFolder

import torch_dts
from torch_dts.loader._datasets import check_files, files_of, leaves, whole_file, with_transform

Factory = Callable[..., pathlib.Path]


def test_leaves_come_once_and_in_order(dts_file: Factory, image_folder: Factory) -> None:
    file, folder = torch_dts.DTSDataset(dts_file()), ImageFolder(image_folder())
    nest = ConcatDataset([Subset(file, [0]), ConcatDataset([folder, file]), Subset(folder, [1])])
    assert list(leaves(nest)) == [file, folder]
    assert files_of(nest) == [file.file]
    assert files_of(torch_dts.DTSIterableDataset(file.file.path))[0].path == file.file.path
    assert files_of(folder) == []


def test_only_a_whole_file_is_one(dts_file: Factory) -> None:
    class Short(torch_dts.DTSDataset):
        def __len__(self) -> int:
            return 2

    class Other(torch_dts.DTSDataset):
        def __getitem__(self, index: int) -> Any:
            return index

    path = dts_file()
    dataset = torch_dts.DTSDataset(path)
    assert whole_file(dataset) is dataset.file
    assert whole_file(Other(path)) is not None
    assert whole_file(Short(path)) is None
    assert whole_file(Subset(dataset, [0, 1])) is None
    assert whole_file([1, 2]) is None


def test_another_transform_leaves_the_dataset_alone(image_folder: Factory) -> None:
    folder = ImageFolder(image_folder(), transform=lambda image: 1, target_transform=lambda target: -target)
    nest = ConcatDataset([Subset(folder, [0, 4]), folder])
    changed = with_transform(nest, lambda image: 2)
    assert [nest[1], changed[1], changed[2]] == [(1, -1), (2, -1), (2, 0)]
    assert len(changed) == len(nest)
    assert folder.transforms.transform is folder.transform
    assert changed.datasets[1].transforms.transform is changed.datasets[1].transform


def test_a_dataset_without_a_transform_cant_get_one() -> None:
    with pytest.raises(
        ValueError, match=r"transform can't be given for a list, which has no attribute 'trans"
    ):
        with_transform(Subset([1, 2], [0]), len)  # type: ignore[arg-type]
    assert with_transform(FakeData(2), len).transform is len


def test_damage_is_found_in_any_of_the_files(dts_file: Factory) -> None:
    paths = [dts_file(), dts_file(seed=1)]
    nest = ConcatDataset([torch_dts.DTSDataset(path) for path in paths])
    check_files(nest)
    with open(paths[1], "r+b") as file:
        file.seek(-5, 2)
        byte = file.read(1)
        file.seek(-5, 2)
        file.write(bytes([byte[0] ^ 1]))
    nest = ConcatDataset([torch_dts.DTSDataset(path) for path in paths])
    with pytest.raises(torch_dts.CorruptFileError, match="CRC-32"):
        check_files(nest)
