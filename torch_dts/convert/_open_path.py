# SPDX-License-Identifier: Apache-2.0
"""What a path given to convert() is: archives, original files of a pixel set, a .dts file, or a folder."""

from __future__ import annotations

import glob
import os
from typing import Any

from torch_dts.convert._archive_paths import archive_paths
from torch_dts.convert._archives import open_archives
from torch_dts.convert._folder import folder_root, is_path
from torch_dts.convert._labelled import open_labelled
from torch_dts.convert._labels import read_labels
from torch_dts.convert._originals import open_originals
from torch_dts.datasets import DTSDataset

_MAGIC = b".DTS"


def open_path(source: Any, labels: Any, split: str | None) -> Any:
    """Opens what paths name. Image folders of class folders, and all that is no path, come back as they are.

    Args:
        source: As `torch_dts.convert` takes it.
        labels: As `torch_dts.convert` takes it; None: the source has its own.
        split: "train" or "val": which one, where a source holds both.

    Raises:
        ValueError, TypeError: Compressed or pickled files, patterns and labels that don't fit.
        OSError: A file that is not there or can't be read.
        CorruptFileError: An original file of a pixel set is damaged.
    """
    table = None if labels is None else read_labels(labels)
    if is_path(source):
        originals = open_originals(str(folder_root(source)), split)
        if originals is not None:
            if table is not None:
                raise ValueError("labels= is for folders and archives of images; these files hold labels")
            return originals
        if _is_dts(str(folder_root(source))):
            if table is not None:
                raise ValueError("labels= is for folders and archives of images; a .dts file holds labels")
            return DTSDataset(source)
    archives = archive_paths(source)
    if archives is not None:
        return open_archives(archives, table, split)
    if table is None:
        return source
    if not is_path(source):
        raise ValueError(
            f"labels= is for a folder's path and for archives; {type(source).__name__} has labels of its own"
        )
    return open_labelled(str(folder_root(source)), table)


def _is_dts(path: str) -> bool:
    """True for a .dts file, and for a folder or glob that names nothing but .dts files: a set of volumes."""
    if "\0" in path:
        return False
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return path.endswith(".dts") or file.read(len(_MAGIC)) == _MAGIC
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            return _are_dts([each.name for each in entries])
    return bool(path) and not os.path.lexists(path) and glob.has_magic(path) and _are_dts(glob.glob(path))


def _are_dts(names: list[str]) -> bool:
    return bool(names) and all(name.endswith(".dts") for name in names)
