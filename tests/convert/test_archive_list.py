# SPDX-License-Identifier: Apache-2.0
"""What lies in archives, against Python's own tarfile."""

from __future__ import annotations

import io
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
    with pytest.raises(ValueError, match=r"x\.tar: the member 'a/\.\./\./\.\./b' leads out of the archive"):
        clean_names(["a/.././../b"], "x.tar")
    with pytest.raises(
        ValueError, match=r"x\.tar: the member 'a/\.\./b' has a part '\.\.', which tar does not"
    ):
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


def sparse(name: str, kind: str) -> tarfile.TarInfo:
    """A member of three stored bytes, as GNU tar writes what has holes."""
    info = tarfile.TarInfo("a/GNUSparseFile.7/0" if kind in ("0.1", "1.0") else name)
    info.size = 3
    if kind == "gnu":
        info.type = tarfile.GNUTYPE_SPARSE
    else:
        keys = {"0.0": "numblocks", "0.1": "map", "1.0": "major"}
        info.pax_headers = {f"GNU.sparse.{keys[kind]}": "1"}
        if kind != "0.0":
            info.pax_headers["GNU.sparse.name"] = name
    return info


@pytest.mark.parametrize("kind", ["gnu", "0.0", "0.1", "1.0"])
def test_sparse_members(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for info in (sparse("a/s.jpg", kind), tarfile.TarInfo("a/0.jpg")):
            info.size = 3
            tar.addfile(info, io.BytesIO(b"123"))
        tar.addfile(special("a/hard.jpg", tarfile.LNKTYPE, "a/s.jpg"))
    found = list_archives([str(path)], None)
    assert found.names == ["a/s.jpg", "a/0.jpg", "a/hard.jpg"]
    what = "a sparse member, which is not read: repack the archive without --sparse"
    assert found.failed == {0: what, 2: f"a hard link to 'a/s.jpg', which is {what}"}
    assert found.place[:, 2].tolist() == [0, 3, 0]


def test_why_links_lead_nowhere(tmp_path: pathlib.Path) -> None:
    links = {
        "early": (tarfile.LNKTYPE, "file", "which lies behind the hard link in the archive"),
        "never": (tarfile.LNKTYPE, "none", "which is no file of the archive"),
        "one": (tarfile.SYMTYPE, "two", "and the links go round in a circle"),
        "two": (tarfile.SYMTYPE, "one", "and the links go round in a circle"),
        "far": (tarfile.SYMTYPE, "never", "which leads to 'none', which is no file of the archive"),
        "self": (tarfile.LNKTYPE, "self", "which lies behind the hard link in the archive"),
        **{f"l{i}": (tarfile.SYMTYPE, f"l{i + 1}", "") for i in range(42)},
        "l42": (tarfile.SYMTYPE, "file", ""),
        "good": (tarfile.SYMTYPE, "./x/../file", ""),
    }
    for name in ("l0", "l1", "l2"):
        links[name] = (*links[name][:2], "with more than 40 links one behind the other")
    members: list[tarfile.TarInfo | tuple[str, bytes]] = [
        special(name, kind, target) for name, (kind, target, _) in links.items()
    ]
    found = list_archives([str(write_tar(tmp_path / "x.tar", [*members, ("file", b"1")]))], None)
    words = {tarfile.LNKTYPE: "hard link", tarfile.SYMTYPE: "symlink"}
    assert {found.names[i]: reason for i, reason in found.failed.items()} == {
        name: f"a {words[kind]} to {target!r}, {reason}"
        for name, (kind, target, reason) in links.items()
        if reason
    }
    assert found.place[found.names.index("good")].tolist() == found.place[-1].tolist()
