# SPDX-License-Identifier: Apache-2.0
"""torch_dts.DataLoader over a plain ImageFolder and over each form of a .dts file."""

from __future__ import annotations

from typing import Any

from torchvision.datasets import ImageFolder

import torch_dts
from contestants.work import Epoch, Work, make_transform

FILE = "data.dts"


def forms(raw_size: int) -> dict[str, dict[str, Any]]:
    """Arguments of convert by the contestant's key."""
    return {
        "level0": {},
        "level0_restart": {"restart_interval": "auto"},
        "level1": {"level": 1},
        "level2": {"level": 2},
        "level3": {"level": 3},
        "raw": {"encoding": "raw", "max_size": raw_size},
    }


def make(key: str, work: Work) -> None:
    options = forms(work.raw_size)[key]
    torch_dts.convert(work.folder, work.file(FILE), num_workers=work.num_workers, progress=False, **options)


def start(key: str, work: Work) -> Epoch:
    transform = make_transform(work.image_size, work.is_float())
    if key == "folder":
        dataset: Any = ImageFolder(work.folder, transform)
    else:
        dataset = torch_dts.DTSDataset(work.file(FILE), transform)
    # "partial" reads the file in every epoch, as the others do; "fully" would keep it in memory
    loader = torch_dts.DataLoader(
        dataset, work.batch_size, shuffle=True, num_workers=work.num_workers, mode="partial"
    )
    return loader.__iter__
