# SPDX-License-Identifier: Apache-2.0
"""The datasets over a set of volumes: as over one file with the same blocks."""

import itertools
import pickle

import pytest
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

import torch_dts
from torch_dts import DTSDataset, DTSIterableDataset, _native


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from PIL import Image

    root = tmp_path_factory.mktemp("pictures") / "images"
    generator = torch.Generator().manual_seed(1)
    for name, count in {"a": 9, "b": 8}.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = torch.randint(0, 256, (8, 8, 3), dtype=torch.uint8, generator=generator)
            Image.fromarray(pixels.numpy()).save(root / name / f"{i}.png")
    return root


@pytest.fixture(scope="module")
def volumes(folder, tmp_path_factory):
    """Four volumes of a block each."""
    path = tmp_path_factory.mktemp("volumes") / "x.dts"
    return torch_dts.convert(folder, path, num_volumes=4, progress=False).paths


def documented_order(file, seed, epoch, window):
    """docs/format.md section 5: one list of blocks."""
    sizes = file.block_table.num_samples
    assert sizes.tolist() == [4, 4, 4, 5]
    return file.source_index[_native.sample_order(sizes, seed, epoch, window)].tolist()


def delivered(dataset, expected):
    """The source indices of what a stream delivers, known by their pixels."""
    index_of = {image.tobytes(): i for i, (image, _) in enumerate(expected)}
    return [index_of[image.tobytes()] for image, _ in dataset]


def test_map_style(folder, volumes):
    expected = ImageFolder(folder)
    dataset = DTSDataset(volumes[0], ToTensor(), root=str(folder))
    assert dataset.samples == expected.samples
    loader = DataLoader(dataset, batch_size=5, num_workers=2, multiprocessing_context="fork")
    images = torch.cat([images for images, _ in loader])
    assert torch.equal(images, torch.stack([ToTensor()(image) for image, _ in expected]))
    again = pickle.loads(pickle.dumps(dataset))
    assert torch.equal(again[7][0], images[7])


@pytest.mark.parametrize("window", [1, 2, 16, "all"])
def test_the_stream_is_that_of_one_list_of_blocks(folder, volumes, window):
    expected = ImageFolder(folder)
    dataset = DTSIterableDataset(volumes[0], seed=3, shuffle_window=window)
    for epoch in range(2):
        order = documented_order(dataset.file, 3, epoch, 0 if window == "all" else window)
        assert sorted(order) == list(range(17))
        assert delivered(dataset, expected) == order
    stored = DTSIterableDataset(volumes[0], shuffle=False)
    assert delivered(stored, expected) == dataset.file.source_index.tolist()


def test_ranks_and_workers(folder, volumes):
    expected = ImageFolder(folder)
    order = documented_order(torch_dts.open(volumes[0]), 5, 0, 2)
    parts = [
        delivered(DTSIterableDataset(volumes[0], seed=5, shuffle_window=2, num_replicas=3, rank=r), expected)
        for r in range(3)
    ]
    assert [len(part) for part in parts] == [6, 6, 6]
    assert parts[0][5] == parts[0][0]  # 17 of 18: the first rank's first sample fills it up
    assert sorted(itertools.chain(parts[0][:5], *parts[1:])) == list(range(17))
    assert set(parts[0]) <= set(order[:12])
    labelled = DTSIterableDataset(volumes[0], ToTensor(), seed=5, shuffle_window=2, batch_size=4)
    batches = [labels.tolist() for _, labels in DataLoader(labelled, batch_size=4, num_workers=2)]
    targets = [expected.targets[i] for i in order]
    assert batches == [targets[i : i + 4] for i in range(0, 17, 4)]


def test_the_datapipe_reads_each_file_by_itself(volumes):
    pytest.importorskip("torch.utils.data.datapipes")
    from torch.utils.data.datapipes.iter import IterableWrapper

    assert len(list(IterableWrapper(list(volumes)).read_dts())) == 17
    assert len(list(IterableWrapper([volumes[0]]).read_dts())) == 4
    assert len(list(IterableWrapper([volumes[0].replace("00000", "*", 1)]).read_dts())) == 17
