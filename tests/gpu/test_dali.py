# SPDX-License-Identifier: Apache-2.0
"""``backend="dali"`` with nvJPEG, beside the CPU backend: choices are equal, pixels close."""

from __future__ import annotations

import gc
import pathlib
from typing import Any

import pytest
import torch
from gpu_checks import MEAN, STD, loader_of, training_transform
from torch import Tensor


def levels(images: Tensor) -> Tensor:
    columns = [torch.tensor(values).view(1, 3, 1, 1) for values in (STD, MEAN)]
    return (images.float().cpu() * columns[0] + columns[1]) * 255


@pytest.mark.cuda
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"dtype": torch.float16, "memory_format": torch.channels_last},
        {"dtype": torch.bfloat16},
        {"static_buffers": True, "last_batch": "fill"},
    ],
)
def test_batches_are_those_of_the_cpu(photos_path: pathlib.Path, how: dict[str, Any]) -> None:
    found = loader_of(photos_path, device="cuda", backend="dali", **how)
    exact = loader_of(photos_path, **{key: value for key, value in how.items() if key != "static_buffers"})
    for _ in range(2):
        for (images, labels), (wanted, expected) in zip(found, exact, strict=True):
            assert images.is_cuda
            assert images.dtype == wanted.dtype
            assert images.stride() == wanted.stride()
            assert torch.equal(labels.cpu(), expected)
            difference = (levels(images) - levels(wanted)).abs()
            assert difference.mean() < 2
            assert difference[:, :, 2:-2, 2:-2].mean() < 2


@pytest.mark.cuda
def test_batches_that_are_kept_are_not_written_to(photos_path: pathlib.Path) -> None:
    loader = loader_of(photos_path, training_transform(96), device="cuda", backend="dali")
    kept, copies = [], []
    for images, _ in loader:
        torch.cuda._sleep(20_000_000)  # later batches arrive while this one is still read
        copies.append(images.clone())
        kept.append(images)
    torch.cuda.synchronize()
    assert all(map(torch.equal, kept, copies))


@pytest.mark.cuda
def test_memory_stays_flat(photos_path: pathlib.Path) -> None:
    loader = loader_of(photos_path, device="cuda", backend="dali")
    free = []
    for _ in range(8):
        for _ in loader:
            pass
        gc.collect()
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    assert free[2] - free[-1] < 64 << 20
