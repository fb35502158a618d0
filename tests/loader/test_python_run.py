# SPDX-License-Identifier: Apache-2.0
"""Loaders that work in Python keep our order and seeds, and swallow nothing of the user's."""

from __future__ import annotations

import pathlib
import pickle
import warnings
from typing import Any

import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_PHOTOS, hashes, labels_of, same
from PIL import Image
from torch.utils.data import DistributedSampler
from torchvision import transforms
from torchvision.datasets import DatasetFolder, ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader


class Doubled(torch.nn.Module):
    """An operation of the user's own, with random numbers of torch's default generator."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image * 2 + torch.rand(1)


OWN = transforms.Compose([transforms.Resize(20), transforms.CenterCrop(16), transforms.ToTensor(), Doubled()])


class WithIndex(torch_dts.DTSDataset):
    """Items of its own."""

    def __getitem__(self, index: int) -> Any:
        return (*super().__getitem__(index), index)


def in_python(dataset: Any, *args: Any, **kwargs: Any) -> DataLoader:
    return DataLoader(dataset, *args, **{"num_workers": 0, **kwargs})


@pytest.fixture
def said() -> Any:
    """Expects the one warning."""
    return lambda reason: pytest.warns(UserWarning, match=rf"works as torch's own, in Python: .*{reason}")


def test_one_warning_says_why(photos_file: pathlib.Path, said: Any) -> None:
    loader = in_python(torch_dts.DTSDataset(photos_file, OWN), 4)
    with said("Doubled"):
        assert len(list(loader)) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(loader)
    loader.set_transform(FIXED)
    assert loader.stats().num_images == 0
    list(loader)  # native now
    assert loader.stats().num_images == NUM_PHOTOS


def test_items_of_the_datasets_own(photos_file: pathlib.Path, said: Any) -> None:
    dataset = WithIndex(photos_file, FIXED)
    loader = in_python(dataset, 4)
    with said("__getitem__"):
        found = list(loader)
    assert same(found, list(torch.utils.data.DataLoader(dataset, 4)))


@pytest.mark.parametrize("kwargs", [{}, {"batch_size": None}, {"shuffle": True, "drop_last": True}])
def test_the_order_is_the_native_one(kwargs: dict[str, Any], photos_file: pathlib.Path, said: Any) -> None:
    arguments: dict[str, Any] = {"batch_size": 4, "seed": 3, "return_index": True, **kwargs}
    native = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), num_workers=1, **arguments)
    python = in_python(torch_dts.DTSDataset(photos_file, OWN), **arguments)
    expected = [[torch.as_tensor(part).tolist() for part in batch[1:]] for _ in range(2) for batch in native]
    with said("Doubled"):
        found = [[torch.as_tensor(part).tolist() for part in batch[1:]] for _ in range(2) for batch in python]
    assert found == expected
    python.set_epoch(0)
    half = len(expected) // 2
    assert [torch.as_tensor(batch[2]).tolist() for batch in python] == [part[1] for part in expected[:half]]


def test_a_distributed_sampler_gets_our_order_here_too(photos_file: pathlib.Path, said: Any) -> None:
    def loader(transform: Any) -> DataLoader:
        dataset: Any = torch_dts.DTSDataset(photos_file, transform)
        sampler: Any = DistributedSampler(dataset, 3, 1, seed=5)
        sampler.set_epoch(2)
        return DataLoader(dataset, 4, sampler=sampler, num_workers=0)

    with said("Doubled"):
        found = labels_of(loader(OWN))
    assert found == labels_of(loader(FIXED))


def test_choices_depend_on_seed_and_epoch_not_on_workers(photos_file: pathlib.Path, said: Any) -> None:
    dataset = torch_dts.DTSDataset(photos_file, OWN)
    arguments: dict[str, Any] = {"batch_size": 4, "shuffle": True, "seed": 3}
    with said("Doubled"):
        first, second = (hashes(loader) for loader in [in_python(dataset, **arguments)] * 2)
    assert first != second
    with said("Doubled"):
        assert hashes(in_python(dataset, num_workers=2, **arguments)) == first
    loader = in_python(dataset, **arguments)
    loader.set_epoch(1)
    with said("Doubled"):
        assert hashes(loader) == second


def test_changed_datasets_are_seen(photos: pathlib.Path, said: Any) -> None:
    subset = torch.utils.data.Subset(ImageFolder(photos, OWN), [1, 2, 3])
    loader = in_python(subset, 8, transform=transforms.Compose([FIXED, Doubled()]))
    with said("Doubled"):
        assert next(iter(loader))[0].shape == (3, 3, 16, 16)
    subset.indices = [5]
    assert [batch[1].tolist() for batch in loader] == [[subset.dataset.targets[5]]]  # type: ignore[attr-defined]


def test_dtypes_and_memory_formats(photos: pathlib.Path, said: Any) -> None:
    dataset = ImageFolder(photos, transforms.Compose([FIXED, Doubled()]))
    loader = in_python(dataset, 4, dtype=torch.float16, memory_format=torch.channels_last)
    with said("Doubled"):
        images, labels = next(iter(loader))
    assert images.dtype == torch.float16
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert labels.dtype == torch.int64
    wrong = in_python(dataset, 4, dtype=torch.uint8)
    with (
        said("Doubled"),
        pytest.raises(ValueError, match=r"dtype is torch.uint8, but the transform"),
    ):
        next(iter(wrong))
    pairs = in_python(dataset, 4, dtype=torch.float16, collate_fn=list)
    with said("Doubled"), pytest.raises(ValueError, match="but a batch begins with tuple, no tensor"):
        next(iter(pairs))


def test_what_is_not_replaced_here_is_said(photos: pathlib.Path) -> None:
    own = DatasetFolder(str(photos), lambda path: Image.open(path), (".jpg",), OWN)
    loader = in_python(own, 4, on_error="replace")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        iter(loader)
    first, second = (str(warning.message) for warning in warned)
    assert first.startswith("on_error='replace' has no effect on a dataset that is read in Python")
    assert second.startswith("this DataLoader works as torch's own, in Python")


def test_streams_of_other_kinds() -> None:
    class Numbers(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(10))

    with pytest.warns(UserWarning, match="works as torch's own, in Python: .*Numbers"):
        found = list(in_python(Numbers(), 4))
    assert same(found, list(torch.utils.data.DataLoader(Numbers(), 4)))


def test_pickles(photos_file: pathlib.Path, said: Any) -> None:
    loader = in_python(torch_dts.DTSDataset(photos_file, OWN), 4, shuffle=True, seed=1)
    with said("Doubled"):
        list(loader)
    copy = pickle.loads(pickle.dumps(loader))
    with said("Doubled"):
        assert hashes(copy) == hashes(loader)
