# SPDX-License-Identifier: Apache-2.0
"""DTSDataset stands in for ImageFolder."""

from __future__ import annotations

import pathlib
import pickle
import shutil
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset, WeightedRandomSampler, random_split
from torchvision.datasets import ImageFolder, VisionDataset

import torch_dts
from torch_dts import DTSDataset

CLASSES = {"b": 4, "a": 3, "c d": 5}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pathlib.Path]:
    """A folder and the file made from it."""
    root = tmp_path_factory.mktemp("map") / "images"
    path = root.parent / "set.dts"
    generator = np.random.default_rng(0)
    for name, count in CLASSES.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            noise = generator.integers(0, 256, (30, 40, 3), dtype=np.uint8)
            Image.fromarray(noise).save(root / name / f"{i}.jpg")
    report = torch_dts.convert(root, path, progress=False)
    assert len(DTSDataset(report)) == 12  # the report is a path
    return str(root), path


@pytest.fixture
def pair(source: tuple[str, pathlib.Path]) -> tuple[ImageFolder, DTSDataset]:
    return ImageFolder(source[0]), DTSDataset(source[1])


def same_item(left: tuple[Image.Image, int], right: tuple[Image.Image, int]) -> bool:
    return (
        type(left[0]) is type(right[0])
        and left[0].mode == right[0].mode
        and left[0].size == right[0].size
        and left[0].tobytes() == right[0].tobytes()
        and type(left[1]) is type(right[1])
        and left[1] == right[1]
    )


def test_items_are_those_of_the_folder(pair: tuple[ImageFolder, DTSDataset]) -> None:
    folder, dataset = pair
    assert len(dataset) == len(folder) == 12
    assert all(same_item(dataset[i], folder[i]) for i in range(12))
    assert all(same_item(dataset[-i], folder[-i]) for i in range(1, 13))
    iterated = list(dataset)
    assert len(iterated) == 12
    assert all(same_item(item, folder[i]) for i, item in enumerate(iterated))


def test_attributes_are_those_of_the_folder(
    pair: tuple[ImageFolder, DTSDataset],
) -> None:
    folder, dataset = pair
    path = dataset.file.path
    assert isinstance(dataset, VisionDataset)
    assert dataset.classes == folder.classes == ["a", "b", "c d"]
    assert dataset.class_to_idx == folder.class_to_idx
    assert dataset.targets == folder.targets
    assert all(type(target) is int for target in dataset.targets)
    assert dataset.samples[3] == ("b/0.jpg", 1)
    assert dataset.imgs is dataset.samples
    assert dataset.root is None

    at_home = DTSDataset(path, root=folder.root)
    assert at_home.samples == folder.samples
    assert at_home.imgs is at_home.samples
    assert DTSDataset(path, root=pathlib.Path(folder.root)).samples == folder.samples


def test_lists_are_built_on_first_use_and_do_not_replace_the_file(
    pair: tuple[ImageFolder, DTSDataset],
) -> None:
    _, dataset = pair
    assert not {"_samples", "targets"} & set(dataset.__dict__)
    assert len(dataset.samples) == 12
    with pytest.raises(AttributeError, match="samples can't be replaced"):
        dataset.samples = dataset.samples[:3]


@pytest.mark.parametrize("convert", [int, np.int64, np.int32, torch.tensor], ids=str)
def test_integers_of_all_kinds_are_indices(
    pair: tuple[ImageFolder, DTSDataset], convert: Callable[[int], int]
) -> None:
    folder, dataset = pair
    assert same_item(dataset[convert(7)], folder[7])
    batch = dataset.__getitems__([convert(i) for i in (7, -1, 0)])
    assert all(same_item(item, folder[i]) for item, i in zip(batch, (7, -1, 0), strict=True))


def test_wrong_indices(pair: tuple[ImageFolder, DTSDataset]) -> None:
    _, dataset = pair
    for index in (12, -13):
        with pytest.raises(IndexError, match=str(index)):
            dataset[index]
        with pytest.raises(IndexError, match=str(index)):
            dataset.__getitems__([0, index])
    with pytest.raises(TypeError, match="float"):
        dataset[1.0]  # type: ignore[index]
    with pytest.raises(TypeError, match="float"):
        dataset.__getitems__([1.0])  # type: ignore[list-item]


def test_batches_keep_order_and_repetition(pair: tuple[ImageFolder, DTSDataset]) -> None:
    folder, dataset = pair
    wanted = [11, 0, 5, 5, 0, 3]
    items = dataset.__getitems__(wanted)
    assert all(same_item(item, folder[i]) for item, i in zip(items, wanted, strict=True))
    assert dataset.__getitems__([]) == []


def test_transforms_and_their_repr(pair: tuple[ImageFolder, DTSDataset]) -> None:
    folder, plain = pair
    path = plain.file.path
    transform = torchvision.transforms.ToTensor()
    dataset = DTSDataset(path, transform, lambda label: label + 100)
    expected = transform(folder[4][0])
    assert torch.equal(dataset[4][0], expected)
    assert dataset[4][1] == 101
    assert repr(plain).splitlines() == [
        "Dataset DTSDataset",
        "    Number of datapoints: 12",
        f"    File: {path}",
    ]
    assert "Root location" not in repr(dataset)
    assert repr(dataset).splitlines()[3:] == [
        "    StandardTransform",
        "Transform: ToTensor()",
        *repr(dataset.transforms).splitlines()[2:],
    ]
    # As with ImageFolder, a transform set later holds.
    dataset.transform = None
    assert same_item((dataset[4][0], 1), folder[4])


def test_loader_gets_the_stored_bytes(pair: tuple[ImageFolder, DTSDataset]) -> None:
    folder, path = pair[0], pair[1].file.path
    dataset = DTSDataset(path, loader=bytes)
    expected = [pathlib.Path(path).read_bytes() for path, _ in folder.samples]
    assert [data for data, _ in dataset] == expected
    assert [data for data, _ in dataset.__getitems__(range(12))] == expected

    as_array = DTSDataset(path, loader=lambda data: np.frombuffer(data, np.uint8))[2][0]
    assert as_array.tobytes() == expected[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of memory that can't be written
        as_tensor = DTSDataset(path, loader=lambda data: torch.frombuffer(data, dtype=torch.uint8))[2][0]
    assert bytes(as_tensor.tolist()) == expected[2]
    with pytest.raises(TypeError, match="loader is 3, expected a callable"):
        DTSDataset(path, loader=3)  # type: ignore[arg-type]


def test_pickling_carries_little_and_refuses_another_file(
    pair: tuple[ImageFolder, DTSDataset], image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    folder = pair[0]
    path = shutil.copyfile(pair[1].file.path, tmp_path / "set.dts")
    transform = torchvision.transforms.ToTensor()
    dataset = DTSDataset(path, transform, root="somewhere")
    assert len(dataset.samples) == len(dataset.targets) == 12
    pickled = pickle.dumps(dataset)
    assert b"0.jpg" not in pickled
    copy = pickle.loads(pickled)
    assert torch.equal(copy[5][0], transform(folder[5][0]))
    assert copy.samples == dataset.samples
    assert copy.classes == dataset.classes

    dataset.targets[2] = 77
    dataset.classes = ["one", "two", "three"]
    changed = pickle.loads(pickle.dumps(dataset))
    assert changed.targets == dataset.targets
    assert changed.classes == ["one", "two", "three"]
    assert changed.class_to_idx == copy.class_to_idx

    other = image_folder(classes={"a": 2, "z": 1})
    torch_dts.convert(other, path, overwrite=True, progress=False)
    with pytest.raises(torch_dts.CorruptFileError, match="not the file that was pickled"):
        pickle.loads(pickled)


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_torchs_loader_gives_the_same_batches(pair: tuple[ImageFolder, DTSDataset], num_workers: int) -> None:
    for dataset in pair:
        dataset.transform = torchvision.transforms.ToTensor()
    folder, dataset = (
        DataLoader(
            side,
            batch_size=5,
            shuffle=True,
            num_workers=num_workers,
            generator=torch.Generator().manual_seed(3),
            persistent_workers=num_workers == 2,
        )
        for side in pair
    )
    assert len(dataset) == 3
    for _ in range(2):
        for (images, labels), (expected, expected_labels) in zip(dataset, folder, strict=True):
            assert torch.equal(images, expected)
            assert torch.equal(labels, expected_labels)


def test_a_subclass_with_items_of_its_own(pair: tuple[ImageFolder, DTSDataset]) -> None:
    class Indexed(DTSDataset):
        def __getitem__(self, index: int) -> tuple[int, int]:
            return index, super().__getitem__(index)[1]

    dataset = Indexed(pair[1].file.path)
    batches = list(DataLoader(dataset, batch_size=5, collate_fn=list))
    assert [item for batch in batches for item in batch] == list(enumerate(pair[0].targets))


def test_subsets_concatenation_and_samplers(pair: tuple[ImageFolder, DTSDataset]) -> None:
    folder, dataset = pair
    subset = Subset(dataset, [3, 1, 10])
    assert all(same_item(subset[i], folder[j]) for i, j in enumerate([3, 1, 10]))
    assert all(
        same_item(item, folder[j]) for item, j in zip(subset.__getitems__([2, 0]), [10, 3], strict=True)
    )
    both = ConcatDataset([dataset, dataset])
    assert len(both) == 24
    assert same_item(both[12 + 4], folder[4])
    first, second = random_split(dataset, [5, 7], generator=torch.Generator().manual_seed(0))
    assert sorted([*first.indices, *second.indices]) == list(range(12))
    assert all(same_item(second[i], folder[j]) for i, j in enumerate(second.indices))

    weights = [1.0 if label == 2 else 0.0 for label in dataset.targets]
    sampler = WeightedRandomSampler(weights, 20, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(dataset, batch_size=7, sampler=sampler, collate_fn=list)
    drawn = [item for batch in loader for item in batch]
    expected = WeightedRandomSampler(weights, 20, generator=torch.Generator().manual_seed(0))
    assert all(same_item(item, folder[i]) for item, i in zip(drawn, expected, strict=True))


def test_verify(pair: tuple[ImageFolder, DTSDataset], tmp_path: pathlib.Path) -> None:
    dataset, path = pair[1], pathlib.Path(pair[1].file.path)
    assert DTSDataset(path, verify="file")[0][1] == 0
    with pytest.raises(ValueError, match="verify is 'all', expected"):
        DTSDataset(path, verify="all")  # type: ignore[arg-type]

    content = bytearray(path.read_bytes())
    content[dataset.file.header.header_bytes + dataset.file.block_size - 1] ^= 1
    (tmp_path / "hurt.dts").write_bytes(content)
    assert len(DTSDataset(tmp_path / "hurt.dts")) == 12
    with pytest.raises(torch_dts.CorruptFileError, match="CRC"):
        DTSDataset(tmp_path / "hurt.dts", verify="file")


def test_paths_of_all_kinds(dts_file: Callable[..., pathlib.Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = dts_file()
    monkeypatch.chdir(path.parent)
    assert len(DTSDataset(path)) == len(DTSDataset(str(path))) == len(DTSDataset(path.name)) == 5
    with pytest.raises(FileNotFoundError, match=r"missing\.dts"):
        DTSDataset("missing.dts")


def test_torchvision_wraps_it_for_transforms_v2(dts_file: Callable[..., pathlib.Path]) -> None:
    dataset = torch_dts.DTSDataset(dts_file(), transform=lambda image: image.size, target_transform=str)
    wrapped = torchvision.datasets.wrap_dataset_for_transforms_v2(dataset)
    assert isinstance(wrapped, torch_dts.DTSDataset)
    assert [wrapped[0], wrapped[4]] == [((40, 30), "0"), ((40, 30), "1")]
    assert wrapped.__getitems__([4]) == [((40, 30), "1")]


def test_imgs_cannot_be_replaced(dts_file: Callable[..., pathlib.Path]) -> None:
    dataset = torch_dts.DTSDataset(dts_file())
    with pytest.raises(AttributeError, match="imgs can't be replaced"):
        dataset.imgs = []


@pytest.mark.parametrize("name", ["transform", "target_transform", "loader"])
def test_what_is_no_callable(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} is 5, expected a callable or None"):
        torch_dts.DTSDataset("not opened", **{name: 5})
