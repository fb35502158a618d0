# SPDX-License-Identifier: Apache-2.0
"""convert() over data sets that are no folder."""

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
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision.datasets import ImageFolder

import torch_dts

Make = Callable[..., pathlib.Path]


class Opened(Dataset[Any]):
    """Items of an ImageFolder in another shape; each may be asked for once."""

    def __init__(self, folder: ImageFolder, shape: Callable[[str], Any]) -> None:
        self.classes = folder.classes
        self._samples = folder.samples
        self._shape = shape
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        assert index not in self._asked, "an item may be asked for once only"
        self._asked.add(index)
        path, label = self._samples[index]
        return self._shape(path), np.int64(label)


def read(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        (pathlib.Path, ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]),
        (read, None),
        (lambda path: torch.tensor(list(read(path)), dtype=torch.uint8), None),
        (Image.open, None),
    ],
)
def test_bytes_are_kept(
    image_folder: Make, tmp_path: pathlib.Path, shape: Callable[[str], Any], names: list[str] | None
) -> None:
    folder = ImageFolder(image_folder())
    report = torch_dts.convert(Opened(folder, shape), tmp_path / "x.dts")
    with torch_dts.open(report) as file:
        assert [bytes(file.read(i)) for i in range(5)] == [read(path) for path, _ in folder.samples]
        assert file.labels.tolist() == folder.targets
        assert file.classes == ["a", "b"]
        if names is None:
            names = ["a/00000000.jpg", "a/00000001.jpg", "a/00000002.jpg", "b/00000003.jpg", "b/00000004.jpg"]
        assert list(file.paths) == names
        assert file.info["source"] == {"kind": "Opened", "num_samples": 5, "num_skipped": 0, "num_encoded": 0}
        assert file.info["bytes_kept"] is True
    assert os.listdir(tmp_path).count("x.dts") == 1
    assert torch_dts.verify(report).ok


def test_loaded_images_become_png(image_folder: Make, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder(), transform=lambda image: image.resize((7, 5)))
    pairs = [folder[i] for i in range(len(folder))]
    with pytest.warns(UserWarning, match="5 PIL images were stored as PNG") as caught:
        report = torch_dts.convert(pairs, tmp_path / "x.dts")
    assert len(caught) == 1
    assert report.num_encoded == 5
    assert "  as PNG    5 PIL images" in str(report).splitlines()
    with torch_dts.open(report) as file:
        assert file.info["bytes_kept"] is False
        assert file.info["source"]["num_encoded"] == 5
        assert file.classes == ["0", "1"]
        assert file.header.max_pic_area == 35
        for i, (image, label) in enumerate(pairs):
            stored = Image.open(io.BytesIO(file.read(i)))
            assert (stored.format, stored.size) == ("PNG", (7, 5))
            assert stored.tobytes() == image.tobytes()
            assert int(file.labels[i]) == label


def test_folders_and_bytes_joined(image_folder: Make, tmp_path: pathlib.Path) -> None:
    first, second = ImageFolder(image_folder()), ImageFolder(image_folder(seed=9))
    source = Subset(ConcatDataset([first, Opened(second, read)]), [9, 0, 5, 3])
    expected = [second.samples[4], first.samples[0], second.samples[0], first.samples[3]]
    with torch_dts.open(torch_dts.convert(source, tmp_path / "x.dts")) as file:
        assert [bytes(file.read(i)) for i in range(4)] == [read(path) for path, _ in expected]
        assert file.labels.tolist() == [label for _, label in expected]
        assert list(file.paths) == ["b/00000000.jpg", "a/0.jpg", "a/00000002.jpg", "b/0.jpg"]


def test_two_runs_over_spooled_samples_are_equal(image_folder: Make, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder(classes={"a": 30, "b": 30}))
    for name, num_workers in (("x.dts", 1), ("y.dts", 4)):
        torch_dts.convert(Opened(folder, read), tmp_path / name, num_workers=num_workers)
    assert (tmp_path / "x.dts").read_bytes() == (tmp_path / "y.dts").read_bytes()


def test_the_same_sample_twice(image_folder: Make, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder())
    with pytest.raises(ValueError, match=r"samples 0 and 2 of the source have the same path 'a/1\.jpg'"):
        torch_dts.convert(Subset(folder, [1, 0, 1]), tmp_path / "x.dts")


def test_items_that_can_t_be_read(image_folder: Make, tmp_path: pathlib.Path) -> None:
    def refuse_one(path: str) -> bytes:
        if path.endswith("a/1.jpg"):
            raise OSError("bad sector")
        return read(path)

    folder = ImageFolder(image_folder())
    with pytest.raises(ValueError, match=r"\(sample 1\): Opened\[1\] raised OSError: bad sector"):
        torch_dts.convert(Opened(folder, refuse_one), tmp_path / "x.dts")
    report = torch_dts.convert(Opened(folder, refuse_one), tmp_path / "x.dts", on_error="skip")
    assert [bad.index for bad in report.skipped] == [1]
    with torch_dts.open(report) as file:
        assert file.labels.tolist() == [0, 0, 1, 1]


def test_a_wrong_item_names_its_index(image_folder: Make, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder())
    source = Opened(folder, lambda path: torch.zeros(3, 4, 4) if "b/" in path else read(path))
    with pytest.raises(TypeError, match=r"Opened\[3\]: .* found Tensor of shape \(3, 4, 4\)"):
        torch_dts.convert(source, tmp_path / "x.dts")
    assert not (tmp_path / "x.dts").exists()
