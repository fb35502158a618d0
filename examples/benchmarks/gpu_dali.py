# SPDX-License-Identifier: Apache-2.0
"""DALI's own reader pipeline over a folder: what `backend="dali"` is measured against.

Full decode and a crop behind it, as `backend="dali"` does it on a GPU; a few batches run on a CPU, too.
"""

from __future__ import annotations

import time
from typing import Any

import torch

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def reader_pipeline(
    folder: str, batch_size: int, num_threads: int, size: int, on_gpu: bool, decodes_only: bool = False
) -> Any:
    """A built pipeline: file reader, decoder, random crop, resize, flip, normalization to float16.

    Args:
        folder: Of class folders of JPEGs.
        batch_size, num_threads, size: Samples of a batch, DALI's threads, side of the result.
        on_gpu: Decodes with nvJPEG and does the rest on the current device.
        decodes_only: What the decoder makes comes out as it is.

    Raises:
        ImportError: DALI is missing, or can't be loaded.
    """
    from torch_dts.backends._dali_import import import_dali

    dali = import_dali()
    fn, types = dali.fn, dali.types
    built = dali.pipeline(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=torch.cuda.current_device() if on_gpu else None,
        prefetch_queue_depth=2,
    )
    with built:
        encoded, _ = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
        how = {"device": "mixed", "jpeg_fancy_upsampling": True} if on_gpu else {"device": "cpu"}
        images = fn.decoders.image(encoded, output_type=types.RGB, adjust_orientation=False, **how)
        if not decodes_only:
            images = fn.random_resized_crop(
                images,
                size=[size, size],
                random_area=[0.08, 1.0],
                random_aspect_ratio=[3 / 4, 4 / 3],
                interp_type=types.INTERP_LINEAR,
                antialias=True,
            )
            images = fn.crop_mirror_normalize(
                images,
                dtype=types.FLOAT16,
                output_layout="CHW",
                mean=[255 * value for value in MEAN],
                std=[255 * value for value in STD],
                mirror=fn.random.coin_flip(),
            )
        built.set_outputs(images)
    built.build()
    return built


def reader_rate(built: Any, batch_size: int, seconds: float) -> float:
    """Images per second of a pipeline, two batches at once, from none begun until all are made."""
    on_gpu = built.device_id is not None

    def make(until: float, at_least: int) -> int:
        num_begun = num_made = 0
        while num_begun < at_least or time.perf_counter() < until or num_made < num_begun:
            if num_begun < at_least or time.perf_counter() < until:
                built.schedule_run()
                num_begun += 1
                if num_begun - num_made < 2:
                    continue
            built.outputs(**({"cuda_stream": torch.cuda.current_stream()} if on_gpu else {}))
            num_made += 1
        if on_gpu:
            torch.cuda.synchronize()
        return num_made

    make(0.0, 3)
    began = time.perf_counter()
    num_batches = make(began + seconds, 1)
    return num_batches * batch_size / (time.perf_counter() - began)
