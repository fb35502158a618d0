# SPDX-License-Identifier: Apache-2.0
"""The pipeline alone: bytes in place, batches in order, ends."""

from __future__ import annotations

import gc
import io
import os
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from dali_sets import check_close, encoded, photo, with_bad_tables
from PIL import Image
from torchvision.transforms.v2 import functional as F

from torch_dts._native._outline import Outlines
from torch_dts.backends._dali_pipeline import DaliPipeline
from torch_dts.backends._dali_spec import DaliSpec

BYTES = DaliSpec(
    height=40,
    width=32,
    dtype=torch.uint8,
    is_channels_last=False,
    mean=(0.0,) * 3,
    std=(1.0,) * 3,
    has_roi=False,
    has_vertical_flip=False,
    erase_values=(),
    device_id=None,
    num_threads=1,
)


class Bytes(np.ndarray[Any, Any]):
    """An array that can be watched."""


def outlines_of(numbers: list[int], data: list[bytes] | None = None) -> Outlines:
    """A crop of 40 x 50 pixels at 3, 5 of each photo; every second one flipped."""
    count = len(numbers)
    files = [encoded(number) for number in numbers] if data is None else data
    pairs = {
        "anchors": np.tile(np.array([[3, 5]], np.int32), (count, 1)),
        "shapes": np.tile(np.array([[40, 50]], np.int32), (count, 1)),
    }
    zeros = np.zeros((count, 2), np.int32)
    flips = zeros.copy()
    flips[::2, 0] = 1
    ids = np.arange(count)
    return Outlines(
        slots=ids,
        samples=ids,
        occurrences=ids,
        indices=ids,
        encoded=[np.frombuffer(file, np.uint8).view(Bytes) for file in files],
        roi_starts=zeros.astype(np.float32),
        roi_ends=pairs["shapes"].astype(np.float32),
        flips=flips,
        erase_anchors=zeros,
        erase_shapes=zeros,
        **pairs,
    )


def expected(numbers: list[int]) -> torch.Tensor:
    made = []
    for place, number in enumerate(numbers):
        whole = Image.open(io.BytesIO(encoded(number)))
        image = F.pil_to_tensor(F.resized_crop(whole, 3, 5, 40, 50, [40, 32]))
        made.append(image.flip(2) if place % 2 == 0 else image)
    return torch.stack(made).float()


def test_batches_come_in_order_and_are_kept_apart() -> None:
    pipeline = DaliPipeline(BYTES, 4)
    sets = [[1, 2, 3, 4], [6, 8], [10, 12, 14]]
    pipeline.submit(outlines_of(sets[0]))
    pipeline.submit(outlines_of(sets[1]))
    assert pipeline.num_in_work == 2
    found = [pipeline.collect()]
    pipeline.submit(outlines_of(sets[2]))
    found += [pipeline.collect(), pipeline.collect()]
    assert pipeline.num_in_work == 0
    pipeline.close()
    for images, numbers in zip(found, sets, strict=True):
        assert images.dtype == torch.uint8
        check_close(images.float(), expected(numbers))


def test_bytes_are_kept_until_the_batch_is_collected_and_no_longer() -> None:
    pipeline = DaliPipeline(BYTES, 2)
    outlines = outlines_of([1, 2])
    watched = weakref.ref(outlines.encoded[0])
    pipeline.submit(outlines)
    del outlines
    gc.collect()
    assert watched() is not None
    pipeline.collect()
    pipeline.submit(outlines_of([3]))
    pipeline.collect()
    gc.collect()
    assert watched() is None
    pipeline.close()


def test_a_drained_pipeline_begins_anew() -> None:
    pipeline = DaliPipeline(BYTES, 3)
    pipeline.submit(outlines_of([1, 2, 3]))
    pipeline.submit(outlines_of([4, 6]))
    assert pipeline.drain()
    assert pipeline.num_in_work == 0
    pipeline.submit(outlines_of([10, 12]))
    check_close(pipeline.collect().float(), expected([10, 12]))
    pipeline.submit(outlines_of([1, 2], [with_bad_tables(encoded(1)), encoded(2)]))
    assert not pipeline.drain()
    pipeline.close()


def test_closing_waits_for_what_is_in_work() -> None:
    pipeline = DaliPipeline(BYTES, 3)
    outlines = outlines_of([1, 2, 3])
    watched = weakref.ref(outlines.encoded[0])
    pipeline.submit(outlines)
    pipeline.submit(outlines_of([4, 6]))
    pipeline.close()
    pipeline.close()
    del outlines
    gc.collect()
    assert watched() is None


def test_a_sample_that_cannot_be_decoded_is_an_error_not_a_crash() -> None:
    numbers = list(range(24))
    for _ in range(3):
        data = [encoded(number) for number in numbers]
        data[7] = with_bad_tables(data[7])
        pipeline = DaliPipeline(BYTES, 24)
        pipeline.submit(outlines_of(numbers, data))
        with pytest.raises(RuntimeError, match="Failed to decode sample #7"):
            pipeline.collect()
        pipeline.close()


def test_a_forked_child_ends_without_dalis_threads() -> None:
    pipeline = DaliPipeline(BYTES, 2)
    pipeline.submit(outlines_of([1, 2]))

    pid = os.fork()
    if pid == 0:
        pipeline.close()
        del pipeline
        gc.collect()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert pipeline.collect().shape == (2, 3, 40, 32)
    pipeline.close()


def test_photos_are_as_large_as_the_crops() -> None:
    assert all(min(photo(number).size) >= 55 for number in range(27))
