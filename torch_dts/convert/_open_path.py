# SPDX-License-Identifier: Apache-2.0
"""What a path given to convert() is: archives, original files of a pixel set, or a folder."""

from __future__ import annotations

from typing import Any

from torch_dts.convert._archive_paths import archive_paths
from torch_dts.convert._archives import open_archives
from torch_dts.convert._folder import folder_root, is_path
from torch_dts.convert._labelled import open_labelled
from torch_dts.convert._labels import read_labels
from torch_dts.convert._originals import open_originals


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
