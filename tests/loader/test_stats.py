# SPDX-License-Identifier: Apache-2.0
"""Counts and times, and which of them is named as the bottleneck."""

from __future__ import annotations

import pytest

from torch_dts.loader._stats import LoaderStats, from_native

NATIVE = (100, 4, 3, 2_000_000_000, 500_000_000, 1_000_000_000, 250_000_000, 4096, 7, 1)


def test_native_counts_are_means_of_the_workers() -> None:
    stats = from_native(NATIVE, 4)
    assert (stats.num_images, stats.num_batches, stats.num_foreign, stats.bytes_read) == (100, 4, 3, 4096)
    assert (stats.decode_seconds, stats.disk_seconds, stats.consumer_seconds) == (0.5, 0.125, 0.25)
    assert stats.wait_seconds == 0.25
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
