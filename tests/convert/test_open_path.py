# SPDX-License-Identifier: Apache-2.0
"""What a path given to convert() is."""

from __future__ import annotations

import filecmp
import os
import pathlib
from collections.abc import Callable

import pytest
from tars import write_tar

import torch_dts
from torch_dts.convert._archives import ArchiveSource
from torch_dts.convert._labelled import LabelledFolder
from torch_dts.convert._open_path import open_path

Make = Callable[..., pathlib.Path]


def test_folders_and_data_sets_stay_what_they_are(image_folder: Make) -> None:
    for source in (image_folder(), str(image_folder()), "/none", [("x", 0)], []):
        assert open_path(source, None, None) is source


def test_archives(tmp_path: pathlib.Path) -> None:
    path = str(write_tar(tmp_path / "x.tar", []))
    for source in (path, pathlib.Path(path), os.fsencode(path), [path]):
        found = open_path(source, ["a"], "val")
        assert isinstance(found, ArchiveSource)
        assert (found.kind, list(found.reads), found.beside) == ("LabelledFolder", [path], path[:-4])
        assert (found.split, found.labels and found.labels.labels) == ("val", ["a"])
    assert open_path(path, None, None).kind == "ImageFolder"


def test_labels_are_for_paths(image_folder: Make) -> None:
    root = image_folder()
    found = open_path(root, ["a"], None)
    assert isinstance(found, LabelledFolder)
    assert (found.root, found.beside) == (str(root), str(root))
    with pytest.raises(
        ValueError, match="labels= is for a folder's path and for archives; dict has labels of its own"
    ):
        open_path({}, [1], None)


def test_dts_files(image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path) -> None:
    """A file, or a set of volumes by its first file, folder or glob, is taken as DTSDataset takes it."""
    root = image_folder(classes={"a": 3, "b": 2})
    (tmp_path / "sets").mkdir()
    one = torch_dts.convert(root, tmp_path / "one.dts")
    torch_dts.convert(root, tmp_path / "sets" / "q.dts", num_volumes=2)
    expected = torch_dts.convert(torch_dts.DTSDataset(one), tmp_path / "x.dts")
    again = torch_dts.convert(os.fspath(one), tmp_path / "y.dts", overwrite=True)
    assert filecmp.cmp(expected, again, shallow=False)
    for source in ("", "q-00000-of-00002.dts", "q-*.dts"):
        path = tmp_path / "sets" / source
        expected = torch_dts.convert(torch_dts.DTSDataset(path), tmp_path / "x.dts", overwrite=True)
        assert expected.num_samples == 5
        assert filecmp.cmp(expected, torch_dts.convert(path, again, overwrite=True), shallow=False)
    with pytest.raises(ValueError, match=r"would overwrite '.*one\.dts', which the source reads"):
        torch_dts.convert(one, one)
    with pytest.raises(ValueError, match=r"labels= is for folders and.*; a \.dts file holds labels"):
        torch_dts.convert(one, tmp_path / "z.dts", labels=[1])
    with pytest.raises(TypeError, match=r"'.*one\.dts' is no tar archive; join data sets with torch"):
        torch_dts.convert([one, one], tmp_path / "z.dts")
    (tmp_path / "empty.dts").write_bytes(b"")
    with pytest.raises(torch_dts.CorruptFileError, match=r"empty\.dts"):
        torch_dts.convert(tmp_path / "empty.dts", tmp_path / "z.dts")
