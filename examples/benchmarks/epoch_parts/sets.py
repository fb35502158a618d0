# SPDX-License-Identifier: Apache-2.0
"""The photographs of a run: a folder for training, one for validation, and their levels.

A set lies in a folder of the work folder that is named by its files' names and sizes, so that a
work folder that is kept never serves other images. Images are linked, not copied.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import shutil
from typing import Any

from torchvision.datasets import ImageFolder

import torch_dts

LEVELS = (0, 1, 2, 3)
RAW = "RAW"


def name_of(level: int) -> str:
    return f"LV{level}"


@dataclasses.dataclass
class ImageSet:
    """Images of one split; `files` has the .dts file of each level by its name."""

    split: str
    folder: str
    samples: list[tuple[str, int]]
    files: dict[str, str]
    options: dict[str, Any]

    def num_images(self) -> int:
        return len(self.samples)

    def paths_of(self, form: str) -> list[str]:
        """The files that an epoch of a form reads."""
        return [path for path, _ in self.samples] if form == RAW else [self.files[form]]

    def payload_bytes(self, form: str) -> int:
        """Bytes of all images in a form, without any header."""
        if form == RAW:
            return sum(os.path.getsize(path) for path, _ in self.samples)
        return int(torch_dts.open(self.files[form]).sizes.sum())

    def add(self, form: str, target: pathlib.Path, **more: Any) -> str:
        """Converts the set, where that has not been done before."""
        if not target.exists():
            torch_dts.convert(self.folder, target, progress=False, **self.options, **more)
        self.files[form] = os.fspath(target)
        return self.files[form]


def _linked(samples: list[tuple[str, int]], target: pathlib.Path) -> None:
    """A folder of class folders with the samples' files, as links where the disk allows it."""
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for number, (path, label) in enumerate(samples):
        # Class folders keep their names, so that the numbers of classes stay in order.
        folder = part / f"{label:05d}_{pathlib.Path(path).parent.name}"
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / f"{number:07d}{pathlib.Path(path).suffix}"
        try:
            os.link(path, link)
        except OSError:
            shutil.copyfile(path, link)
    part.rename(target)


def _part(samples: list[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    """`count` samples, spread evenly over all of them."""
    return [samples[i * len(samples) // count] for i in range(count)]


def _digest(samples: list[tuple[str, int]]) -> str:
    digest = hashlib.sha256()
    for path, label in samples:
        digest.update(f"{path}\0{os.path.getsize(path)}\0{label}\n".encode())
    return digest.hexdigest()[:12]


def image_set(
    split: str, data: str, work: pathlib.Path, count: int | None, levels: tuple[int, ...] = LEVELS
) -> ImageSet:
    """A set of `count` images of a folder (None, or more than there are: all) with its levels.

    Validation sets are stored in the order of the source, as `shuffle=False` reads them.
    """
    samples = ImageFolder(data).samples
    folder = pathlib.Path(data)
    if count is not None and count < len(samples):
        samples = _part(samples, max(1, count))
        folder = work / f"{split}_{_digest(samples)}"
        if not folder.exists():
            _linked(samples, folder)
        samples = ImageFolder(folder).samples
    made = ImageSet(split, os.fspath(folder), samples, {}, {"order": "source"} if split == "val" else {})
    name = _digest(samples)
    for level in levels:
        made.add(name_of(level), work / f"{split}_{name}_level{level}.dts", level=level)
    return made


def image_sets(
    data: str,
    work: pathlib.Path,
    count: int | None,
    val: str | None = None,
    levels: tuple[int, ...] = LEVELS,
) -> dict[str, ImageSet]:
    """Sets for training and validation; without a folder for it, validation has every tenth image."""
    work.mkdir(parents=True, exist_ok=True)
    train = image_set("train", data, work, count, levels)
    tenth = max(1, train.num_images() // 10)
    found = image_set("val", val or train.folder, work, None if val else tenth, levels)
    return {"train": train, "val": found}
