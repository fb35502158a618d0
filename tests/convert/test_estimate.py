# SPDX-License-Identifier: Apache-2.0
"""Predictions against what conversions give."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from array_sets import array_set
from tars import tar_of
from torchvision.datasets import CIFAR10

import torch_dts
from torch_dts.convert import _estimate, _estimate_stages
from torch_dts.convert._estimate import Estimate, as_dict, choose_evenly, estimate, take
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples

Make = Callable[..., pathlib.Path]


@pytest.fixture(autouse=True)
def little_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_estimate_stages, "_TRIAL_BYTES", 1 << 16)


def test_a_small_set_is_known_exactly(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    (root / "b" / "0.jpg").write_bytes(b"")
    before = sorted(os.listdir(tmp_path))
    found = estimate(root)
    assert sorted(os.listdir(tmp_path)) == before
    report = torch_dts.convert(root, tmp_path / "x.dts", on_error="skip")
    assert (found.num_samples, found.num_classes, found.num_looked_at) == (5, 2, 5)
    assert (found.file_bytes, found.num_blocks) == (report.file_bytes, report.num_blocks)
    assert found.source_bytes == found.stored_bytes == report.source_bytes
    assert [str(bad) for bad in found.bad] == [str(bad) for bad in report.skipped]
    assert (found.num_bad, found.most_bad) == (1, 1)
    assert found.seconds > 0
    lines = str(found).splitlines()
    assert lines[:2] == ["estimate, nothing was written", "  samples   5 in 2 classes; looked at all of them"]
    assert lines[-1] == f"    {root}/b/0.jpg (sample 3): empty (0 bytes)"
    assert as_dict(found)["num_bad"] == 1
    archive = estimate(tar_of(tmp_path / "x.tar", root))
    assert (archive.stored_bytes, archive.num_bad) == (found.stored_bytes, 1)


def test_a_look_at_some(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_estimate, "NUM_LOOKED_AT", 50)
    monkeypatch.setattr(_estimate, "_LOOKED_AT_PER_THREAD", 1)
    folder = tmp_path / "set" / "a"
    folder.mkdir(parents=True)
    for i in range(600):
        (folder / f"{i:03d}.jpg").write_bytes(bytes(90_000 + 50 * i) if i % 10 else b"")
    found = estimate(folder.parent, check="none", seed=1)
    report = torch_dts.convert(folder.parent, check="none")
    assert found.num_looked_at == 50
    assert found.stored_bytes == pytest.approx(report.source_bytes, rel=0.01)
    assert found.file_bytes == pytest.approx(report.file_bytes, abs=16 << 20)
    assert found == estimate_without_time(found, estimate(folder.parent, check="none", seed=1))
    bad = estimate(folder.parent, seed=1)  # zeros are no image
    assert (len(bad.bad), bad.num_bad, bad.most_bad, bad.num_blocks) == (50, 600, 600, 0)
    assert bad.bad[-1].index >= 588
    assert [each.index for each in bad.bad] == sorted(each.index for each in bad.bad)
    (folder / "000.jpg").write_bytes(bytes(17_000_000))
    monkeypatch.setattr(_estimate, "NUM_LOOKED_AT", 600)
    (large,) = estimate(folder.parent, check="none").bad
    assert (large.path, large.reason[:16]) == (str(folder / "000.jpg"), "17,000,000 bytes")


def estimate_without_time(model: Estimate, other: Estimate) -> Estimate:
    fields = {**vars(other), "seconds": model.seconds, "write_bytes_per_s": model.write_bytes_per_s}
    return Estimate(**fields)


@pytest.mark.parametrize(
    "arguments",
    [
        {"level": 3},
        {"level": 1, "restart_interval": None, "num_volumes": 2},
        {"level": 2, "num_volumes": 3, "volume": 1},
        {"restart_interval": "auto", "stats": True},
        {"level": 3, "compat": True},
        {"compat": True},
        {"encoding": "raw", "max_size": 30, "num_workers": 2},
        {"encoding": "mixed", "raw_max_pixels": 1600, "on_error": "keep"},
        {"max_size": 30, "order": "source", "targets": [0, 1, 0, 1, 0]},
    ],
)
def test_every_way_to_encode(image_folder: Make, tmp_path: pathlib.Path, arguments: dict[str, Any]) -> None:
    root = image_folder()
    if "level" in arguments and "volume" not in arguments:  # bad only when it is decoded
        whole = (root / "b" / "0.jpg").read_bytes()
        (root / "b" / "0.jpg").write_bytes(whole[: len(whole) // 2])
    target = tmp_path / "train.dts"
    found = estimate(root, target, **arguments)
    assert not list(tmp_path.glob("*train*"))
    on_error = {"on_error": "skip"} if found.num_bad else {}
    report = torch_dts.convert(root, target, **{**arguments, **on_error})
    stored = report.source_bytes if report.stored_bytes is None else report.stored_bytes
    assert (found.num_files, found.num_blocks) == (len(report.paths), report.num_blocks)
    if "volume" in arguments:  # whose samples it can't know
        assert found.stored_bytes == pytest.approx(stored, rel=0.5)
        return
    assert (found.file_bytes, found.stored_bytes) == (report.file_bytes, stored)
    assert [(bad.index, bad.reason) for bad in found.bad] == [
        (bad.index, bad.reason) for bad in report.skipped
    ]
    assert f"  {len(report.paths)} files" in str(found) or len(report.paths) == 1


def test_pixel_sets_need_no_guess(tmp_path: pathlib.Path) -> None:
    dataset = array_set(CIFAR10, 7)
    found = estimate(dataset)
    report = torch_dts.convert(dataset, tmp_path / "x.dts")
    assert (found.num_samples, found.num_classes, found.num_looked_at) == (7, 10, 0)
    assert found.stored_bytes == report.source_bytes == 7 * 3072
    assert 0 < report.file_bytes - found.file_bytes < 4096  # its sections
    assert "looked at all of them" in str(found)
    with pytest.raises(ValueError, match="num_volumes=2 has no meaning for a pixel file, which is one file"):
        estimate(dataset, tmp_path / "x.dts", num_volumes=2)
    with pytest.raises(ValueError, match=r"level, max_size, .* have no meaning for a pixel file"):
        estimate(dataset, level=1)


def test_how_many_may_be_bad() -> None:
    none = Estimate(1000, 2, 100, (), 1, 1, 1, 1, 1.0, 1e9)
    assert none.num_bad == 0
    assert none.most_bad == 36  # z^2 / (n + z^2)


@pytest.mark.parametrize(("count", "chosen"), [(10, 10), (3, 10), (1000, 7), (401, 400), (1, 1)])
def test_one_of_each_part(count: int, chosen: int) -> None:
    found = choose_evenly(count, chosen, 5).tolist()
    assert found == choose_evenly(count, chosen, 5).tolist()
    assert len(found) == min(count, chosen)
    for part, number in enumerate(found):
        assert count * part // len(found) <= number < count * (part + 1) // len(found)
    if count == 1000:
        assert found != choose_evenly(count, chosen, 6).tolist()


def test_some_samples_of_each_kind(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    dts = torch_dts.DTSDataset(torch_dts.convert(root))
    spooled = [(path.read_bytes(), 0) for path in sorted(root.rglob("*.jpg"))]
    spooled[1] = ("/gone", 0)  # type: ignore[call-overload]
    numbers = torch.tensor([1, 4])
    for source in (dts, spooled):
        samples = list_samples(
            source, class_to_idx=None, allow_empty=False, spool_dir=str(tmp_path), progress=None
        )
        some = take(samples, numbers)
        assert some.names == [samples.names[1], samples.names[4]]
        assert some.files == [samples.files[1], samples.files[4]]
        assert bytes(some.read(1)) == (root / "b" / "1.jpg").read_bytes()
        samples.close()
    failed = Samples("X", ["", ""], torch.zeros(2).long(), ["c"], ["a", "b"], failed={1: "bad"}, encoded=[1])
    some = take(failed, torch.tensor([1]))
    assert (some.failed, some.encoded) == ({0: "bad"}, [0])
