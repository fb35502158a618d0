# SPDX-License-Identifier: Apache-2.0
"""The trial of a conversion: its limits, and the disk's speed."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest

from torch_dts.convert import _estimate_stages
from torch_dts.convert._estimate import estimate
from torch_dts.convert._estimate_stages import measure_disk

Make = Callable[..., pathlib.Path]


def test_time_and_room_are_limited(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = image_folder()
    for i in range(60):
        os.link(root / "a" / "0.jpg", root / "a" / f"more{i}.jpg")
    whole = estimate(root, level=3, num_workers=1)
    assert whole.num_looked_at == 65
    monkeypatch.setattr(_estimate_stages, "MOST_SPOOLED_BYTES", 100)
    some = estimate(root, level=3, num_workers=1)
    assert some.num_looked_at == 16
    assert some.stored_bytes == pytest.approx(whole.stored_bytes, rel=0.2)
    assert some.source_bytes == pytest.approx(whole.source_bytes, rel=0.2)


def test_the_disk_is_tried(tmp_path: pathlib.Path) -> None:
    assert measure_disk(str(tmp_path), 1 << 20) > 1e5
    assert measure_disk(str(tmp_path / "no"), 1 << 20) == 1e9
    assert not list(tmp_path.iterdir())
