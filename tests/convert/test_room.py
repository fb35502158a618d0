# SPDX-License-Identifier: Apache-2.0
"""Samples that no block holds are bad samples: all are listed, and can be left out."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL import Image

import torch_dts
from torch_dts.convert import BadSamplesError
from torch_dts.convert._estimate import estimate
from torch_dts.convert._room import Room

Make = Callable[..., pathlib.Path]
MIB = 1 << 20


@pytest.fixture
def large(image_folder: Make) -> pathlib.Path:
    """a/1 and b/0 have more than 16 MiB."""
    root = image_folder(classes={"a": 3, "b": 2})
    for name, extra in (("a/1.jpg", 20 * MIB), ("b/0.jpg", 40 * MIB)):
        with (root / name).open("r+b") as file:
            file.truncate(file.seek(0, 2) + extra)
    return root


def test_texts() -> None:
    room = Room(16 * MIB, 4096)
    assert room.most == 16_773_120
    assert room.too_large(torch.tensor([16_773_120, 16_773_121, -1])) == [1]
    assert room.reason(16_773_121) == (
        "16,773,121 bytes, but a block of 16777216 bytes holds at most 16773120"
    )
    assert room.advice([16_773_121]).startswith("block_size=32 * 2**20 or more")
    assert room.advice([5, 4079 * MIB]).startswith("block_size=4080 * 2**20 or more")
    assert room.advice([4080 * MIB]) == "no block_size (under 4 GiB) can hold it."
    assert (
        Room(16 * MIB, 16384, is_fixed=True)
        .advice([1, 2])
        .endswith("which can't hold all of them: make the images smaller.")
    )


@pytest.mark.parametrize("options", [{}, {"check": "none"}, {"num_volumes": 2}, {"compat": True}])
def test_all_are_listed_and_left_out(large: pathlib.Path, tmp_path: pathlib.Path, options: Any) -> None:
    with pytest.raises(BadSamplesError, match="2 of 5 samples can't be used") as caught:
        torch_dts.convert(large, tmp_path / "x.dts", **options)
    assert [bad.index for bad in caught.value.bad] == [1, 3]
    assert "on_error='keep' does not help, as 2 of them are larger than a block." in caught.value.advice
    way = "compat=True has blocks of 16 MiB" if "compat" in options else "block_size=48 * 2**20 or more"
    assert way in caught.value.advice
    with pytest.raises(BadSamplesError, match="2 of them are larger than a block; on_error='skip' leaves"):
        torch_dts.convert(large, tmp_path / "x.dts", on_error="keep", **options)
    assert not list(tmp_path.glob("x*"))
    report = torch_dts.convert(large, tmp_path / "x.dts", on_error="skip", **options)
    assert [bad.index for bad in report.skipped] == [1, 3]
    shutil.copytree(large, tmp_path / "rest")
    for bad in caught.value.bad:
        (tmp_path / "rest" / pathlib.Path(bad.path).relative_to(large)).unlink()
    expected = {str(path.relative_to(tmp_path / "rest")): path for path in (tmp_path / "rest").rglob("*.jpg")}
    found = torch_dts.DTSDataset(report)
    assert [pathlib.Path(path).name for path, _ in found.samples] == ["0.jpg", "2.jpg", "1.jpg"]
    with torch_dts.open(report) as file:
        for i, path in enumerate(file.paths):
            assert bytes(file.read(i)) == expected[path].read_bytes()


def test_an_estimate_counts_them(large: pathlib.Path) -> None:
    found = estimate(large, on_error="skip", num_workers=1, progress=False)
    assert sorted(bad.path for bad in found.bad) == [str(large / "a/1.jpg"), str(large / "b/0.jpg")]
    Image.new("RGB", (2400, 2400), (9, 8, 7)).save(large / "b" / "0.jpg")
    found = estimate(large, on_error="skip", encoding="raw", num_workers=1, progress=False)
    assert [(bad.path, bad.reason[:16]) for bad in found.bad] == [
        (str(large / "b/0.jpg"), "17,280,016 bytes")
    ]


def test_the_advised_block_size_works(large: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert torch_dts.convert(large, tmp_path / "x.dts", block_size=48 << 20).num_samples == 5


@pytest.mark.parametrize("options", [{"encoding": "raw"}, {"encoding": "mixed", "raw_fraction": 1.0}])
def test_what_becomes_larger_than_a_block(image_folder: Make, tmp_path: pathlib.Path, options: Any) -> None:
    root = image_folder(classes={"a": 2, "b": 1})
    Image.new("RGB", (2400, 2400), (9, 8, 7)).save(root / "a" / "big.jpg")
    source = (root / "a" / "big.jpg").read_bytes()
    with pytest.raises(
        BadSamplesError, match=r"1 of 4 samples .*block_size=32 \* 2\*\*20.*max_size=.*\n.*17,280,016 bytes"
    ):
        torch_dts.convert(root, tmp_path / "x.dts", **options)
    report = torch_dts.convert(root, tmp_path / "x.dts", on_error="skip", **options)
    assert [(bad.index, report.num_samples) for bad in report.skipped] == [(2, 3)]
    report = torch_dts.convert(root, tmp_path / "y.dts", on_error="keep", **options)
    with torch_dts.open(report) as file:
        assert bytes(file.read(2)) == source
        assert [bad.index for bad in report.kept_bad] == [2]
    report = torch_dts.convert(root, tmp_path / "z.dts", max_size=1000, **options)
    assert (report.num_samples, report.skipped) == (4, ())
    with torch_dts.open(report) as file:
        assert len(file.read(2)) == 16 + 3_000_000


@pytest.mark.parametrize("options", [{"restart_interval": 4}, {"level": 3, "check": "none"}])
def test_damage_larger_than_a_block(large: pathlib.Path, tmp_path: pathlib.Path, options: Any) -> None:
    """Bytes that can't be encoded anew can't be kept either; what can be is small."""
    (large / "b" / "0.jpg").write_bytes(b"no image" * (3 * MIB))
    options = {**options, "check": "none"}
    with pytest.raises(
        BadSamplesError, match="bytes are larger than a block, too; on_error='skip'"
    ) as caught:
        torch_dts.convert(large, tmp_path / "x.dts", on_error="keep", **options)
    assert 3 in [bad.index for bad in caught.value.bad]
    report = torch_dts.convert(large, tmp_path / "x.dts", on_error="skip", **options)
    assert 3 in [bad.index for bad in report.skipped]
    torch_dts.verify(report)
