# SPDX-License-Identifier: Apache-2.0
"""A .dts file as the source of another one."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.convert._stored import file_prefixes, nested_files, plain_file
from torch_dts.file import DTSFile

Make = Callable[..., pathlib.Path]


def contents(path: Any) -> list[tuple[bytes, str, int]]:
    with torch_dts.open(path) as file:
        columns = zip(range(len(file)), file.paths, file.labels.tolist(), strict=True)
        return [(bytes(file.read(i)), path, label) for i, path, label in columns]


@pytest.mark.parametrize("kind", [torch_dts.DTSDataset, torch_dts.open])
@pytest.mark.parametrize("check", ["header", "decode", "none"])
def test_bytes_paths_and_classes_are_taken_over(
    dts_file: Make, tmp_path: pathlib.Path, kind: Callable[..., Any], check: str
) -> None:
    path = dts_file(classes={"10": 4, "2": 3})
    report = torch_dts.convert(kind(path), tmp_path / "x.dts", seed=5, check=check)
    assert contents(report) == contents(path)
    assert report.num_encoded == 0
    with torch_dts.open(report) as file:
        assert file.classes == ["10", "2"]
        assert file.info["bytes_kept"] is True
        assert file.header.max_pic_area == 40 * 30
    assert torch_dts.verify(report).ok


def test_transforms_and_loaders_are_not_asked(dts_file: Make, tmp_path: pathlib.Path) -> None:
    def refuse(value: Any) -> Any:
        raise AssertionError("not asked")

    path = dts_file()
    source = torch_dts.DTSDataset(path, refuse, refuse, loader=refuse)
    assert contents(torch_dts.convert(source, tmp_path / "x.dts")) == contents(path)


def test_subset_and_concat(dts_file: Make, tmp_path: pathlib.Path) -> None:
    first, second = dts_file(), dts_file(seed=1)
    a, b = contents(first), contents(second)
    both = ConcatDataset([torch_dts.DTSDataset(first), torch_dts.DTSDataset(second)])
    got = contents(torch_dts.convert(Subset(both, [8, 1, 6]), tmp_path / "x.dts"))
    # Both have an a/1.jpg, so each path is put below its file's name.
    assert got == [
        (b[3][0], "set2/b/0.jpg", 1),
        (a[1][0], "set1/a/1.jpg", 0),
        (b[1][0], "set2/a/1.jpg", 0),
    ]
    got = contents(torch_dts.convert(Subset(both, [8, 1]), tmp_path / "y.dts"))
    assert got == [b[3], a[1]]


def test_joined_with_a_folder_and_bytes(dts_file: Make, image_folder: Make, tmp_path: pathlib.Path) -> None:
    class Items(Dataset[Any]):
        classes = ("a", "b")

        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> Any:
            return data, 1

    path, folder = dts_file(), ImageFolder(image_folder(seed=3))
    data = pathlib.Path(folder.samples[2][0]).read_bytes()
    source = ConcatDataset(
        [Subset(torch_dts.DTSDataset(path), [4, 0]), Subset(folder, [1]), Items()]  # type: ignore[list-item]
    )
    got = contents(torch_dts.convert(source, tmp_path / "x.dts"))
    a = contents(path)
    second = pathlib.Path(folder.samples[1][0]).read_bytes()
    assert [each[0] for each in got] == [a[4][0], a[0][0], second, data]
    assert [each[1:] for each in got] == [
        ("b/1.jpg", 1),
        ("a/0.jpg", 0),
        ("a/1.jpg", 0),
        ("b/00000003.jpg", 1),
    ]


def test_the_same_sample_twice(dts_file: Make, tmp_path: pathlib.Path) -> None:
    path = dts_file()
    twice = ConcatDataset([torch_dts.DTSDataset(path), torch_dts.DTSDataset(path)])
    with pytest.raises(ValueError, match=r"samples 0 and 5 of the source have the same path"):
        torch_dts.convert(twice, tmp_path / "x.dts")


def test_items_of_a_subclass_count(dts_file: Make, tmp_path: pathlib.Path) -> None:
    class Relabelled(torch_dts.DTSDataset):
        def __getitem__(self, index: int) -> Any:
            return bytes(self.file.read(index)), 1 - int(self.file.labels[index])

    path = dts_file()
    assert plain_file(Relabelled(path)) is None
    got = contents(torch_dts.convert(Relabelled(path), tmp_path / "x.dts"))
    assert [each[0] for each in got] == [each[0] for each in contents(path)]
    assert [each[2] for each in got] == [1, 1, 1, 0, 0]


def test_class_to_idx_and_split(dts_file: Make, image_folder: Make, tmp_path: pathlib.Path) -> None:
    val = torch_dts.convert(image_folder(), tmp_path / "val.dts", split="val")
    report = torch_dts.convert(torch_dts.open(val), tmp_path / "x.dts", class_to_idx={"b": 0, "a": 1})
    with torch_dts.open(report) as file:
        assert file.labels.tolist() == [1, 1, 1, 0, 0]
        assert file.header.is_training == 0
    report = torch_dts.convert(torch_dts.open(dts_file()), tmp_path / "y.dts")
    with torch_dts.open(report) as file:
        assert file.header.is_training == 1


def test_a_bad_image_is_found_and_left_out(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"<html>")
    first = torch_dts.convert(root, tmp_path / "x.dts", on_error="keep")
    with pytest.raises(ValueError, match=r"a/1\.jpg \(sample 1\): not an image that PIL knows"):
        torch_dts.convert(torch_dts.open(first), tmp_path / "y.dts")
    report = torch_dts.convert(torch_dts.open(first), tmp_path / "y.dts", on_error="skip")
    assert contents(report) == [each for each in contents(first) if each[1] != "a/1.jpg"]


def test_damage_is_not_copied(dts_file: Make, tmp_path: pathlib.Path) -> None:
    path = dts_file()
    with torch_dts.open(path) as file:
        sample = bytes(file.read(0))
    data = bytearray(path.read_bytes())
    data[data.index(sample) + len(sample) // 2] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(torch_dts.CorruptFileError, match=r"set1\.dts.*CRC"):
        torch_dts.convert(torch_dts.open(path), tmp_path / "x.dts")
    assert not (tmp_path / "x.dts").exists()


def test_bytes_that_were_not_kept_are_not_kept_again(image_folder: Make, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(image_folder())
    with pytest.warns(UserWarning, match="5 PIL images"):
        first = torch_dts.convert([folder[i] for i in range(5)], tmp_path / "x.dts")
    second = torch_dts.convert(torch_dts.open(first), tmp_path / "y.dts")
    assert contents(second) == contents(first)
    with torch_dts.open(second) as file:
        assert (file.info["bytes_kept"], file.info["source"]["num_encoded"]) == (False, 0)


class Wrapped(Dataset[Any]):
    """A data set around another, with items of its own."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]


@pytest.mark.parametrize(
    "nest",
    [
        lambda dataset: dataset,
        lambda dataset: dataset.file,
        lambda dataset: Subset(ConcatDataset([dataset]), [0]),
        Wrapped,
        lambda dataset: Subset(Wrapped(dataset), [0]),
    ],
)
@pytest.mark.parametrize("link", [False, True])
def test_a_source_is_never_the_output(
    dts_file: Make, tmp_path: pathlib.Path, nest: Callable[[Any], Any], link: bool
) -> None:
    path = dts_file()
    before, target = path.read_bytes(), path
    if link:
        target = tmp_path / "link.dts"
        os.link(path, target)
    with pytest.raises(ValueError, match=r"would overwrite '.*set1\.dts', which the source reads"):
        torch_dts.convert(nest(torch_dts.DTSDataset(path)), target, overwrite=True)
    assert path.read_bytes() == before


def test_a_source_called_like_the_partial_file(dts_file: Make, tmp_path: pathlib.Path) -> None:
    path = dts_file().rename(tmp_path / "x.dts.partial")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="would overwrite"):
        torch_dts.convert(torch_dts.open(path), tmp_path / "x.dts")
    assert path.read_bytes() == before


def test_nested_files_ends_on_a_circle(dts_file: Make) -> None:
    dataset = torch_dts.DTSDataset(dts_file())
    outer = Wrapped(dataset)
    dataset.dataset = outer
    assert list(nested_files(outer)) == [dataset.file]


def test_prefixes(dts_file: Make, tmp_path: pathlib.Path) -> None:
    first, second = dts_file(), dts_file(seed=1)
    files = [DTSFile(first), DTSFile(second), DTSFile(first)]
    assert file_prefixes(files) == ["set1", "set2", "set1"]
    (tmp_path / "other").mkdir()
    moved = second.rename(tmp_path / "other" / "set1.dts")
    assert file_prefixes([DTSFile(first), DTSFile(moved)]) == ["set1_0", "set1_1"]


def test_pixels_of_a_large_set_are_read_block_by_block(tmp_path: pathlib.Path) -> None:
    """More than one block, read by several threads, twice the same."""
    folder = tmp_path / "big" / "a"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"{number}.jpg").write_bytes(bytes([number]) * (6 << 20))
    first = torch_dts.convert(folder.parent, tmp_path / "x.dts", check="none")
    with torch_dts.open(first) as file:
        for name, num_workers in (("y.dts", 1), ("z.dts", 3)):
            torch_dts.convert(file, tmp_path / name, check="none", num_workers=num_workers)
    assert (tmp_path / "y.dts").read_bytes() == (tmp_path / "z.dts").read_bytes()
    assert contents(tmp_path / "y.dts") == contents(first)
    assert torch.equal(torch_dts.open(first).source_index, torch_dts.open(tmp_path / "y.dts").source_index)
