# SPDX-License-Identifier: Apache-2.0
"""Folders and flat archives whose labels come from elsewhere."""

from __future__ import annotations

import filecmp
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from tars import tar_of

import torch_dts
from torch_dts.convert._labelled import open_labelled
from torch_dts.convert._labels import read_labels

Make = Callable[..., pathlib.Path]


@pytest.fixture
def flat(image_folder: Make, tmp_path: pathlib.Path) -> pathlib.Path:
    """ILSVRC2012_val_1.jpg ... without class folders, and a label file."""
    root = tmp_path / "val"
    root.mkdir()
    for i, path in enumerate(sorted(image_folder().rglob("*.jpg"))):
        path.rename(root / f"ILSVRC2012_val_{i}.jpg")
    (root / "readme.txt").write_text("no image")
    rows = "".join(f"ILSVRC2012_val_{i}.jpg,n{i % 2}\n" for i in (4, 2, 0, 1, 3))
    (tmp_path / "labels.csv").write_text(rows)
    return root


def test_a_flat_folder_and_its_archive(flat: pathlib.Path, tmp_path: pathlib.Path) -> None:
    labels = tmp_path / "labels.csv"
    report = torch_dts.convert(flat, labels=labels)
    with torch_dts.open(report) as file:
        assert list(file.paths) == [f"ILSVRC2012_val_{i}.jpg" for i in range(5)]
        assert (file.classes, file.labels.tolist()) == (["n0", "n1"], [0, 1, 0, 1, 0])
        assert not file.header.is_training
        assert bytes(file.read(2)) == (flat / "ILSVRC2012_val_2.jpg").read_bytes()
    for options in ({}, {"prefix": "./"}):
        archive = tar_of(tmp_path / "ILSVRC2012_img_val.tar", flat, **options)
        torch_dts.convert(archive, tmp_path / "x.dts", labels=str(labels), overwrite=True)
        assert filecmp.cmp(report, tmp_path / "x.dts", shallow=False)
    numbers: Any = {"n1": 0, "n0": 1, "n2": 2}
    with torch_dts.open(
        torch_dts.convert(archive, tmp_path / "y.dts", labels=labels, class_to_idx=numbers)
    ) as file:
        assert (file.classes, file.labels.tolist()) == (["n1", "n0", "n2"], [1, 0, 1, 0, 1])


def test_class_folders_may_get_other_labels(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    report = torch_dts.convert(root, tmp_path / "x.dts", labels=[4, 3, 2, 1, 0])
    with torch_dts.open(report) as file:
        assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]
        assert file.labels.tolist() == [4, 3, 2, 1, 0]
    assert torch_dts.verify(report).ok


def test_labels_that_do_not_fit_write_nothing(flat: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (flat / "new.jpg").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"the label file '.*labels\.csv' does not fit .*: no label for 1 file .*new\.jpg"
    ):
        torch_dts.convert(flat, labels=tmp_path / "labels.csv")
    assert not list(tmp_path.glob("*.dts"))


def test_nothing_to_label(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no image in it"):
        torch_dts.convert(tmp_path / "empty", labels=[])
    with pytest.raises(FileNotFoundError, match="no such folder"):
        open_labelled(str(tmp_path / "none"), read_labels([]))
