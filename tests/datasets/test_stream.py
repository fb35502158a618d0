# SPDX-License-Identifier: Apache-2.0
"""A stream of items and the checks of its arguments."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torch_dts
from torch_dts import _native
from torch_dts.datasets._chunks import EpochOrder, Share
from torch_dts.datasets._stream import check_int, check_window, stream_items


def expected_numbers(file: torch_dts.DTSFile, order: EpochOrder) -> list[int]:
    sizes = file.block_table.num_samples
    stored = _native.sample_order(
        sizes, order.seed, order.epoch, order.shuffle_window, order.num_replicas, order.rank
    )
    return file.source_index[stored].tolist()


@pytest.mark.parametrize("window", [1, 2, 100, 0])
@pytest.mark.parametrize("worker", [(0, 1), (1, 2)])
def test_items_follow_the_order(
    many_blocks: pathlib.Path, numbers: Callable[..., list[int]], window: int, worker: tuple[int, int]
) -> None:
    order = EpochOrder(True, window, seed=3, epoch=1)
    with torch_dts.open(many_blocks) as file:
        found = numbers(stream_items(file, order, Share(*worker), None, None))
        assert found == expected_numbers(file, order)[worker[0] :: worker[1]]


def test_errors_name_the_sample_and_end_the_thread(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.dts"
    torch_dts.convert([(b"no picture", 0)] * 3, path, check="none", progress=False)
    before = threading.active_count()
    with torch_dts.open(path) as file:
        stream = stream_items(file, EpochOrder(False), Share(), None, None)
        with pytest.raises(OSError, match=r"cannot identify image file .* \[sample \d .* of .*bad.dts\]"):
            next(stream)
        assert threading.active_count() == before
        assert list(stream) == []


def test_errors_of_a_transform_come_out_as_they_are(one_block: pathlib.Path) -> None:
    def transform(image: Any) -> Any:
        raise ZeroDivisionError("mine")

    before = threading.active_count()
    with torch_dts.open(one_block) as file:
        with pytest.raises(ZeroDivisionError, match=r"^mine$"):
            next(stream_items(file, EpochOrder(), Share(), transform, None))
        with pytest.raises(ZeroDivisionError, match=r"^mine$"):
            next(stream_items(file, EpochOrder(), Share(), None, transform))
    assert threading.active_count() == before


def test_windows() -> None:
    assert [check_window(window) for window in (1, 16, np.int64(3), "all")] == [1, 16, 3, 0]
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"shuffle_window is {wrong}, expected at least 1"):
            check_window(wrong)
    for kind in ("some", 1.5, None, True):
        with pytest.raises(TypeError, match=f"shuffle_window is {kind!r}, expected a number of blocks or"):
            check_window(kind)  # type: ignore[arg-type]


def test_integers() -> None:
    assert check_int("seed", np.int64(-3), "an int") == -3
    assert type(check_int("seed", np.int64(-3), "an int")) is int
    with pytest.raises(TypeError, match="seed is '3', expected an int"):
        check_int("seed", "3", "an int")
