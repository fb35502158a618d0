# SPDX-License-Identifier: Apache-2.0
"""Which datasets are read natively, and that the labels and samples found are the dataset's."""

from __future__ import annotations

import io
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from recognise_sets import cifar, found, mnist, opened, reason, require_same_items
from torch.utils.data import ConcatDataset, Subset, TensorDataset, random_split
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

from torch_dts import DTSDataset, DTSIterableDataset
from torch_dts.loader._recognise import Readable, inspect

Make = Callable[..., pathlib.Path]


def test_folder(image_folder: Make) -> None:
    dataset = ImageFolder(image_folder(classes={"b": 3, "a": 2}), transform=len, target_transform=str)
    recognised = opened(dataset)
    assert recognised.transform is len
    assert recognised.target_transform is str
    assert recognised.file is None
    assert (recognised.source_channels, recognised.source_size) == (3, None)
    assert recognised.describe(1) == f"sample 1 ({dataset.samples[1][0]})"
    dataset.transform = dataset.target_transform = None
    require_same_items(dataset)


def test_edited_samples_count(image_folder: Make) -> None:
    dataset = ImageFolder(image_folder(classes={"a": 3, "b": 2}))
    dataset.samples = [(path, 7 + i) for i, (path, _) in enumerate(dataset.samples[::-1])]
    assert found(dataset).labels.tolist() == [7, 8, 9, 10, 11]
    require_same_items(dataset)


def test_relative_paths_hold_after_a_change_of_directory(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = image_folder()
    monkeypatch.chdir(root.parent)
    dataset = ImageFolder(root.name)
    recognised = opened(dataset)
    expected = pathlib.Path(dataset.samples[0][0]).read_bytes()
    monkeypatch.chdir("/")
    assert recognised.read_bytes(0) == expected


def test_file(dts_file: Make) -> None:
    dataset = DTSDataset(dts_file(classes={"a": 5, "b": 4}))
    recognised = opened(dataset)
    assert recognised.file is dataset.file
    assert recognised.samples is not None
    assert recognised.describe(int(recognised.samples[3])) == dataset.file.describe_sample(3)
    require_same_items(dataset)


def test_iterable_file_is_counted_as_stored(dts_file: Make) -> None:
    dataset = DTSIterableDataset(dts_file(classes={"a": 5, "b": 4}), shuffle=False)
    recognised = opened(dataset)
    assert recognised.samples is None
    assert recognised.file is dataset.file
    assert recognised.labels.tolist() == [label for _, label in dataset]
    for stored, (image, _) in enumerate(dataset):
        decoded = Image.open(io.BytesIO(recognised.read_bytes(stored))).convert("RGB")
        assert decoded.tobytes() == image.tobytes()


def test_subclass_with_other_files_only(image_folder: Make) -> None:
    class Listed(ImageFolder):  # type: ignore[misc]
        def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
            return ["b", "a"], {"b": 0, "a": 1}

    require_same_items(Listed(image_folder()))


def test_subset_and_concat(image_folder: Make, dts_file: Make) -> None:
    folder = ImageFolder(image_folder(classes={"a": 4, "b": 3}, seed=1))
    file = DTSDataset(dts_file(classes={"c": 5, "a": 4}, seed=2))
    part = Subset(folder, [6, 0, -2, 0])
    whole = ConcatDataset([part, file, Subset(Subset(file, range(8, 2, -1)), np.array([5, 0])), folder])
    nested = Subset(ConcatDataset([whole, whole]), torch.tensor([30, 2, 4, 22]))
    for dataset in (part, whole, nested, *random_split(whole, [0.5, 0.5])):
        require_same_items(dataset)
        assert opened(dataset).file is None
    assert opened(ConcatDataset([Subset(cifar(), [1]), cifar(3)])).source_size == (4, 5)
    require_same_items(ConcatDataset([mnist(), Subset(mnist(9), [8, 8])]))


def test_parts_with_equal_transforms_are_one(image_folder: Make) -> None:
    root = image_folder()

    def make(size: int) -> ImageFolder:
        return ImageFolder(root, v1.Compose([v1.Resize((size, size)), v1.ToTensor()]))

    assert isinstance(inspect(ConcatDataset([make(8), make(8)])), Readable)
    assert reason(ConcatDataset([make(8), make(9)])).endswith("have different transforms")


def test_own_code_is_never_passed_over(image_folder: Make, dts_file: Make) -> None:
    root, path = image_folder(), dts_file()

    class WithIndex(ImageFolder):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            return *super().__getitem__(index), index

    class Batched(ImageFolder):  # type: ignore[misc]
        def __getitems__(self, indices: list[int]) -> Any:
            return [self[i] for i in indices]

    class Shorter(DTSDataset):
        def __len__(self) -> int:
            return 2

    class Loading(ImageFolder):  # type: ignore[misc]
        armed = False

        @property
        def samples(self) -> Any:
            if self.armed:
                raise RuntimeError("user code")
            return [("a", 0)]

        @samples.setter
        def samples(self, value: Any) -> None:
            pass

    class Hooked(DTSDataset):
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)

    class Chosen(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            return 5

        def __getitems__(self, indices: list[int]) -> Any:
            return [5 for _ in indices]

    class Stream(DTSIterableDataset):
        def __iter__(self) -> Any:
            return iter(())

    folder = ImageFolder(root)
    assert reason(WithIndex(root)).endswith("WithIndex has a __getitem__ of its own")
    assert reason(Batched(root)).endswith("Batched has a __getitems__ of its own")
    assert reason(Shorter(path)).endswith("Shorter has a __len__ of its own")
    loading = Loading(root)
    loading.armed = True
    assert reason(loading).endswith("Loading has a samples of its own")
    assert reason(Hooked(path)).endswith("Hooked has a __getattr__ of its own")
    assert reason(Chosen(folder, [0])).endswith("Chosen has a __getitem__ of its own")
    assert reason(Stream(path)).endswith("Stream has a __iter__ of its own")
    assert reason(ConcatDataset([folder, WithIndex(root)])).endswith("__getitem__ of its own")
    assert reason(ImageFolder(root, loader=lambda path: path)) == (
        "ImageFolder: its loader= is not torchvision's own"
    )
    assert reason(DTSDataset(path, loader=bytes)) == "DTSDataset: its loader= is not the library's own"
    assert reason(TensorDataset(torch.ones(3))).startswith("TensorDataset is none of DTSDataset,")


def test_changes_are_noticed(image_folder: Make) -> None:
    def changes(dataset: Any, change: Callable[[], Any]) -> bool:
        check = opened(dataset).is_current
        assert check()
        change()
        return not check()

    folder = ImageFolder(image_folder())
    part = Subset(folder, [0, 1, 2])
    both = ConcatDataset([part, folder])
    assert changes(both, lambda: setattr(folder, "transform", len))
    assert changes(both, lambda: folder.samples.__setitem__(0, (folder.samples[1][0], 5)))
    assert changes(both, lambda: part.indices.__setitem__(1, 4))  # type: ignore[attr-defined]
    assert changes(both, lambda: setattr(part, "indices", range(3)))
    assert changes(both, lambda: both.datasets.reverse())
    assert changes(folder, lambda: setattr(folder, "__getitem__", None))
    gray, colour = mnist(), cifar(targets=np.arange(6))
    assert changes(gray, lambda: gray.targets.add_(1))
    assert changes(colour, lambda: colour.targets.__iadd__(1))
    assert changes(colour, lambda: setattr(colour, "data", colour.data.copy()))
    assert not changes(colour, lambda: colour.data.__iadd__(1))  # used in place


def test_missing_files_say_so(image_folder: Make) -> None:
    folder = ImageFolder(image_folder())
    recognised = opened(folder)
    os.unlink(folder.samples[2][0])
    with pytest.raises(FileNotFoundError, match=r"No such file.*2\.jpg"):
        recognised.read_bytes(2)
    with pytest.raises(IndexError, match="sample 5 of a source of 5 samples"):
        recognised.read_bytes(5)
