# SPDX-License-Identifier: Apache-2.0
"""What lies in archives, against Python's own tarfile."""

from __future__ import annotations

import pathlib
import tarfile

import pytest
from tars import special, write_tar

from torch_dts.convert import _archive_list
from torch_dts.convert._archive_list import clean_names, list_archives


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_as_tarfile_sees_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, format: int) -> None:
    monkeypatch.setattr(_archive_list, "_MEMBERS_AT_A_TIME", 7)
    members = [(f"{'d' * (i * 7 % 90)}/{i}é{'n' * (i * 5 % 60)}", b"x" * (i * 37)) for i in range(40)]
    archives = [write_tar(tmp_path / f"{i}.tar", members[i * 20 :][:20], format=format) for i in range(2)]
    found = list_archives([str(path) for path in archives], None)
    expected = []
    for number, path in enumerate(archives):
        with tarfile.open(path) as tar:
            expected += [(each.name.lstrip("/"), [number, each.offset_data, each.size]) for each in tar]
    assert list(zip(found.names, found.place.tolist(), strict=True)) == expected
    assert found.identities.tolist() == [[path.stat().st_size, path.stat().st_mtime_ns] for path in archives]
    assert (found.failed, found.folders) == ({}, [])


def test_folders_and_devices(tmp_path: pathlib.Path) -> None:
    archive = write_tar(
        tmp_path / "x.tar",
        [special("./a/", tarfile.DIRTYPE), special("a/fifo.jpg", tarfile.FIFOTYPE), ("./a//x", b"1")],
    )
    found = list_archives([str(archive)], None)
    assert (found.names, found.folders) == (["a/x"], ["a"])


def test_names() -> None:
    plain = ["a", "b/c", ".hidden/x"]
    assert clean_names(plain, "x.tar") is plain
    assert clean_names(["./a", "/b//c/", "d/./e.", "f../g"], "x.tar") == ["a", "b/c", "d/e.", "f../g"]
    with pytest.raises(ValueError, match=r"x\.tar: the member 'a/\.\./b' leads out of the archive"):
        clean_names(["a/../b"], "x.tar")


def test_archives_in_an_archive(tmp_path: pathlib.Path) -> None:
    inner = write_tar(tmp_path / "i.tar", [("x", b"123"), special("l", tarfile.LNKTYPE, "x")])
    outer = write_tar(tmp_path / "o.tar", [("c/A.TAR", inner.read_bytes()), ("y", b"4")])
    found = list_archives([str(outer)], None)
    assert found.names == ["y", "c/A/x", "c/A/l"]
    data = outer.read_bytes()
    assert [data[offset : offset + size] for _, offset, size in found.place.tolist()] == [
        b"4",
        b"123",
        b"123",
    ]
