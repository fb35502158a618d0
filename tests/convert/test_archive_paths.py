# SPDX-License-Identifier: Apache-2.0
"""Which archives a source names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pathlib
from collections.abc import Callable

import pytest
from tars import write_tar

from torch_dts.convert._archive_paths import archive_paths, expand_braces


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("s-{8..10}.tar", ["s-8.tar", "s-9.tar", "s-10.tar"]),
        ("s-{008..010}.tar", ["s-008.tar", "s-009.tar", "s-010.tar"]),
        ("{a,b}/{0..1}", ["a/0", "a/1", "b/0", "b/1"]),
        ("plain", ["plain"]),
    ],
)
def test_braces(pattern: str, expected: list[str]) -> None:
    assert list(expand_braces(pattern)) == expected


@pytest.mark.parametrize("pattern", ["{}", "{a}", "{3..1}", "{a..c}", "{0..9999999}"])
def test_braces_of_another_form(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"must be a rising range such as \{000\.\.099\} or a list"):
        expand_braces(pattern)
    with pytest.raises(ValueError, match="stands for 2,000,000 files, at most 1,048,576"):
        expand_braces("{0..999999}{0,1}")


def test_what_names_no_archive(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8")
    for source in (tmp_path, tmp_path / "none", tmp_path / "x.jpg", [], [("x.tar", 0)], 3, "", "a\0b"):
        assert archive_paths(source) is None


def test_by_name_or_by_content(tmp_path: pathlib.Path) -> None:
    archive = write_tar(tmp_path / "x.images", [("a", b"1")])
    assert archive_paths(str(archive)) == [str(archive)]
    (tmp_path / "s-{0..1}.TAR").write_bytes(b"its name counts")
    assert archive_paths(tmp_path / "s-{0..1}.TAR") == [f"{tmp_path}/s-{{0..1}}.TAR"]
    assert archive_paths([archive]) == [str(archive)]


@pytest.mark.parametrize(
    ("compress", "name", "advice"),
    [
        (gzip.compress, "gzip", "gzip -dk"),
        (bz2.compress, "bzip2", "bzip2 -dk"),
        (lzma.compress, "xz", "xz -dk"),
    ],
)
def test_compressed(
    tmp_path: pathlib.Path, compress: Callable[[bytes], bytes], name: str, advice: str
) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(compress(write_tar(tmp_path / "x.tar", []).read_bytes()))
    with pytest.raises(
        ValueError, match=rf"x\.tar\.gz is compressed \({name}\).*run '{advice} .*x\.tar\.gz' and pass"
    ):
        archive_paths(path)
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"is a zip archive: unpack it"):
        archive_paths([tmp_path / "x.tar", path])


def test_lists_and_patterns(tmp_path: pathlib.Path) -> None:
    for name in ("s-1.tar", "s-2.tar"):
        write_tar(tmp_path / name, [])
    both = [f"{tmp_path}/s-1.tar", f"{tmp_path}/s-2.tar"]
    assert archive_paths(f"{tmp_path}/s-?.tar") == both
    assert archive_paths([f"{tmp_path}/s-{{1..2}}.tar"]) == both
    assert archive_paths(f"{tmp_path}/{{s-1,s-2}}.t*") == both
    with pytest.raises(
        FileNotFoundError, match=r"1 of the 3 files of the pattern .* are missing, first: .*s-3.tar"
    ):
        archive_paths(f"{tmp_path}/s-{{1..3}}.tar")
    with pytest.raises(FileNotFoundError, match="no file fits the pattern"):
        archive_paths(f"{tmp_path}/t-*.tar")
    with pytest.raises(FileNotFoundError, match="no such file"):
        archive_paths([*both, tmp_path / "gone.tar"])
    with pytest.raises(ValueError, match=r"s-1\.tar' is named twice \(first as '.*s-1\.tar'\)"):
        archive_paths([*both, f"{tmp_path}/./s-1.tar"])
    with pytest.raises(
        TypeError, match=r"must all name tar archives, but '.*' is a folder; join .*ConcatDataset"
    ):
        archive_paths([*both, tmp_path])
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(TypeError, match=r"x\.jpg' is no tar archive"):
        archive_paths([*both, tmp_path / "x.jpg"])
