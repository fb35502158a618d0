# SPDX-License-Identifier: Apache-2.0
"""Bad samples of datasets that are read in Python: a black image through the user's transform."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from loader_sets import photo
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader, pil_loader

import torch_dts
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._replacing import ReplacingLoader, can_replace, new_counts, with_replacing

NUM_SAMPLES = 8
BAD = {2: "cut", 5: "text", 7: "gone"}


class Lighter(torch.nn.Module):
    """An operation of the user's own."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image + 0.25


OWN = transforms.Compose([transforms.Resize((20, 16)), transforms.ToTensor(), Lighter()])


@pytest.fixture
def damaged(tmp_path: pathlib.Path) -> ImageFolder:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for number in range(NUM_SAMPLES):
        photo(number, (30 + number, 24)).save(tmp_path / "ab"[number // 4] / f"{number}.jpg")
    dataset = ImageFolder(tmp_path, OWN)
    for number in BAD:
        path = pathlib.Path(dataset.samples[number][0])
        data = path.read_bytes()
        if BAD[number] == "gone":
            path.unlink()
        else:
            scan = data.index(b"\xff\xda")
            path.write_bytes(data[: scan + 20] if BAD[number] == "cut" else b"<html>")
    return dataset


def expected(dataset: ImageFolder, index: int) -> torch.Tensor:
    image = Image.new("RGB", (9, 9)) if index in BAD else pil_loader(dataset.samples[index][0])
    return OWN(image)


@pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_black_image_goes_through_the_transform(num_workers: int, damaged: ImageFolder) -> None:
    loader = DataLoader(damaged, 3, num_workers=num_workers, on_error="replace")
    for epoch in (1, 2):
        batches = list(loader) if num_workers or epoch == 2 else warned_once(loader)
        images, labels = (torch.cat(column) for column in zip(*batches, strict=True))
        assert labels.tolist() == damaged.targets
        for index in range(NUM_SAMPLES):
            assert torch.equal(images[index], expected(damaged, index))
        assert loader.stats().num_replaced == epoch * len(BAD)
    assert damaged.loader is default_loader  # the user's own dataset is as it was


def warned_once(loader: DataLoader) -> list[Any]:
    with pytest.warns(UserWarning, match="replaced by a black image: .*2.jpg") as warned:
        batches = list(loader)
    assert len([warning for warning in warned if "replaced" in str(warning.message)]) == 1
    return batches


@pytest.mark.filterwarnings("ignore")
def test_errors_of_the_transform_are_raised(damaged: ImageFolder) -> None:
    def fail(image: Any) -> Any:
        raise KeyError("mine")

    damaged.transform = fail
    with pytest.raises(KeyError, match="mine"):
        next(iter(DataLoader(damaged, 3, num_workers=0, on_error="replace")))


@pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")
def test_a_dts_file(damaged: ImageFolder, tmp_path: pathlib.Path) -> None:
    pathlib.Path(damaged.samples[7][0]).write_bytes(b"")
    path = torch_dts.convert(damaged, tmp_path / "x.dts", check="none", progress=False)
    nested = ConcatDataset([Subset(torch_dts.DTSDataset(path, OWN), [5, 0]), damaged])
    loader = DataLoader(nested, 2, num_workers=0, on_error="replace")
    with pytest.warns(UserWarning, match="replaced by a black image"):
        images, labels = next(iter(loader))
    assert torch.equal(images[0], torch.full((3, 20, 16), 0.25))
    assert torch.equal(images[1], expected(damaged, 0))
    assert labels.tolist() == [1, 0]


def test_sizes_of_black_images(damaged: ImageFolder) -> None:
    loader = ReplacingLoader(pil_loader, counts := new_counts(3))
    cut, text = damaged.samples[2][0], damaged.samples[5][0]
    with pytest.warns(UserWarning, match="black image"):
        assert loader(text).size == (256, 256)
    assert loader(cut).size == (32, 24)  # the header's
    assert loader(damaged.samples[3][0]).size == (33, 24)
    assert loader(text).size == (33, 24)  # the one before
    assert loader(text).getextrema() == ((0, 0),) * 3
    assert counts.tolist() == [4, 0, 0, 0]


def test_which_datasets_have_loaders_of_ours(damaged: ImageFolder) -> None:
    class Other(Dataset[Any]):
        loader = staticmethod(pil_loader)

    own = ImageFolder(damaged.root, loader=lambda path: path)
    assert can_replace(ConcatDataset([damaged, Subset(damaged, [1])]))
    assert not can_replace(ConcatDataset([damaged, own]))
    assert not can_replace(Other())
    copied = with_replacing(Subset(damaged, [1]), new_counts(0))
    assert type(copied.dataset.loader) is ReplacingLoader
    assert damaged.loader is default_loader
