# SPDX-License-Identifier: Apache-2.0
"""`image_folder`: an ImageFolder whose listing is kept in a file from run to run."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from typing import Any

from torchvision.datasets import ImageFolder, VisionDataset
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader

_VERSION = 1
# A folder that changed so shortly before it was listed may change again under the same
# time stamp: file systems count in steps. Its listing isn't trusted next time.
_UNSURE_NS = 2_000_000_000


def image_folder(
    root: str | os.PathLike[str],
    transform: Callable[[Any], Any] | None = None,
    target_transform: Callable[[Any], Any] | None = None,
    *,
    index_cache: str | os.PathLike[str],
) -> ImageFolder:
    """``ImageFolder(root, transform, target_transform)`` without listing the files again.

    Listing a large folder takes minutes on a network disk. The first call lists it and
    writes `index_cache`; later ones read that and only ask each folder (not each file) for
    its time stamp, which changes when a file is added, removed or renamed. Then, and where
    the cache is missing, damaged or of another folder, the listing is made anew.

    Args:
        root: A folder of class folders.
        transform, target_transform: As for ImageFolder.
        index_cache: The file to keep the listing in; written beside and renamed, so that
            several processes may share it. One that can't be written is done without.

    Returns:
        A torchvision ImageFolder like any other.

    Raises:
        FileNotFoundError: As ImageFolder does: no class folders, or one without images.
    """
    root = os.fspath(root)
    cache = os.fspath(index_cache)
    kept = _read(cache)
    if kept is not None and kept["root"] == os.path.realpath(root) and _is_fresh(root, kept["folders"]):
        return _from_listing(root, kept, transform, target_transform)
    began = time.time_ns()
    folders = _folder_times(root, began)
    dataset = ImageFolder(root, transform=transform, target_transform=target_transform)
    _write(cache, root, dataset, folders)
    return dataset


def _folder_times(root: str, began: int) -> dict[str, int]:
    """Time stamp in ns of each folder below `root`, by relative path; -1: not to be trusted."""
    times = {}
    for folder, _, _ in os.walk(root, followlinks=True):
        stamp = os.stat(folder).st_mtime_ns
        times[os.path.relpath(folder, root)] = stamp if began - stamp > _UNSURE_NS else -1
    return times


def _is_fresh(root: str, folders: dict[str, int]) -> bool:
    try:
        return all(os.stat(os.path.join(root, name)).st_mtime_ns == stamp for name, stamp in folders.items())
    except OSError:
        return False


def _from_listing(root: str, kept: dict[str, Any], transform: Any, target_transform: Any) -> ImageFolder:
    # ImageFolder's constructor would list the files; these are the attributes it sets.
    dataset = ImageFolder.__new__(ImageFolder)
    VisionDataset.__init__(dataset, root, transform=transform, target_transform=target_transform)
    dataset.loader = default_loader
    dataset.extensions = IMG_EXTENSIONS
    dataset.classes = kept["classes"]
    dataset.class_to_idx = {name: i for i, name in enumerate(kept["classes"])}
    dataset.targets = kept["targets"]
    paths = (os.path.join(root, name) for name in kept["names"])
    dataset.samples = list(zip(paths, kept["targets"], strict=True))
    dataset.imgs = dataset.samples
    return dataset


def _read(cache: str) -> dict[str, Any] | None:
    """The cache's content; None where it is none of ours, or damaged."""
    try:
        with open(cache, "rb") as file:
            kept = json.loads(zlib.decompress(file.read()))
    except (OSError, zlib.error, ValueError):
        return None
    if not isinstance(kept, dict) or kept.get("version") != _VERSION:
        return None
    types = {"root": str, "classes": list, "targets": list, "names": list, "folders": dict}
    if any(not isinstance(kept.get(name), kind) for name, kind in types.items()):
        return None
    return kept if len(kept["names"]) == len(kept["targets"]) else None


def _write(cache: str, root: str, dataset: ImageFolder, folders: dict[str, int]) -> None:
    content = {
        "version": _VERSION,
        "root": os.path.realpath(root),
        "classes": dataset.classes,
        "targets": dataset.targets,
        "names": [os.path.relpath(path, root) for path, _ in dataset.samples],
        "folders": folders,
    }
    data = zlib.compress(json.dumps(content).encode("ascii"), 1)
    folder, name = os.path.split(os.path.abspath(cache))
    # A listing that can't be kept is made again next time: no reason to end a training run.
    with contextlib.suppress(OSError):
        descriptor, partial = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(partial, cache)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
