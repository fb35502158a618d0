# SPDX-License-Identifier: Apache-2.0
"""LitData: a set optimised to chunks of JPEGs, read by its StreamingDataLoader."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

os.environ.setdefault("LITDATA_DISABLE_VERSION_CHECK", "1")  # it would ask a package registry

import litdata

from contestants.work import Epoch, Work, make_v2_transform


def read(sample: tuple[str, int]) -> dict[str, Any]:
    path, label = sample
    return {"image": litdata.Jpeg(path=path), "label": label}


def make(key: str, work: Work) -> None:
    with tempfile.TemporaryDirectory(dir=pathlib.Path(work.place).parent) as scratch:
        # optimize() deletes these folders with all that is in them: by default /tmp/chunks and /tmp/data
        os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = os.path.join(scratch, "chunks")
        os.environ["DATA_OPTIMIZER_DATA_CACHE_FOLDER"] = os.path.join(scratch, "data")
        litdata.optimize(
            fn=read,
            inputs=work.samples(),
            output_dir=work.place,
            chunk_bytes="64MB",
            num_workers=max(1, work.num_workers),
            verbose=False,
        )


class Transform:
    """Of a sample; a class, so that workers can be sent one."""

    def __init__(self, work: Work) -> None:
        self.of_image = make_v2_transform(work.image_size, work.is_float())

    def __call__(self, sample: dict[str, Any], *_: Any) -> tuple[Any, int]:
        return self.of_image(sample["image"]), sample["label"]


def start(key: str, work: Work) -> Epoch:
    dataset = litdata.StreamingDataset(work.place, shuffle=True, transform=Transform(work))
    loader = litdata.StreamingDataLoader(dataset, **work.torch_arguments())
    return lambda: iter(loader)
