# SPDX-License-Identifier: Apache-2.0
"""Conversion to several volumes, from call to files."""

from __future__ import annotations

import os
import pathlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import _native
from torch_dts.cli._main import main
from torch_dts.convert._volumes import split_ranks
from torch_dts.file._find_files import ExactFiles

Make = Callable[..., pathlib.Path]
CLASSES = {"a": 11, "b": 4, "c": 9}
# What a volume written by itself may differ in: total_blocks, and the CRC-32s that cover it.
TOTAL_BLOCKS = range(64, 68)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("pictures") / "train"
    noise = np.random.default_rng(1)
    for name, count in CLASSES.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = noise.integers(0, 256, (9, 9 + i, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{i:02}.jpg")
    return root


def convert(folder: object, path: pathlib.Path, num_volumes: int, **options: Any) -> Any:
    return torch_dts.convert(folder, path, num_volumes=num_volumes, progress=False, **options)


def names(folder: pathlib.Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("num_volumes", [2, 7])
@pytest.mark.parametrize("order", ["shuffled", "source"])
def test_each_sample_is_in_one_volume(
    folder: pathlib.Path, tmp_path: pathlib.Path, num_volumes: int, order: str
) -> None:
    report = convert(folder, tmp_path / "x.dts", num_volumes, order=order)
    expected = ImageFolder(folder)
    ranks = split_ranks(len(expected), num_volumes, order, 42)
    for path, own in zip(report.paths, ranks, strict=True):
        with torch_dts.open(ExactFiles((path,))) as file:
            assert sorted(file.source_index.tolist()) == own.tolist()
            assert file.classes == expected.classes
            assert file.header.total_blocks == num_volumes
            for position, source in enumerate(own.tolist()):
                with open(expected.samples[source][0], "rb") as original:
                    assert bytes(file.read(position)) == original.read()
                assert int(file.labels[position]) == expected.targets[source]
    dataset = torch_dts.DTSDataset(report)
    assert len(dataset) == len(expected)
    assert dataset.targets == expected.targets
    for index in range(len(expected)):
        assert dataset[index][0].tobytes() == expected[index][0].tobytes()
    if order == "source":
        assert dataset.file.source_index.tolist() == list(range(len(expected)))


def test_volumes_written_one_by_one_are_the_same(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    whole = convert(folder, tmp_path / "x.dts", 3)
    (tmp_path / "alone").mkdir()
    for volume in (2, 0, 1):
        options = ["--num-volumes", "3", "--volume", str(volume), "--num-workers", "1"]
        assert main(["convert", str(folder), "-o", str(tmp_path / "alone" / "x.dts"), *options]) == 0
    assert names(tmp_path / "alone") == [os.path.basename(path) for path in whole.paths]
    for path in map(pathlib.Path, whole.paths):
        together, alone = path.read_bytes(), (tmp_path / "alone" / path.name).read_bytes()
        assert struct.unpack_from("<I", together, 64) == (3,)
        assert struct.unpack_from("<I", alone, 64) == struct.unpack_from("<I", alone, 68) == (1,)
        # HEAD sums up the header, the section table sums up HEAD and itself.
        (num_sections,) = struct.unpack_from("<I", together, 4096 + 8)
        entries = [4096 + 16 + 40 * i for i in range(num_sections)]
        head = next(at for at in entries if together[at : at + 4] == b"HEAD")
        (content,) = struct.unpack_from("<Q", together, head + 8)
        allowed = {
            *TOTAL_BLOCKS,
            *range(4108, 4112),
            *range(head + 32, head + 36),
            *range(content, content + 4),
        }
        start = together[: 1 << 24]
        differ = np.flatnonzero(
            np.frombuffer(start, np.uint8) != np.frombuffer(alone[: 1 << 24], np.uint8)
        ).tolist()
        assert set(differ) <= allowed
        assert together[1 << 24 :] == alone[1 << 24 :]
    assert torch_dts.verify(tmp_path / "alone").ok
    with torch_dts.open(tmp_path / "alone") as file, torch_dts.open(whole) as other:
        assert file.info == other.info


def test_workers_change_nothing(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    one = convert(folder, tmp_path / "one.dts", 2, num_workers=1)
    four = convert(folder, tmp_path / "four.dts", 2, num_workers=4)
    for a, b in zip(one.paths, four.paths, strict=True):
        assert pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()


def test_bad_samples_keep_their_numbers(
    folder: pathlib.Path, tmp_path: pathlib.Path, image_folder: Make
) -> None:
    root = image_folder(classes={"a": 6, "b": 3})
    (root / "a" / "2.jpg").write_bytes(b"no picture")
    for volume in range(2):
        report = convert(root, tmp_path / "x.dts", 2, volume=volume, on_error="skip")
        assert [bad.index for bad in report.skipped] == [2]
    with torch_dts.open(tmp_path / "x-00000-of-00002.dts") as file:
        assert sorted(file.source_index.tolist()) == list(range(8))
        assert list(file.paths) == [f"a/{i}.jpg" for i in (0, 1, 3, 4, 5)] + [f"b/{i}.jpg" for i in range(3)]


def test_only_the_volumes_samples_are_read(tmp_path: pathlib.Path, image_folder: Make, monkeypatch) -> None:
    root = image_folder(classes={"a": 6})
    read = []
    read_files = _native.read_files_into
    monkeypatch.setattr(
        _native, "read_files_into", lambda paths, *rest: (read.extend(paths), read_files(paths, *rest))[1]
    )
    convert(root, tmp_path / "x.dts", 3, volume=1, check="none")
    expected = split_ranks(6, 3, "shuffled", 42)[1].tolist()
    assert sorted(read) == [str(root / "a" / f"{i}.jpg") for i in expected]


def test_the_report_is_about_the_set(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = convert(folder, tmp_path / "x.dts", 3)
    assert os.fspath(report) == report.path == report.paths[0] == str(tmp_path / "x-00000-of-00003.dts")
    assert (report.num_samples, report.num_blocks, report.num_volumes) == (24, 3, 3)
    assert report.file_bytes == sum(os.path.getsize(path) for path in report.paths)
    assert report.source_bytes == sum(path.stat().st_size for path in folder.rglob("*.jpg"))
    assert f"wrote {report.path} and the other 2 volumes of the set" in str(report)
    alone = convert(folder, tmp_path / "y.dts", 3, volume=2)
    assert alone.paths == (str(tmp_path / "y-00002-of-00003.dts"),)
    assert alone.num_samples == 8
    assert "one of 3 volumes" in str(alone)


def test_one_volume_is_a_plain_file(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = convert(folder, tmp_path / "x.dts", 1)
    assert names(tmp_path) == ["x.dts"]
    with torch_dts.open(report) as file:
        assert "set" not in file.info
        assert file.header.num_volumes == 1


def test_a_set_as_a_source(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = convert(folder, tmp_path / "x.dts", 3)
    expected = ImageFolder(folder)
    dataset = torch_dts.DTSDataset(report)
    again = torch_dts.convert(dataset, tmp_path / "again.dts", progress=False)
    with torch_dts.open(again) as file:
        assert list(file.paths) == [os.path.relpath(path, folder) for path, _ in expected.samples]
        assert file.labels.tolist() == expected.targets
        assert [bytes(file.read(i)) for i in range(24)] == [bytes(dataset.file.read(i)) for i in range(24)]
    part = convert(Subset(dataset, [20, 3, 7]), tmp_path / "part.dts", 2)
    with torch_dts.open(part) as file:
        assert [bytes(file.read(i)) for i in range(3)] == [bytes(dataset.file.read(i)) for i in (20, 3, 7)]
    with pytest.raises(
        ValueError, match=r"would overwrite '.*x-00001-of-00003\.dts', which the source reads"
    ):
        torch_dts.convert(dataset, report.paths[1], overwrite=True, progress=False)
    with pytest.raises(
        ValueError, match=r"would overwrite '.*x-00000-of-00003\.dts', which the source reads"
    ):
        convert(dataset, tmp_path / "x.dts", 3, overwrite=True)


def test_damage_in_a_volume_is_not_copied(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = convert(folder, tmp_path / "x.dts", 2)
    with open(report.paths[1], "r+b") as file:
        file.seek((16 << 20) + 5000)
        file.write(b"\xff\x00")
    with pytest.raises(torch_dts.CorruptFileError, match=r"x-00001-of-00002\.dts: block 0"):
        torch_dts.convert(torch_dts.DTSDataset(report), tmp_path / "again.dts", progress=False)
    assert "again.dts" not in names(tmp_path)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing(
    folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch, block: int, error: BaseException
) -> None:
    """In the first volume, or behind it."""
    calls = []
    write = _native.writer_write_block

    def failing(*args: object) -> None:
        calls.append(args)
        if len(calls) > block:
            raise error
        write(*args)

    monkeypatch.setattr(_native, "writer_write_block", failing)
    with pytest.raises(type(error), match=str(error) or "^$"):
        convert(folder, tmp_path / "x.dts", 3)
    assert names(tmp_path) == []


def test_names_are_given_together_or_not_at_all(
    folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch
) -> None:
    publish = _native.writer_publish
    seen: list[list[str]] = []

    def failing(writer: int) -> None:
        seen.append(names(tmp_path))
        if len(seen) == 2:
            (tmp_path / "x-00001-of-00003.dts").write_bytes(b"of somebody else")
        publish(writer)

    monkeypatch.setattr(_native, "writer_publish", failing)
    with pytest.raises(FileExistsError, match="the target appeared meanwhile"):
        convert(folder, tmp_path / "x.dts", 3)
    assert seen[0] == [f"x-0000{v}-of-00003.dts{end}" for v in range(3) for end in (".lock", ".partial")]
    assert names(tmp_path) == ["x-00001-of-00003.dts"]
    assert (tmp_path / "x-00001-of-00003.dts").read_bytes() == b"of somebody else"


def test_overwrite(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.dts"
    first = convert(folder, path, 2, seed=1)
    with pytest.raises(FileExistsError, match=r"x-00000-of-00002\.dts"):
        convert(folder, path, 2)
    os.unlink(first.paths[1])
    with pytest.raises(ValueError, match=r"x-00000-of-00002\.dts is a volume of another set"):
        convert(folder, path, 2, volume=1, seed=2)
    assert names(tmp_path) == ["x-00000-of-00002.dts"]
    convert(folder, path, 2, volume=1, seed=1)
    assert torch_dts.verify(tmp_path).ok
    with pytest.raises(ValueError, match=r"which volume 1 would not fit: delete the old volumes first"):
        convert(folder, path, 2, volume=1, seed=2, overwrite=True)
    assert torch_dts.verify(tmp_path).ok
    convert(folder, path, 2, volume=1, seed=1, overwrite=True)
    convert(folder, path, 2, seed=2, overwrite=True)
    with torch_dts.open(tmp_path) as file:
        assert file.info["seed"] == 2
    os.unlink(first.paths[1])
    convert(folder, path, 2, volume=0, seed=3, overwrite=True)
    convert(folder, path, 2, volume=1, seed=3)
    assert torch_dts.verify(tmp_path).ok


def test_what_can_not_be_cut(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="num_volumes=25 is more than the 24 samples"):
        convert(folder, tmp_path / "x.dts", 25)
    pixels = [(np.zeros((4, 4, 3), np.uint8), 0)] * 3
    with pytest.raises(ValueError, match="num_volumes=2 has no meaning for a pixel file"):
        convert(pixels, tmp_path / "x.dts", 2, encoding="pixels")


def test_a_source_file_is_not_replaced(tmp_path: pathlib.Path, folder: pathlib.Path) -> None:
    source = tmp_path / "x-00001-of-00002.dts"  # whatever it is called
    image = (folder / "a" / "00.jpg").read_bytes()
    source.write_bytes(image)
    listed = [(str(source), 0), (str(folder / "a" / "01.jpg"), 0)]
    with pytest.raises(ValueError, match=r"would overwrite sample 0 of the source"):
        convert(listed, tmp_path / "x.dts", 2, overwrite=True)
    assert source.read_bytes() == image
