# SPDX-License-Identifier: Apache-2.0
"""Files of archives in ImageFolder's order."""

from __future__ import annotations

import os
import pathlib

import pytest
import torch
from torchvision.datasets import ImageFolder

from torch_dts.convert._archive_list import Listing
from torch_dts.convert._archive_tree import arrange, check_classes, says_val, sort_key

NAMES = [
    "b/1.jpg",
    "a/2.jpg",
    "a/10.jpg",
    "a/s/1.jpg",
    "a/s.x/1.jpg",
    "a b/3.jpg",
    "a.b/c/d/4.png",
    "é/5.jpg",
]


def listing(names: list[str], folders: tuple[str, ...] = ()) -> Listing:
    place = torch.zeros((len(names), 3), dtype=torch.int64)
    return Listing(["x.tar"], torch.zeros((1, 2)), list(names), place, folders=list(folders))


def test_the_order_is_imagefolder_s(tmp_path: pathlib.Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    folder = ImageFolder(str(tmp_path))
    tree = arrange(listing([*NAMES, "top.jpg", "a/x.txt"]), None, is_flat=False)
    assert tree.names == [os.path.relpath(path, tmp_path) for path, _ in folder.samples]
    assert [NAMES[i] for i in tree.numbers] == tree.names
    assert (tree.classes, tree.labels()) == (folder.classes, folder.targets)


def test_images_without_class_folders_come_first() -> None:
    tree = arrange(listing(["b/1.jpg", "z.jpg", "a.jpg"]), None, is_flat=True)
    assert tree.names == ["a.jpg", "z.jpg", "b/1.jpg"]
    assert sort_key("a.jpg") < sort_key("a/b.jpg")


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        (["r/a/1.jpg", "r/b/2.jpg"], "r/"),
        (["r/s/a/1.jpg", "r/s/b/c/2.jpg"], "r/s/"),
        (["r/a/1.jpg", "q/b/2.jpg"], ""),
        (["r/a/1.jpg", "r/2.jpg"], ""),
    ],
)
def test_folders_that_hold_all(names: list[str], folder: str) -> None:
    assert arrange(listing(names, ("r", "r/empty")), None, is_flat=False).folder == folder


def test_folders_without_images() -> None:
    tree = arrange(listing(["r/a/1.jpg", "r/note/x.txt"], ("r", "r/empty", "other")), None, is_flat=False)
    assert tree.classes == ["a", "empty", "note"]
    with pytest.raises(FileNotFoundError, match="no image in 'empty', 'note'"):
        check_classes(tree, "x.tar")


def test_splits() -> None:
    names = ["train/a/1.jpg", "val/a/2.jpg", "test/a/3.jpg"]
    assert arrange(listing(names), "train", is_flat=False).names == ["a/1.jpg"]
    with pytest.raises(ValueError, match=r"split='val' fits 2 of them, or unpack it"):
        arrange(listing(names), "val", is_flat=False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("val", True), ("img_val", True), ("a-Test.1", True), ("valley", False), ("train", False)],
)
def test_names_of_validation_sets(name: str, expected: bool) -> None:
    assert says_val([name]) is expected
