# SPDX-License-Identifier: Apache-2.0
"""Counts and times, and which of them is named as the bottleneck."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch
from torchvision.transforms import v2

import torch_dts
from torch_dts.loader._stats import LoaderStats, from_native

Make = Callable[..., pathlib.Path]
NATIVE = (100, 4, 3, 2_000_000_000, 500_000_000, 1_000_000_000, 250_000_000, 4096, 7, 1, 60, 30)


def test_native_counts_are_means_of_the_workers() -> None:
    stats = from_native(NATIVE, 4)
    assert (stats.num_images, stats.num_batches, stats.num_foreign, stats.bytes_read) == (100, 4, 3, 4096)
    assert (stats.decode_seconds, stats.disk_seconds, stats.consumer_seconds) == (0.5, 0.125, 0.25)
    assert stats.wait_seconds == 0.25
    assert (stats.num_spliced, stats.num_own) == (60, 30)
    assert from_native(NATIVE, 0).decode_seconds == 2.0


@pytest.mark.parametrize(
    ("disk", "decode", "consumer", "expected"),
    [(3, 1, 2, "disk"), (1, 3, 2, "decoding"), (1, 2, 3, "consumer"), (0, 0, 0, "none")],
)
def test_the_longest_time_is_the_bottleneck(
    disk: float, decode: float, consumer: float, expected: str
) -> None:
    stats = LoaderStats(disk_seconds=disk, decode_seconds=decode, consumer_seconds=consumer)
    assert stats.bottleneck == expected


def test_sums() -> None:
    one = from_native(NATIVE, 1)
    both = one + LoaderStats(num_replaced=2) + one
    assert (both.num_images, both.num_replaced, both.decode_seconds) == (200, 2, 4.0)


def test_who_decoded(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 3, "b": 2}, size=(320, 256))
    transform = v2.Compose([v2.CenterCrop(32), v2.ToImage()])
    images = []
    for interval in (None, 2):
        path = torch_dts.convert(root, tmp_path / f"{interval}.dts", restart_interval=interval)
        for decoder in ("auto", "libjpeg"):
            loader = torch_dts.DataLoader(
                torch_dts.DTSDataset(path, transform), 2, num_workers=1, mode="partial", decoder=decoder
            )
            images += [torch.cat([batch.clone() for batch, _ in loader]) for _ in range(2)]
            stats = loader.stats()
            own = 10 if decoder == "auto" else 0
            spliced = 10 if decoder == "libjpeg" and interval else 0
            assert (stats.num_own, stats.num_spliced, stats.num_images) == (own, spliced, 10)
            loader.close()
    assert all(torch.equal(one, images[0]) for one in images)
