# SPDX-License-Identifier: Apache-2.0
"""Outlines of batches: the boxes of the native decoder, and bytes where they lie."""

from __future__ import annotations

import gc
import io
import pathlib
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms.v2 import functional as F

from torch_dts import _native
from torch_dts._native._loader import BATCH, END
from torch_dts._native._outline import read_outlines

NONE = torch.empty(0, dtype=torch.int64)
PLAN = (
    "source channels=3 max_pixels=0 pass_order=2\n"
    "resized_crop op=0 height=24 width=20 scale=0.1,1 ratio=0.75,1.25 filter=2\n"
    "horizontal_flip op=1 p=0.5\n"
    "output height=24 width=20 channels=3 dtype=0 layout=0 scale=0\n"
    "erasing op=2 p=0.5 scale=0.02,0.33 ratio=0.3,3.3 value=9\n"
)


def started(dts_file: Callable[..., pathlib.Path], num_workers: int = 1, outlines: bool = True) -> int:
    """A loader of 12 photos in batches of 4, read 8 at a time."""
    file = _native.file_open(dts_file(classes={"a": 5, "b": 7}))
    source = _native.source_dts(file, 0)
    _native.file_close(file)
    loader = _native.loader_open(
        source, PLAN, num_workers, form=_native.OUTLINES if outlines else _native.IMAGES
    )
    _native.source_close(source)
    _native.loader_start(loader, "", 7, 2)
    sizes, units = torch.tensor([4, 4, 4]), torch.tensor([8, 4])
    _native.loader_append(
        loader, torch.arange(12), NONE, sizes, units, torch.zeros(2, dtype=torch.int64), NONE
    )
    _native.loader_finish(loader)
    return loader


@pytest.mark.parametrize("num_workers", [0, 2])
def test_outlines_say_what_the_plan_does(dts_file: Callable[..., pathlib.Path], num_workers: int) -> None:
    loader = started(dts_file, num_workers)
    num_flipped = num_erased = count = 0
    while (taken := _native.loader_next_outlines(loader, 60_000))[0] == BATCH:
        _, rows, labels, indices, slots, held = taken
        assert rows.shape == (4, 88)
        assert slots.numel() == 0
        outlines = read_outlines(rows, indices, held)
        assert outlines.slots.tolist() == [0, 1, 2, 3]
        assert outlines.samples.tolist() == list(range(count, count + 4))
        assert outlines.indices.tolist() == indices.tolist()
        images, status = _native.run_plan(
            *outlines.arena(), torch.zeros((4, 3), dtype=torch.int64), PLAN, indices, NONE, 7, 2
        )
        assert status.tolist() == [0] * 4
        for i in range(4):
            picture = Image.open(io.BytesIO(outlines.encoded[i].tobytes())).convert("RGB")
            (top, left), (height, width) = outlines.anchors[i].tolist(), outlines.shapes[i].tolist()
            assert outlines.roi_starts[i].tolist() == [0, 0]
            assert outlines.roi_ends[i].tolist() == [height, width]
            made = F.pil_to_tensor(F.resized_crop(picture, top, left, height, width, [24, 20]))
            horizontal, vertical = outlines.flips[i].tolist()
            assert vertical == 0
            made = made.flip(2) if horizontal else made
            (y, x), (h, w) = outlines.erase_anchors[i].tolist(), outlines.erase_shapes[i].tolist()
            made[:, y : y + h, x : x + w] = 9
            assert torch.equal(made, images[i])
            num_flipped += horizontal
            num_erased += h > 0
        count += 4
        assert labels.numel() == 4
    assert taken[0] == END
    assert count == 12
    assert 0 < num_flipped < 12
    assert 0 < num_erased < 12
    _native.loader_close(loader)


def test_bytes_stay_as_long_as_an_array_refers_to_them(dts_file: Callable[..., pathlib.Path]) -> None:
    loader = started(dts_file)
    kept = []
    for _ in range(3):
        _, rows, _, indices, _, held = _native.loader_next_outlines(loader, 60_000)
        outlines = read_outlines(rows, indices, held)
        kept.append((outlines.encoded[1], outlines.encoded[1].tobytes()))
        del rows, held, outlines
    gc.collect()
    _native.loader_close(loader)
    for array, copy in kept:
        assert array.tobytes() == copy
        assert copy[:3] == b"\xff\xd8\xff"
        assert not array.flags.writeable


def test_a_batch_without_outlines() -> None:
    rows = torch.zeros((2, 88), dtype=torch.uint8)
    outlines = read_outlines(rows, torch.tensor([5, 6]), torch.empty(1, dtype=torch.uint8))
    assert outlines.encoded == []
    assert outlines.anchors.shape == (0, 2)
    assert outlines.anchors.dtype == np.int32
    assert [part.numel() for part in outlines.arena()] == [0, 0, 0]


def test_the_two_ways_of_taking_batches_are_told_apart(dts_file: Callable[..., pathlib.Path]) -> None:
    loader = started(dts_file, outlines=False)
    with pytest.raises(ValueError, match="the loader was not opened for outlines"):
        _native.loader_next_outlines(loader, 60_000)
    _native.loader_close(loader)
