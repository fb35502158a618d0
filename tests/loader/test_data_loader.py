# SPDX-License-Identifier: Apache-2.0
"""DataLoader beside torch's own over the same data: what its batches are."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_PHOTOS, same
from torch.utils.data import ConcatDataset, Subset
from torchvision import transforms
from torchvision.datasets import CIFAR10, MNIST, ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader

KINDS = ["folder", "file", "iterable", "path"]


def ours(kind: str, photos: pathlib.Path, file: pathlib.Path, transform: Any, **kwargs: Any) -> DataLoader:
    if kind == "folder":
        return DataLoader(ImageFolder(photos, transform), **kwargs)
    if kind == "file":
        return DataLoader(torch_dts.DTSDataset(file, transform), **kwargs)
    if kind == "path":
        return DataLoader(str(file), transform=transform, **kwargs)
    # Stored order is another: the labels and images are compared as a set of samples.
    return DataLoader(torch_dts.DTSIterableDataset(file, transform, shuffle=False), **kwargs)


def torchs(photos: pathlib.Path, transform: Any, **kwargs: Any) -> list[Any]:
    return list(torch.utils.data.DataLoader(ImageFolder(photos, transform), **kwargs))


def samples(batches: list[Any]) -> list[tuple[bytes, int]]:
    return sorted(
        (image.numpy().tobytes(), int(label))
        for batch in batches
        for image, label in zip(*batch, strict=True)
    )


@pytest.mark.parametrize("num_workers", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_torchs(
    kind: str, num_workers: int, photos: pathlib.Path, photos_file: pathlib.Path
) -> None:
    loader = ours(kind, photos, photos_file, FIXED, batch_size=6, num_workers=num_workers)
    found, expected = list(loader), torchs(photos, FIXED, batch_size=6)
    if kind == "iterable":
        assert [batch[0].shape for batch in found] == [batch[0].shape for batch in expected]
        assert samples(found) == samples(expected)
    else:
        assert same(found, expected)
    assert len(loader) == len(found) == 4
    assert loader.stats().num_foreign == 0


@pytest.mark.parametrize("batch_size", [1, NUM_PHOTOS, 100])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_last_batch(
    kind: str, drop_last: bool, batch_size: int, photos: pathlib.Path, photos_file: pathlib.Path
) -> None:
    arguments = {"batch_size": batch_size, "drop_last": drop_last}
    loader = ours(kind, photos, photos_file, FIXED, num_workers=1, **arguments)
    found, expected = list(loader), torchs(photos, FIXED, **arguments)
    assert [batch[0].shape for batch in found] == [batch[0].shape for batch in expected]
    assert len(loader) == len(expected)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_single_samples(kind: str, photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    loader = ours(kind, photos, photos_file, FIXED, batch_size=None, num_workers=1)
    assert same(list(loader), torchs(photos, FIXED, batch_size=None))
    assert len(loader) == NUM_PHOTOS
    given = ours(
        kind, photos, photos_file, FIXED, batch_size=None, num_workers=0, collate_fn=lambda x: (x, 1)
    )
    assert same(list(given), torchs(photos, FIXED, batch_size=None, collate_fn=lambda x: (x, 1)))


def test_collate_functions_of_the_users(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    def collate(items: list[Any]) -> Any:
        images, targets = zip(*items, strict=True)
        return {"images": torch.stack(images), "targets": list(targets)}

    found = list(ours("file", photos, photos_file, FIXED, batch_size=5, collate_fn=collate))
    expected = torchs(photos, FIXED, batch_size=5, collate_fn=collate)
    assert [batch["targets"] for batch in found] == [batch["targets"] for batch in expected]
    assert all(same(a["images"], b["images"]) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("target_transform", [lambda label: -label, lambda label: (label, [label / 2])])
def test_target_transforms(target_transform: Any, photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    reference = ImageFolder(photos, FIXED, target_transform)
    expected = list(torch.utils.data.DataLoader(reference, batch_size=5))
    for dataset in (reference, torch_dts.DTSDataset(photos_file, FIXED, target_transform)):
        loader = DataLoader(dataset, batch_size=5, num_workers=1)
        assert same(list(loader), expected)
        assert loader.stats().num_images == NUM_PHOTOS


def test_subsets_and_joined_datasets(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    def nest(dataset: Any, other: Any) -> Any:
        return ConcatDataset([Subset(other, [5, -1, 5]), dataset, Subset(Subset(dataset, range(9)), [8, 0])])

    folder, file = ImageFolder(photos, FIXED), torch_dts.DTSDataset(photos_file, FIXED)
    expected = list(torch.utils.data.DataLoader(nest(folder, folder), batch_size=4))
    for dataset in (nest(file, file), nest(folder, folder), nest(file, folder)):
        loader = DataLoader(dataset, batch_size=4, num_workers=2)
        assert same(list(loader), expected)
        assert loader.stats().num_images == NUM_PHOTOS + 5


def test_a_subset_whose_indices_change(photos: pathlib.Path, photos_file: pathlib.Path) -> None:
    subset = Subset(torch_dts.DTSDataset(photos_file, FIXED), [3, 4])
    loader = DataLoader(subset, batch_size=8, num_workers=1)
    reference = ImageFolder(photos, FIXED)
    for indices in ([3, 4], [22, 0, 7], [1]):
        subset.indices = indices
        assert len(loader) == 1
        expected = torch.utils.data.DataLoader(Subset(reference, indices), batch_size=8)
        assert same(list(loader), list(expected))
    subset.indices[0] = 5
    assert same(list(loader), list(torch.utils.data.DataLoader(Subset(reference, [5]))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("memory_format", [None, torch.channels_last])
def test_dtypes_and_memory_formats(dtype: torch.dtype, memory_format: Any, photos: pathlib.Path) -> None:
    loader = DataLoader(
        ImageFolder(photos, FIXED), 8, dtype=dtype, memory_format=memory_format, num_workers=1
    )
    for found, expected in zip(loader, torchs(photos, FIXED, batch_size=8), strict=True):
        assert torch.equal(found[0], expected[0].to(dtype))
        assert found[0].is_contiguous(memory_format=memory_format or torch.contiguous_format)


def test_a_dtype_that_the_transform_cant_give(photos: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"dtype is torch.uint8, but the transform gives torch.float32"):
        iter(DataLoader(ImageFolder(photos, FIXED), dtype=torch.uint8))


def test_bytes(photos: pathlib.Path) -> None:
    pixels = transforms.Compose([transforms.CenterCrop(16), transforms.PILToTensor()])
    found = list(DataLoader(ImageFolder(photos, pixels), batch_size=8, num_workers=1))
    assert found[0][0].dtype == torch.uint8
    assert same(found, torchs(photos, pixels, batch_size=8))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_index_comes_third(
    kind: str, shuffle: bool, photos: pathlib.Path, photos_file: pathlib.Path
) -> None:
    reference = ImageFolder(photos, FIXED)
    loader = ours(kind, photos, photos_file, FIXED, batch_size=4, shuffle=shuffle, return_index=True, seed=1)
    indices = []
    for images, labels, index in loader:
        assert index.dtype == torch.int64
        indices += index.tolist()
        expected = torch.utils.data.default_collate([reference[i] for i in index.tolist()])
        assert same([images, labels], expected)
    assert sorted(indices) == list(range(NUM_PHOTOS))
    assert (indices == sorted(indices)) == (not shuffle)


def test_the_index_in_a_subset_whoever_takes_the_samples(photos: pathlib.Path) -> None:
    subset = Subset(ImageFolder(photos, FIXED), [20, 3, 20, 7, 1])
    loader = DataLoader(subset, 2, shuffle=True, return_index=True, num_workers=3, reproducible=False)
    for images, labels, index in loader:
        assert same([images, labels], torch.utils.data.default_collate([subset[i] for i in index.tolist()]))


class InMemory(CIFAR10):
    """A CIFAR10 without a download."""

    def __init__(self, transform: Any) -> None:
        generator = np.random.default_rng(0)
        self.data = generator.integers(0, 256, (50, 32, 32, 3), dtype=np.uint8)
        self.targets = generator.integers(0, 10, 50).tolist()
        self.transform, self.target_transform = transform, None


class InMemoryGray(MNIST):
    """An MNIST without a download."""

    def __init__(self, transform: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        self.data = torch.randint(0, 256, (50, 28, 28), generator=generator, dtype=torch.uint8)
        self.targets = torch.randint(0, 10, (50,), generator=generator)
        self.transform, self.target_transform = transform, None


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_in_memory(channels: int) -> None:
    normalize = transforms.Normalize([0.5] * channels, [0.25] * channels)
    transform = transforms.Compose([transforms.ToTensor(), normalize])
    dataset: Any = InMemory(transform) if channels == 3 else InMemoryGray(transform)
    expected = list(torch.utils.data.DataLoader(dataset, batch_size=16))
    loader = DataLoader(dataset, batch_size=16, num_workers=2)
    assert same(list(loader), expected)
    assert loader.stats().num_images == 50
    dataset.data[0] = 0  # seen in place, as torch's does
    assert same(list(loader), list(torch.utils.data.DataLoader(dataset, batch_size=16)))


def test_another_transform_from_the_next_iteration_on(
    photos: pathlib.Path, photos_file: pathlib.Path
) -> None:
    smaller = transforms.Compose([transforms.Resize(12), transforms.CenterCrop(8), transforms.ToTensor()])
    for kind in ("file", "folder"):
        loader = ours(kind, photos, photos_file, FIXED, batch_size=5, num_workers=1)
        begun = iter(loader)
        loader.set_transform(smaller)
        assert same(list(begun), torchs(photos, FIXED, batch_size=5))
        assert same(list(loader), torchs(photos, smaller, batch_size=5))
        loader.set_transform(None)
        assert same(list(loader), torchs(photos, FIXED, batch_size=5))
        loader.dataset.transform = smaller
        assert same(list(loader), torchs(photos, smaller, batch_size=5))


def test_a_transform_changed_in_place(photos: pathlib.Path) -> None:
    transform = transforms.Compose([transforms.Resize((12, 12)), transforms.ToTensor()])
    loader = DataLoader(ImageFolder(photos, transform), batch_size=5, num_workers=1)
    assert same(list(loader), torchs(photos, transform, batch_size=5))
    transform.transforms[0].size = (9, 7)
    assert next(iter(loader))[0].shape == (5, 3, 9, 7)
    assert same(list(loader), torchs(photos, transform, batch_size=5))


def test_kept_batches_are_not_overwritten(photos: pathlib.Path) -> None:
    loader = DataLoader(ImageFolder(photos, FIXED), batch_size=3, num_workers=2)
    kept = [batch for _ in range(3) for batch in loader]
    assert same(kept, torchs(photos, FIXED, batch_size=3) * 3)


def test_an_empty_dataset(photos: pathlib.Path) -> None:
    empty = Subset(ImageFolder(photos, FIXED), [])
    assert list(DataLoader(empty, batch_size=3, num_workers=1)) == []
    with pytest.raises(
        ValueError, match="num_samples should be a positive integer value, but got num_samples=0"
    ):
        DataLoader(empty, shuffle=True)
