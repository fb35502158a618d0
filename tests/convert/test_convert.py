# SPDX-License-Identifier: Apache-2.0
"""convert(): what the file holds, by value."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
from collections.abc import Callable

import pytest
import torch
from torchvision.datasets import ImageFolder

import torch_dts

Make = Callable[..., pathlib.Path]


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_is_folder(file: str | os.PathLike[str], folder: ImageFolder) -> None:
    """Every stored sample is the folder's, byte for byte and in its order."""
    with torch_dts.open(file) as opened:
        assert len(opened) == len(folder)
        assert opened.classes == folder.classes
        assert opened.class_to_idx == folder.class_to_idx
        assert opened.labels.tolist() == folder.targets
        assert list(opened.paths) == [os.path.relpath(path, folder.root) for path, _ in folder.samples]
        for i, (path, _) in enumerate(folder.samples):
            data = pathlib.Path(path).read_bytes()
            assert hashlib.sha256(opened.read(i)).digest() == hashlib.sha256(data).digest()
    assert torch_dts.verify(file).ok


@pytest.fixture
def big_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Four blocks' worth of files that are no images (for check="none")."""
    root = tmp_path / "big"
    for number in range(9):
        path = root / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom((6 << 20) + number))
    return root


def test_bytes_classes_and_order(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"10": 3, "2": 4, "b/deep": 2})
    report = torch_dts.convert(root, tmp_path / "x.dts")
    assert_is_folder(report, ImageFolder(root))
    assert report.path == str(tmp_path / "x.dts")
    assert (report.num_samples, report.num_classes, report.num_blocks) == (9, 3, 1)
    sizes = [os.path.getsize(path) for path, _ in ImageFolder(root).samples]
    assert report.source_bytes == sum(sizes)
    assert report.file_bytes == os.path.getsize(report) == 32 << 20
    assert report.room_bytes == (16 << 20) - 4096 - sum((size + 63) // 64 * 64 for size in sizes)
    assert (report.skipped, report.kept_bad, report.num_missing_eoi) == ((), (), 0)
    assert report.seconds > 0


def test_header_and_info(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(size=(64, 33))
    with torch_dts.open(torch_dts.convert(ImageFolder(root), tmp_path / "x.dts", seed=7)) as file:
        header = file.header
        assert (header.version, header.compress_level, header.is_training) == ((3, 0, 0, 0), 0, 1)
        assert (header.num_samples, header.num_classes, header.num_blocks) == (5, 2, 1)
        assert (header.max_pic_area, header.max_pic_per_block) == (64 * 33, 5)
        assert header.total_bytes == os.path.getsize(tmp_path / "x.dts")
        assert file.info["source"] == {
            "kind": "ImageFolder",
            "num_samples": 5,
            "num_skipped": 0,
            "num_encoded": 0,
        }
        assert (file.info["order"], file.info["seed"], file.info["check"]) == ("shuffled", 7, "header")
        assert file.info["bytes_kept"] is True


def test_any_number_of_workers_and_any_run_gives_the_same_file(
    big_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    paths = [tmp_path / f"{i}.dts" for i in range(3)]
    for path, num_workers in zip(paths, (1, 4, 4), strict=True):
        assert torch_dts.convert(big_folder, path, check="none", num_workers=num_workers).num_blocks > 3
    assert len({sha256(path) for path in paths}) == 1
    assert_is_folder(paths[0], ImageFolder(big_folder))


def test_a_path_and_its_image_folder_give_the_same_file(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    torch_dts.convert(str(root), tmp_path / "a.dts")
    torch_dts.convert(ImageFolder(root), tmp_path / "b.dts")
    assert sha256(tmp_path / "a.dts") == sha256(tmp_path / "b.dts")


def test_the_place_of_the_source_does_not_matter(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    shutil.copytree(root, tmp_path / "elsewhere" / "set")
    torch_dts.convert(root, tmp_path / "a.dts")
    torch_dts.convert(tmp_path / "elsewhere" / "set", tmp_path / "b.dts")
    assert sha256(tmp_path / "a.dts") == sha256(tmp_path / "b.dts")


def test_orders(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 20, "b": 20})
    orders = []
    for i, options in enumerate([{"order": "source"}, {"seed": 1}, {"seed": 2}]):
        report = torch_dts.convert(root, tmp_path / f"{i}.dts", **options)
        with torch_dts.open(report) as file:
            orders.append(file.source_index.tolist())
        assert_is_folder(report, ImageFolder(root))
    assert orders[0] == list(range(40))
    assert sorted(orders[1]) == list(range(40))
    assert len({tuple(order) for order in orders}) == 3


def test_beside_the_folder_and_as_a_path(image_folder: Make) -> None:
    root = image_folder()
    report = torch_dts.convert(root)
    assert report.path == f"{root}.dts"
    assert len(torch_dts.DTSDataset(report)) == 5


@pytest.mark.parametrize(
    ("name", "split", "is_training"),
    [("val", None, 0), ("Validation", None, 0), ("train", None, 1), ("val", "train", 1), ("train", "val", 0)],
)
def test_split(
    image_folder: Make, tmp_path: pathlib.Path, name: str, split: str | None, is_training: int
) -> None:
    root = image_folder().rename(tmp_path / name)
    with torch_dts.open(torch_dts.convert(root, split=split)) as file:
        assert file.header.is_training == is_training


def test_a_subset_of_a_validation_folder_is_one(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder().rename(tmp_path / "val")
    subset = torch.utils.data.Subset(ImageFolder(root), [1, 4])
    with torch_dts.open(torch_dts.convert(subset, tmp_path / "x.dts")) as file:
        assert file.header.is_training == 0
        assert list(file.paths) == ["a/1.jpg", "b/1.jpg"]
        assert file.labels.tolist() == [0, 1]


def test_class_to_idx_shared_by_two_sets(image_folder: Make, tmp_path: pathlib.Path) -> None:
    train, val = image_folder(classes={"a": 1, "b": 1, "c": 1}), image_folder(classes={"c": 2})
    numbers = ImageFolder(train).class_to_idx
    with torch_dts.open(torch_dts.convert(val, tmp_path / "val.dts", class_to_idx=numbers)) as file:
        assert file.classes == ["a", "b", "c"]
        assert file.labels.tolist() == [2, 2]
        assert file.header.num_classes == 3
    with pytest.raises(ValueError, match="lacks the source's class 'c'"):
        torch_dts.convert(train, tmp_path / "x.dts", class_to_idx={"a": 0, "b": 1})


def test_empty_classes_keep_their_number(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"1": 1, "10": 1, "2": 1})
    (root / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no image in 'empty'; allow_empty=True"):
        torch_dts.convert(root, tmp_path / "x.dts")
    report = torch_dts.convert(root, tmp_path / "x.dts", allow_empty=True)
    with torch_dts.open(report) as file:
        assert file.class_to_idx == {"1": 0, "10": 1, "2": 2, "empty": 3}
        assert file.header.num_classes == report.num_classes == 4


def test_names(image_folder: Make, tmp_path: pathlib.Path) -> None:
    """Every name that the file system takes; what counts as an image is ImageFolder's choice."""
    root = image_folder(classes={"猫": 1, ".hidden": 1})
    data = (root / "猫" / "0.jpg").read_bytes()
    names = [
        b"\xff\xe9.jpg",
        b"a" * 251 + b".jpg",
        b"22.05.png",
        b"UPPER.JPEG",
        b".dot.jpg",
        b"a\nb.jpg",
        b"x .jpg",
    ]
    for name in (*names, b"no.gif", b"no.jpg.bak"):
        pathlib.Path(os.fsdecode(os.fsencode(root / "猫") + b"/" + name)).write_bytes(data)
    (root / os.fsdecode(b"\xfe")).mkdir()
    (root / os.fsdecode(b"\xfe") / "link.jpg").symlink_to(root / "猫" / "0.jpg")
    (root / "linked").symlink_to(image_folder() / "a")
    folder = ImageFolder(root)
    assert len(folder) == 1 + 1 + len(names) + 1 + 3
    report = torch_dts.convert(folder, pathlib.Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xfd.dts")))
    assert str(report).splitlines()[0] == f"wrote {tmp_path}/\\xfd.dts"
    assert_is_folder(report, folder)


def test_larger_blocks(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    with (root / "a" / "0.jpg").open("ab") as file:
        file.write(bytes(16 << 20))
    with pytest.raises(
        ValueError, match=r"block_size=32 \* 2\*\*20 or more.*\n.*a/0\.jpg \(sample 0\): 16,.* bytes, but"
    ):
        torch_dts.convert(root, tmp_path / "x.dts")
    assert not (tmp_path / "x.dts").exists()
    report = torch_dts.convert(root, tmp_path / "x.dts", block_size=32 << 20)
    assert report.file_bytes == 48 << 20
    with torch_dts.open(report) as opened:
        assert opened.block_size == 32 << 20
        assert opened.header.version == (3, 1, 0, 0)
    assert_is_folder(report, ImageFolder(root))
