# SPDX-License-Identifier: Apache-2.0
"""A set of volumes, killed at many points and gone on with: the same bytes in the end."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from test_convert_samples_resume import kill

import torch_dts
from torch_dts import _native
from torch_dts._progress import Progress
from torch_dts.file._find_files import ExactFiles

Make = Callable[..., pathlib.Path]
COUNT = 3


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("volumes") / "photos"
    for i in range(12):
        folder = root / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(i).integers(0, 256, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(values).resize((240, 220), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg")
    return root


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("x*.dts*")}


@pytest.fixture(scope="module")
def expected(photos: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    torch_dts.convert(photos, folder / "x.dts", num_volumes=COUNT, restart_interval=4)
    return contents(folder)


@pytest.mark.parametrize(
    ("what", "calls", "resumed"),
    [
        ("samples", 1, 0),
        ("block", 0, 1),
        ("written", 1, 1),
        ("finish", 1, 3),
        ("publish", 0, 3),
        ("publish", 2, 3),
        ("remove", 0, 3),
    ],
)
@pytest.mark.parametrize("has_old", [False, True])
def test_killed(
    photos: pathlib.Path,
    expected: dict[str, bytes],
    tmp_path: pathlib.Path,
    what: str,
    calls: int,
    resumed: int,
    has_old: bool,
) -> None:
    target = tmp_path / "x.dts"
    options: dict[str, Any] = {"num_volumes": COUNT, "restart_interval": 4}
    if has_old:
        torch_dts.convert(photos, target, num_volumes=COUNT, seed=1)
        options["overwrite"] = True
    old = contents(tmp_path)
    kill(photos, target, what, calls, **options)
    found = contents(tmp_path)
    assert "x-00000-of-00003.dts.journal" in found
    for name, data in old.items():  # complete, under one name or the other, until all new ones are there
        assert what == "remove" or data in (found.get(name), found.get(f"{name}.replaced"))
    report = torch_dts.convert(photos, target, resume=True, **options)
    assert report.num_resumed_blocks == resumed
    assert contents(tmp_path) == expected


def test_work_of_one_volume_is_not_thrown_away(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x.dts"
    kill(photos, target, "block", 0, num_volumes=COUNT, volume=1)
    (tmp_path / "x-00001-of-00003.dts.lock").unlink()
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"x-00001-of-00003\.dts\.journal has finished work.*with volume=1"):
        torch_dts.convert(photos, target, num_volumes=COUNT, resume=True)
    assert contents(tmp_path) == before
    torch_dts.convert(photos, target, num_volumes=COUNT)
    assert sorted(contents(tmp_path)) == [f"x-0000{i}-of-00003.dts" for i in range(COUNT)]


def test_mean_and_std_are_the_set_s(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = torch_dts.open(torch_dts.convert(photos, tmp_path / "one.dts", stats=True)).header
    assert min(one.normalize_std) > 0
    options: dict[str, Any] = {"num_volumes": COUNT, "stats": True, "resume": True}
    with monkeypatch.context() as patch:
        write, left = _native.writer_write_block, [2]

        def stop(*args: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            write(*args)

        patch.setattr(_native, "writer_write_block", stop)
        with pytest.raises(KeyboardInterrupt, match="the same call with resume=True goes on"):
            torch_dts.convert(photos, tmp_path / "x.dts", num_workers=1, **options)
    report = torch_dts.convert(photos, tmp_path / "x.dts", **options)
    assert report.num_resumed_blocks == 2
    for path in report.paths:
        with torch_dts.open(ExactFiles((path,))) as file:
            assert file.header.normalize_mean == one.normalize_mean
            assert file.header.normalize_std == one.normalize_std


def test_one_bar_for_all(
    photos: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: dict[str, list[int]] = {}
    add = Progress.add
    begin = Progress.__init__

    def count(bar: Progress, text: str, total: int, *args: Any, **options: Any) -> None:
        counts.setdefault(text, []).append(total)
        bar.text = text  # type: ignore[attr-defined]
        begin(bar, text, total, *args, **options)

    def counted(bar: Progress, number: int) -> None:
        counts[bar.text][-1] -= number  # type: ignore[attr-defined]
        add(bar, number)

    monkeypatch.setattr(Progress, "__init__", count)
    monkeypatch.setattr(Progress, "add", counted)
    torch_dts.convert(photos, tmp_path / "x.dts", num_volumes=COUNT)
    assert counts == {"checking": [0], "writing": [0]}
