# SPDX-License-Identifier: Apache-2.0
"""DTSDataset and DTSIterableDataset over pixel files, beside torchvision's own data sets."""

from __future__ import annotations

import pathlib
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import ARRAY_SETS, array_set, items_of
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset, Subset, default_collate
from torchvision.datasets import CIFAR10, MNIST
from torchvision.transforms import Compose, Normalize, PILToTensor, RandomCrop, ToTensor

import torch_dts
from torch_dts import CorruptFileError, DTSDataset, DTSIterableDataset, _native
from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._pixels import read_sample, read_samples, share_of_epoch

NUM_SAMPLES = 23


@pytest.fixture
def cifar() -> Any:
    return array_set(CIFAR10, NUM_SAMPLES)


@pytest.fixture
def path(cifar: Any, tmp_path: pathlib.Path) -> pathlib.Path:
    """A pixel file whose samples are all different, so that the pixels tell the number."""
    return pathlib.Path(torch_dts.convert(cifar, tmp_path / "cifar.dts"))


def numbers_of(images: list[Any], source: Any) -> list[int]:
    by_bytes = {np.ascontiguousarray(pixels).tobytes(): i for i, pixels in enumerate(source.data)}
    return [by_bytes[image.tobytes()] for image in images]


def uniform(seed: int, epoch: int, num_replicas: int = 1, rank: int = 0) -> list[int]:
    """The order of format.md for data without blocks; how the samples lie in blocks changes nothing."""
    blocks = torch.tensor([5, 10, NUM_SAMPLES - 15])
    return _native.sample_order(blocks, seed, epoch, 0, num_replicas, rank).tolist()


@pytest.mark.parametrize("kind", ARRAY_SETS)
def test_items_are_torchvision_s(kind: type, tmp_path: pathlib.Path) -> None:
    transform = Compose([RandomCrop(24), ToTensor(), Normalize(0.5, 0.25)])
    source = array_set(kind, 9, transform=transform, target_transform=lambda label: -label)
    path = torch_dts.convert(source, tmp_path / "a.dts")
    dataset = DTSDataset(path, transform=transform, target_transform=lambda label: -label)
    assert len(dataset) == len(source)
    for index in (0, 5, 8, -1):
        torch.manual_seed(index)
        image, label = dataset[index]
        torch.manual_seed(index)
        expected_image, expected_label = source[index]
        assert torch.equal(image, expected_image)
        assert label == int(expected_label)
    batch = default_collate([DTSDataset(path, PILToTensor())[i] for i in range(9)])
    assert batch[1].dtype == torch.int64
    assert batch[0].shape == (9, 1 if issubclass(kind, MNIST) else 3, *source.data.shape[1:3])


def test_map_style_details(path: pathlib.Path, cifar: Any) -> None:
    dataset = DTSDataset(path)
    assert dataset.targets == cifar.targets
    assert dataset.samples[3] == (f"{cifar.classes[cifar.targets[3]]}/00000003.png", cifar.targets[3])
    assert "Number of datapoints: 23" in repr(dataset)
    with pytest.raises(IndexError, match="sample 23 is out of range"):
        dataset[23]
    batch = dataset.__getitems__([4, 4, -2])
    assert numbers_of([image for image, _ in batch], cifar) == [4, 4, 21]
    assert [label for _, label in batch] == [cifar.targets[i] for i in (4, 4, 21)]
    subset = Subset(dataset, [7, 2])
    assert numbers_of([subset[i][0] for i in range(2)], cifar) == [7, 2]
    copied = pickle.loads(pickle.dumps(dataset))
    assert items_of(copied) == items_of(dataset)
    assert len(pickle.dumps(dataset)) < 3000


def test_an_image_may_be_changed(path: pathlib.Path) -> None:
    dataset = DTSDataset(path)
    before = dataset[0][0].tobytes()
    dataset[0][0].paste((1, 2, 3), (0, 0, 32, 32))
    assert dataset[0][0].tobytes() == before
    raw = DTSDataset(path, loader=lambda data: data)
    data = raw[0][0]
    data[:] = bytes(3072)
    assert bytes(raw[0][0]) == before


def test_own_loader_gets_the_raw_pixels(path: pathlib.Path, cifar: Any) -> None:
    dataset = DTSDataset(path, loader=lambda data: np.frombuffer(data, np.uint8).reshape(32, 32, 3))
    assert np.array_equal(dataset[5][0], cifar.data[5])

    def fail(data: memoryview) -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match=r"no \[sample 5 \(class\d/00000005.png\) of .*cifar.dts\]"):
        DTSDataset(path, loader=fail)[5]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_torch_s_data_loader(path: pathlib.Path, cifar: Any, num_workers: int) -> None:
    loader = DataLoader(DTSDataset(path, PILToTensor()), batch_size=8, num_workers=num_workers)
    images, labels = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert np.array_equal(images.numpy().transpose(0, 2, 3, 1), cifar.data)
    assert labels.tolist() == cifar.targets


@pytest.mark.parametrize("verify", ["blocks", "file"])
@pytest.mark.parametrize("kind", [DTSDataset, DTSIterableDataset])
def test_damage_is_found_at_once(path: pathlib.Path, kind: Any, verify: Any) -> None:
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="CRC-32"):
        kind(path, verify=verify)
    assert len(kind(path, verify=False)) == NUM_SAMPLES


@pytest.mark.parametrize("window", [1, 16, "all"])
def test_an_epoch_is_uniform_whatever_the_window(path: pathlib.Path, cifar: Any, window: Any) -> None:
    stream = DTSIterableDataset(path, seed=5, shuffle_window=window)
    for epoch in range(2):
        items = list(stream)
        numbers = numbers_of([image for image, _ in items], cifar)
        assert numbers == uniform(5, epoch)
        assert [label for _, label in items] == [cifar.targets[i] for i in numbers]
    stream.set_epoch(9)
    assert numbers_of([image for image, _ in stream], cifar) == uniform(5, 9)
    assert "Order: shuffled, seed 5, uniform" in repr(stream)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("num_replicas", [1, 2, 3, 30])
def test_ranks_share_an_epoch(path: pathlib.Path, cifar: Any, shuffle: bool, num_replicas: int) -> None:
    whole = uniform(3, 0) if shuffle else list(range(NUM_SAMPLES))
    longest = -(-NUM_SAMPLES // num_replicas)
    for rank in range(num_replicas):
        stream = DTSIterableDataset(path, shuffle=shuffle, seed=3, num_replicas=num_replicas, rank=rank)
        numbers = numbers_of([image for image, _ in stream], cifar)
        assert len(numbers) == len(stream) == longest
        first, end = (place * NUM_SAMPLES // num_replicas for place in (rank, rank + 1))
        # A short rank delivers its first sample once more, or the one where its range would begin.
        filler = [] if end - first == longest else [whole[first]]
        assert numbers == whole[first:end] + filler


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_workers_share_an_epoch(
    path: pathlib.Path, cifar: Any, num_workers: int, batch_size: int | None
) -> None:
    stream = DTSIterableDataset(path, seed=1, batch_size=batch_size)
    loader = DataLoader(stream, batch_size=4, num_workers=num_workers, collate_fn=list)
    batches = [numbers_of([image for image, _ in batch], cifar) for batch in loader]
    order = uniform(1, 0)
    if batch_size is not None or num_workers < 2:
        assert batches == [order[i : i + 4] for i in range(0, NUM_SAMPLES, 4)]
    assert Counter(number for batch in batches for number in batch) == Counter(range(NUM_SAMPLES))


def test_transforms_and_types_of_the_stream(tmp_path: pathlib.Path) -> None:
    source = array_set(MNIST, 6)
    path = torch_dts.convert(source, tmp_path / "a.dts")
    stream = DTSIterableDataset(path, lambda image: image, lambda label: label + 100, shuffle=False)
    assert isinstance(stream, IterableDataset)
    items = list(stream)
    assert all(isinstance(image, Image.Image) and image.mode == "L" for image, _ in items)
    assert [label for _, label in items] == [label + 100 for label in source.targets.tolist()]
    assert all(type(label) is int for _, label in items)
    assert stream.classes == source.classes


def test_the_data_pipe(path: pathlib.Path, cifar: Any) -> None:
    datapipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    pipe = datapipes.IterableWrapper([path]).read_dts(shuffle=True, seed=4)
    assert numbers_of([image for image, _ in pipe], cifar) == uniform(4, 0)


def test_read_sample(path: pathlib.Path, one_block: pathlib.Path, cifar: Any) -> None:
    with torch_dts.open(path) as file:
        assert bytes(read_sample(file, -1)) == cifar.data[22].tobytes()
        assert [bytes(data) for data in read_samples(file, [3, 3, 0])] == [
            cifar.data[i].tobytes() for i in (3, 3, 0)
        ]
        with pytest.raises(IndexError, match="sample -24 is out of range"):
            read_sample(file, -24)
    with torch_dts.open(one_block) as file:
        assert read_sample(file, 2) == file.read(2)
        assert read_samples(file, [1, 0]) == [file.read(1), file.read(0)]


def test_share_of_epoch() -> None:
    shares = [list(share_of_epoch(10, EpochOrder(False), Share(w, 2, 3, 1))) for w in range(2)]
    # Position 0 is another stream's; batches of three: (., 0, 1) (2, 3, 4) (5, 6, 7) (8, 9).
    assert shares == [[0, 1, 5, 6, 7], [2, 3, 4, 8, 9]]
    assert list(share_of_epoch(0, EpochOrder(), Share())) == []
    assert list(share_of_epoch(1, EpochOrder(), Share())) == [0]
