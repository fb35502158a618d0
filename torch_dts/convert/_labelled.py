# SPDX-License-Identifier: Apache-2.0
"""A folder of images whose labels come from elsewhere: flat, or of any depth."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass

from torch_dts._paths import display
from torch_dts.convert._archive_tree import sort_key
from torch_dts.convert._classes import settle_classes
from torch_dts.convert._folder import GivenPath, check_listable, check_root, image_extensions, is_val_name
from torch_dts.convert._labels import LabelTable
from torch_dts.convert._names import check_paths
from torch_dts.convert._samples import Samples


@dataclass(frozen=True, eq=False)
class LabelledFolder(GivenPath):
    """All images below a folder.

    Attributes:
        root: The folder.
        labels: Their labels.
    """

    root: str
    labels: LabelTable


def open_labelled(root: str, labels: LabelTable) -> LabelledFolder:
    """A source of the images below `root`.

    Raises:
        OSError: It is no folder.
    """
    check_root(root)
    return LabelledFolder("LabelledFolder", root, (), root, labels)


def list_labelled_samples(source: LabelledFolder, *, class_to_idx: Mapping[str, int] | None) -> Samples:
    """Lists the images, class folders first sorted, then folders, then names.

    Raises:
        ValueError: Labels that don't fit.
        OSError: No image, or a folder that can't be listed.
    """
    check_listable(source.root)
    names = _images_below(source.root)
    if not names:
        endings = ", ".join(image_extensions())
        raise FileNotFoundError(errno.ENOENT, f"no image in it (of {endings})", display(source.root))
    check_paths(names)
    labels, classes = source.labels.match(names, class_to_idx)
    labels, class_names = settle_classes(labels, classes, class_to_idx)
    return Samples(
        kind=source.kind,
        files=[os.path.join(source.root, name) for name in names],
        labels=labels,
        classes=class_names,
        names=names,
        root=source.root,
        says_val=is_val_name(source.root),
    )


def _images_below(root: str) -> list[str]:
    """Relative paths, sorted."""
    extensions = image_extensions()
    found = []
    for folder, _, files in os.walk(root, followlinks=True):
        below = os.path.relpath(folder, root)
        prefix = "" if below == os.curdir else f"{below.replace(os.sep, '/')}/"
        found += [f"{prefix}{name}" for name in files if name.lower().endswith(extensions)]
    return sorted(found, key=sort_key)
