# SPDX-License-Identifier: Apache-2.0
"""DALI's CPU pipeline over the files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

from contestants.work import MEAN, STD, Batches, Epoch, Work


def start(key: str, work: Work) -> Epoch:
    size = work.image_size
    tail: dict[str, Any] = {"dtype": types.UINT8}
    if work.is_float():
        tail = {
            "dtype": types.FLOAT,
            "mean": [255 * value for value in MEAN],
            "std": [255 * value for value in STD],
        }

    @pipeline_def(
        batch_size=work.batch_size,
        num_threads=max(1, work.num_workers),
        device_id=None,
        prefetch_queue_depth=2,
    )
    def pipeline() -> Any:
        encoded, labels = fn.readers.file(file_root=work.folder, random_shuffle=True, name="reader")
        images = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB)
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_LINEAR, antialias=True)
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(images, output_layout="CHW", mirror=mirror, **tail), labels

    built = pipeline()
    built.build()
    iterator = DALIGenericIterator(
        [built], ["image", "label"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )

    def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for batch in iterator:
            yield batch[0]["image"], batch[0]["label"].flatten()
        iterator.reset()

    def epoch() -> Batches:
        return batches()

    return epoch
