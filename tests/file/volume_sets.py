# SPDX-License-Identifier: Apache-2.0
"""A set of 30 pictures in volumes, made once; tests that change files link what they leave alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import torch_dts

CLASSES = {"a": 13, "b": 2, "c": 15}


def make_set(folder: Path, images: Path, num_volumes: int, **options: object) -> list[Path]:
    """The volumes of `images`, called ``train-*``."""
    folder.mkdir(exist_ok=True)
    report = torch_dts.convert(
        images, folder / "train.dts", num_volumes=num_volumes, progress=False, **options
    )
    return list(map(Path, report.paths))


def link_set(folder: Path, volumes: list[Path], copied: tuple[int, ...] = ()) -> list[Path]:
    """The same volumes in another folder: links, but for those that are to be changed."""
    folder.mkdir(exist_ok=True)
    linked = []
    for number, path in enumerate(volumes):
        target = folder / path.name
        if number in copied:
            shutil.copyfile(path, target)
        else:
            os.link(path, target)
        linked.append(target)
    return linked
