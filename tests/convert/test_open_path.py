# SPDX-License-Identifier: Apache-2.0
"""What a path given to convert() is."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest
from tars import write_tar

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
