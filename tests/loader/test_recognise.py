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
from torch.utils.data import ConcatDataset, Subset, TensorDataset, random_split
from torchvision import transforms as v1
from torchvision.datasets import CIFAR10, MNIST, ImageFolder, VisionDataset

from torch_dts import DTSDataset, DTSIterableDataset, _native
from torch_dts.loader._recognise import Readable, Recognised, inspect, recognise

Make = Callable[..., pathlib.Path]


def found(dataset: Any) -> Readable:
    readable = inspect(dataset)
    assert isinstance(readable, Readable), readable
    return readable


def reason(dataset: Any) -> str:
    readable = inspect(dataset)
    assert isinstance(readable, str)
    return readable


def opened(dataset: Any, keep: int = 0) -> Recognised:
    recognised = recognise(dataset, keep=keep)
    assert isinstance(recognised, Recognised), recognised
    return recognised


def bare(kind: type, **attributes: Any) -> Any:
    """A torchvision dataset without its download."""
    dataset = kind.__new__(kind)
    VisionDataset.__init__(dataset, "somewhere")
    for name, value in attributes.items():
        setattr(dataset, name, value)
    return dataset


def cifar(num_samples: int = 6, **attributes: Any) -> Any:
    planes = np.random.default_rng(1).integers(0, 256, (num_samples, 3, 4, 5), dtype=np.uint8)
    given = {"data": planes.transpose(0, 2, 3, 1), "targets": list(range(num_samples)), **attributes}
    return bare(CIFAR10, **given)


def mnist(num_samples: int = 6) -> Any:
    generator = torch.Generator().manual_seed(1)
    data = torch.randint(0, 256, (num_samples, 4, 5), dtype=torch.uint8, generator=generator)
    return bare(MNIST, data=data, targets=torch.arange(num_samples) % 10)


def require_same_items(dataset: Any) -> None:
    """Labels, and the pixels of the bytes read by sample, are those of the dataset's items."""
    recognised = opened(dataset)
    samples = recognised.samples
    num_samples = int(_native.source_info(recognised.source)[0])
    assert recognised.labels.dtype == torch.int64
    assert recognised.labels.numel() == len(dataset)
    for i in range(len(dataset)):
        image, label = dataset[i]
        sample = i if samples is None else int(samples[i])
        assert 0 <= sample < num_samples
        decoded = Image.open(io.BytesIO(recognised.read_bytes(sample)))
        assert np.array_equal(np.asarray(decoded.convert(image.mode)), np.asarray(image))
        assert int(recognised.labels[i]) == label
    recognised.resource.close()
    with pytest.raises(ValueError, match="source"):
        _native.source_info(recognised.source)


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


def test_mnist_and_cifar_are_used_in_place() -> None:
    gray, colour = mnist(), cifar()
    pixels = np.array(colour.data)
    require_same_items(gray)
    require_same_items(colour)
    assert np.array_equal(colour.data, pixels)
    assert colour.data.flags.c_contiguous
    recognised = opened(gray)
    assert (recognised.source_channels, recognised.source_size) == (1, (4, 5))
    assert recognised.describe(2) == "sample 2 of MNIST"
    assert opened(colour).source_channels == 3


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


def test_patched_objects_and_modules(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ImageFolder(image_folder())
    folder.__getitem__ = lambda index: index
    assert reason(folder) == "this ImageFolder was given a __getitem__ of its own"
    del folder.__getitem__
    folder.__getitems__ = lambda indices: indices
    assert reason(folder) == "this ImageFolder was given a __getitems__ of its own"
    del folder.__getitems__
    assert isinstance(inspect(folder), Readable)
    with monkeypatch.context() as patch:
        patch.setattr("torchvision.datasets.folder.pil_loader", lambda path: None)
        assert reason(folder).endswith("torchvision.datasets.folder.pil_loader was replaced")
    with monkeypatch.context() as patch:
        patch.setattr("torchvision.datasets.folder.DatasetFolder.__getitem__", lambda self, index: index)
        assert reason(folder) == "DatasetFolder.__getitem__ was replaced"
    with monkeypatch.context() as patch:
        patch.setattr("torchvision._image_backend", "accimage")
        assert reason(folder).endswith("torchvision's image backend is accimage")
    folder.transforms = lambda image, target: (image, target)
    assert reason(folder).endswith("its transforms= takes image and target together")


def test_labels_and_lists_of_other_kinds(image_folder: Make) -> None:
    folder = ImageFolder(image_folder())
    paths = [path for path, _ in folder.samples]

    def with_labels(labels: list[Any]) -> ImageFolder:
        folder.samples = list(zip(paths, labels, strict=True))
        return folder

    assert reason(with_labels([0.5] * 5)) == "ImageFolder: its labels hold a float, not only ints"
    assert reason(with_labels([True] * 5)) == "ImageFolder: its labels hold a bool, not only ints"
    assert reason(with_labels([1 << 64] * 5)) == (
        "ImageFolder: its labels hold a number of more than 64 bits"
    )
    assert found(with_labels([np.int64(3)] * 5)).labels.tolist() == [3] * 5
    folder.target_transform = str
    assert "target_transform would see ints" in reason(folder)
    folder.target_transform = None
    folder.samples = [*zip(map(pathlib.Path, paths), [0] * 5, strict=True)]
    assert reason(folder) == "ImageFolder: its samples have paths that are no text"
    folder.samples = [("a\0b", 0)]
    assert "holds a NUL byte" in reason(folder)
    folder.samples = iter([])
    assert reason(folder) == "ImageFolder: its samples are a list_iterator, not a list"
    assert reason(cifar(targets=np.zeros(6, dtype=np.int32))).endswith("of type int32, not int64")
    assert reason(cifar(targets=[0])) == "CIFAR10: it has 6 images and 1 targets"
    assert reason(cifar(data=np.zeros((6, 2, 2, 4), np.uint8))).endswith(
        "[6, 2, 2, 4], not uint8 [n, H, W, 3]"
    )
    assert "float" in reason(cifar(data=np.zeros((6, 2, 2, 3))))
    assert reason(bare(MNIST, data=np.zeros((2, 2, 2)), targets=[1, 2])).endswith("ndarray, not a tensor")
    unset = mnist()
    del unset.targets
    assert reason(unset) == "MNIST: it was never given its targets"


def test_indices_of_other_kinds() -> None:
    base = mnist()

    def with_indices(indices: Any) -> str:
        return reason(Subset(base, indices))

    assert with_indices([0, 6]).endswith("its Subset has indices 0 to 6 in a dataset of 6")
    assert with_indices([-7]).endswith("its Subset has indices -7 to -7 in a dataset of 6")
    assert with_indices([0.0]).endswith("hold a float, not only ints")
    assert with_indices(np.ones(6, dtype=bool)).endswith("numpy array of bool, shape (6,)")
    assert with_indices(torch.ones(6, dtype=torch.bool)).endswith("tensor of torch.bool, not of integers")
    assert with_indices({0: 1}).endswith("are a dict, not a list")
    assert found(Subset(base, [])).labels.numel() == 0
    changed = ConcatDataset([Subset(base, [0, 1])])
    changed.datasets[0].indices = [0]  # type: ignore[attr-defined]
    assert reason(changed).endswith("changed their lengths")
    assert reason(ConcatDataset([mnist(), cifar()])).endswith("are gray and coloured")
    base.target_transform = str
    assert reason(ConcatDataset([mnist(), base])).endswith("have different target_transforms")


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


def test_size_of_the_bytes(image_folder: Make, dts_file: Make) -> None:
    folder, file = ImageFolder(image_folder()), DTSDataset(dts_file())
    size = sum(os.path.getsize(path) for path, _ in folder.samples)
    assert found(folder).num_bytes() == size
    assert found(file).num_bytes() == os.path.getsize(file.file.path)
    assert found(ConcatDataset([folder, file])).num_bytes() == size + os.path.getsize(file.file.path)
    assert found(mnist()).num_bytes() == 0


def test_missing_files_say_so(image_folder: Make) -> None:
    folder = ImageFolder(image_folder())
    recognised = opened(folder)
    os.unlink(folder.samples[2][0])
    with pytest.raises(FileNotFoundError, match=r"No such file.*2\.jpg"):
        recognised.read_bytes(2)
    with pytest.raises(IndexError, match="sample 5 of a source of 5 samples"):
        recognised.read_bytes(5)
