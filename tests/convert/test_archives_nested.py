# SPDX-License-Identifier: Apache-2.0
"""Archives inside of an archive: empty ones are classes, and no file of two archives is lost."""

from __future__ import annotations

import io
import pathlib
import tarfile
from collections.abc import Callable

import pytest
from tars import special, write_tar

import torch_dts
from torch_dts.convert._report import ConvertReport

Make = Callable[..., pathlib.Path]


@pytest.fixture
def jpeg(image_folder: Make) -> bytes:
    return (image_folder(classes={"a": 1}) / "a" / "0.jpg").read_bytes()


def tar_bytes(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def contents(report: ConvertReport) -> dict[str, bytes]:
    with torch_dts.open(report) as file:
        return {path: bytes(file.read(i)) for i, path in enumerate(file.paths)}


@pytest.mark.parametrize("prefix", ["", "set/", "set/train/"])
@pytest.mark.parametrize("inner", ["a.jpg", "deep/a.jpg"])
def test_an_empty_archive_is_an_empty_class(
    tmp_path: pathlib.Path, jpeg: bytes, prefix: str, inner: str
) -> None:
    members = [(f"{prefix}n0.tar", tar_bytes()), (f"{prefix}n1.tar", tar_bytes((inner, jpeg)))]
    archive = write_tar(tmp_path / "x.tar", members)
    with pytest.raises(FileNotFoundError, match=r"no image in 'n0'; allow_empty=True keeps such classes"):
        torch_dts.convert(archive)
    with torch_dts.open(torch_dts.convert(archive, allow_empty=True)) as file:
        assert (file.classes, file.labels.tolist()) == (["n0", "n1"], [1])
        assert list(file.paths) == [f"n1/{inner}"]


def test_an_archive_that_holds_all_is_passed_through(tmp_path: pathlib.Path, jpeg: bytes) -> None:
    archive = write_tar(tmp_path / "x.tar", [("set.tar", tar_bytes(("a/0.jpg", jpeg), ("b/1.jpg", jpeg)))])
    with torch_dts.open(torch_dts.convert(archive)) as file:
        assert (file.classes, list(file.paths)) == (["a", "b"], ["a/0.jpg", "b/1.jpg"])


def test_an_empty_split(tmp_path: pathlib.Path, jpeg: bytes) -> None:
    members = [("train.tar", tar_bytes(("a/0.jpg", jpeg))), ("val.tar", tar_bytes())]
    archive = write_tar(tmp_path / "x.tar", members)
    with pytest.raises(ValueError, match="pass split='train' or split='val'"):
        torch_dts.convert(archive)
    with pytest.raises(ValueError, match="no image in 'val/' of the archive"):
        torch_dts.convert(archive, split="val")
    assert contents(torch_dts.convert(archive, split="train")) == {"a/0.jpg": jpeg}


@pytest.mark.parametrize(
    "members",
    [
        [("n0.tar", tar_bytes(("q.jpg", b"1"))), ("n0/q.jpg", b"2")],
        [("n0/q.jpg", b"2"), ("n0.tar", tar_bytes(("q.jpg", b"1")))],
        [("n0.tar", tar_bytes(("q.jpg", b"1"))), ("n0.TAR", tar_bytes(("q.jpg", b"2")))],
    ],
)
def test_two_archives_with_a_file_of_one_path(
    tmp_path: pathlib.Path, members: list[tuple[str, bytes]]
) -> None:
    archive = write_tar(tmp_path / "x.tar", members)
    with pytest.raises(ValueError, match=r"x\.tar.*' and '.*x\.tar.*' both have a file 'n0/q\.jpg'"):
        torch_dts.convert(archive, check="none")
    with pytest.raises(ValueError, match=r"both have a file 'n0/q\.jpg'; convert them one by one, or unpack"):
        torch_dts.convert(archive, check="none", labels={"n0/q.jpg": "a"})


def test_a_later_member_replaces_an_earlier_one(tmp_path: pathlib.Path, jpeg: bytes) -> None:
    """As in unpacking, whole archives inside included; the report counts them."""
    plain = [("a/0.jpg", jpeg + b"1"), ("a/1.jpg", jpeg), ("a/0.jpg", jpeg + b"2"), ("a/0.jpg", jpeg + b"3")]
    report = torch_dts.convert(write_tar(tmp_path / "x.tar", [*plain, ("top.jpg", jpeg), ("top.jpg", jpeg)]))
    assert report.num_replaced == 2
    assert "  replaced  2 files of the archive by later ones of the same name" in str(report)
    assert contents(report) == {"a/0.jpg": jpeg + b"3", "a/1.jpg": jpeg}
    nested = [
        ("n0.tar", tar_bytes(("old.jpg", jpeg), ("a.jpg", jpeg + b"1"))),
        ("n0.tar", tar_bytes(("a.jpg", jpeg + b"2"))),
    ]
    report = torch_dts.convert(write_tar(tmp_path / "y.tar", nested))
    assert (contents(report), report.num_replaced) == ({"n0/a.jpg": jpeg + b"2"}, 1)
    with tarfile.open(tmp_path / "y.tar") as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    assert (tmp_path / "unpacked" / "n0.tar").read_bytes() == nested[1][1]


def test_a_link_called_like_an_archive(tmp_path: pathlib.Path, jpeg: bytes) -> None:
    members = [("n1.tar", tar_bytes(("a.jpg", jpeg))), special("n0.tar", tarfile.SYMTYPE, "n1.tar")]
    with pytest.raises(ValueError, match=r"x\.tar: 'n0\.tar' is a link or a sparse member called like"):
        torch_dts.convert(write_tar(tmp_path / "x.tar", members))
