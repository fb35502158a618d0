# SPDX-License-Identifier: Apache-2.0
"""SPDL: a Pipeline of threads over the files of a folder, decoded by FFmpeg."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder
from torchvision.transforms import RandomResizedCrop

from contestants.work import MEAN, STD, Batches, Epoch, Work


def start(key: str, work: Work) -> Epoch:
    samples, size = work.samples(), work.image_size
    num_threads = max(1, work.num_workers)
    mean = 255 * torch.tensor(MEAN).view(1, 3, 1, 1)
    factor = 1 / (255 * torch.tensor(STD).view(1, 3, 1, 1))
    area, shape = [0.08, 1.0], [3 / 4, 4 / 3]  # RandomResizedCrop's defaults

    def decode(sample: tuple[str, int]) -> tuple[Any, int]:
        path, label = sample
        packets = spdl.io.demux_image(path)
        # the crop needs no more of a picture than its size
        whole = torch.empty(0, packets.height, packets.width)
        top, left, height, width = RandomResizedCrop.get_params(whole, area, shape)
        flip = "hflip," if random.random() < 0.5 else ""
        description = (
            f"crop={width}:{height}:{left}:{top},scale={size}:{size}:flags=bilinear,"
            f"{flip}format=pix_fmts=rgb24"
        )
        return spdl.io.decode_packets(packets, filter_desc=description), label

    def collate(items: list[tuple[Any, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        frames, labels = zip(*items, strict=True)
        pixels = spdl.io.to_torch(spdl.io.convert_frames(list(frames))).permute(0, 3, 1, 2)
        images = pixels.contiguous()
        if work.is_float():
            images = pixels.to(torch.float32, memory_format=torch.contiguous_format).sub_(mean).mul_(factor)
        return images, torch.tensor(labels)

    def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        pipeline = (
            PipelineBuilder()
            .add_source(random.sample(samples, len(samples)))
            .pipe(decode, concurrency=num_threads)
            .aggregate(work.batch_size)
            .pipe(collate)
            .add_sink(3)
            .build(num_threads=num_threads)
        )
        with pipeline.auto_stop():
            yield from pipeline

    def epoch() -> Batches:
        return batches()

    return epoch
