# SPDX-License-Identifier: Apache-2.0
"""The paths stored in the file."""

from __future__ import annotations

import pathlib

import pytest

from torch_dts.convert._names import check_paths, name_samples


def test_below_a_known_root() -> None:
    files = ["/d/train/cat/1.jpg", "/d/train/dog/x/2.jpg"]
    assert name_samples(files, [], [0, 1], ["cat", "dog"], "/d/train") == ["cat/1.jpg", "dog/x/2.jpg"]


@pytest.mark.parametrize("root", ["train/", "train//", "./train", "../d/train", "."])
def test_roots_as_users_write_them(
    root: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    monkeypatch.chdir(tmp_path / "d")
    files = [f"{root.rstrip('/')}/cat/1.jpg", f"{root.rstrip('/')}/dog/2.jpg"]
    assert name_samples(files, [], [0, 1], ["cat", "dog"], root) == ["cat/1.jpg", "dog/2.jpg"]


def test_below_the_folder_that_holds_all() -> None:
    files = ["/d/train/cat/1.jpg", "/d/val/cat/1.jpg"]
    assert name_samples(files, [], [0, 0], ["cat"], None) == ["train/cat/1.jpg", "val/cat/1.jpg"]


def test_a_root_that_does_not_hold_all() -> None:
    files = ["/d/train/cat/1.jpg", "/d/more/cat/2.jpg"]
    assert name_samples(files, [], [0, 0], ["cat"], "/d/train") == ["train/cat/1.jpg", "more/cat/2.jpg"]


def test_one_class_keeps_its_folder() -> None:
    assert name_samples(["/d/cat/1.jpg", "/d/cat/2.jpg"], [], [0, 0], ["cat"], None) == [
        "cat/1.jpg",
        "cat/2.jpg",
    ]


def test_files_that_share_no_folder() -> None:
    files = ["/x/1.jpg", "/y/2.png"]
    assert name_samples(files, [], [1, 0], ["cat", "dog"], None) == ["dog/1.jpg", "cat/2.png"]


def test_files_that_share_no_folder_but_a_name() -> None:
    files = ["/x/1.jpg", "/y/1.jpg"]
    assert name_samples(files, [], [1, 1], ["cat", "dog"], None) == ["dog/00000000.jpg", "dog/00000001.jpg"]


def test_samples_without_a_file() -> None:
    names = name_samples(["", "/d/dog/1.jpg", ""], [".png", "", ".jpg"], [0, 1, 1], ["cat", "dog"], None)
    assert names == ["cat/00000000.png", "dog/1.jpg", "dog/00000002.jpg"]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("T-shirt/top", "T-shirt_top"),
        ("..", "class_0"),
        ("", "class_0"),
        ("x" * 256, "class_0"),
        ("猫", "猫"),
    ],
)
def test_class_names_as_folders(name: str, folder: str) -> None:
    assert name_samples([""], [".jpg"], [0], [name], None) == [f"{folder}/00000000.jpg"]


def test_the_same_path_twice() -> None:
    with pytest.raises(ValueError, match=r"samples 0 and 2 of the source have the same path 'a/1\.jpg'"):
        name_samples(["/d/a/1.jpg", "/d/a/2.jpg", "/d/a/1.jpg"], [], [0, 0, 0], ["a"], "/d")


@pytest.mark.parametrize("name", ["a/...", "..a/b", "a/.b", "a b/\n", "x" * 255, "a\\b", "\udcff/x"])
def test_good_paths(name: str) -> None:
    check_paths(["a/1.jpg", name])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "must be relative, not empty"),
        ("/a", "must be relative"),
        ("a\0b", "without NUL"),
        ("a//b", "empty, '.' or '..' part"),
        ("a/", "empty, '.' or '..' part"),
        ("./a", "empty, '.' or '..' part"),
        ("a/../b", "empty, '.' or '..' part"),
        ("..", "empty, '.' or '..' part"),
        ("a/" * 2048 + "b", "at most 4096 bytes, not 4097"),
        ("é" * 2049, "at most 4096 bytes, not 4098"),
    ],
)
def test_bad_paths(name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"(?s)sample 1 of the source: its path .*{problem}"):
        check_paths(["a/1.jpg", name])


def test_longest_path() -> None:
    check_paths(["é" * 2048])


def test_many_paths_are_checked_chunk_by_chunk() -> None:
    names = [f"c/{i}" for i in range(70_000)]
    check_paths(names)
    names[69_999] = "c/../x"
    with pytest.raises(ValueError, match="sample 69999 of the source"):
        check_paths(names)
