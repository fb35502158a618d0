# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import pytest
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

from torch_dts.datasets import image_folder as indexed

TO_TENSOR = ToTensor()
OLD = time.time_ns() - 3600 * 10**9  # long before any listing


def settle(root: pathlib.Path) -> None:
    """Gives all folders an old time stamp, as those of a finished data set have."""
    for folder, _, _ in os.walk(root):
        os.utime(folder, ns=(OLD, OLD))


def same(a: ImageFolder, b: ImageFolder) -> bool:
    names = ("root", "classes", "class_to_idx", "samples", "imgs", "targets", "extensions", "loader")
    return type(a) is type(b) and all(getattr(a, name) == getattr(b, name) for name in names)


@pytest.fixture
def root(image_folder: Callable[..., pathlib.Path]) -> pathlib.Path:
    folder = image_folder(classes={"a": 3, "b": 2})
    (folder / "b" / "deeper").mkdir()
    (folder / "b" / "1.jpg").rename(folder / "b" / "deeper" / os.fsdecode(b"\xff \xe7.jpg"))
    settle(folder)
    return folder


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that ImageFolder listed."""
    seen: list[str] = []
    make = ImageFolder.make_dataset

    def counted(directory: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(os.fspath(directory))
        return make(directory, *args, **kwargs)

    monkeypatch.setattr(ImageFolder, "make_dataset", staticmethod(counted))
    return seen


def test_the_second_run_lists_nothing_and_is_equal(
    root: pathlib.Path, tmp_path: pathlib.Path, listings: list[str]
) -> None:
    cache = tmp_path / "train.index"
    first = indexed(root, index_cache=cache)
    assert len(listings) == 1
    second = indexed(root, TO_TENSOR, abs, index_cache=cache)
    assert len(listings) == 1
    assert same(first, second)
    assert same(second, ImageFolder(str(root), TO_TENSOR, abs))
    assert second.transform is TO_TENSOR
    assert second.target_transform is abs
    assert second[4][1] == 1
    assert repr(second) == repr(ImageFolder(str(root), TO_TENSOR, abs))


@pytest.mark.parametrize("change", ["add", "remove", "rename", "deeper", "new class", "class away"])
def test_a_changed_folder_is_listed_again(
    change: str, root: pathlib.Path, tmp_path: pathlib.Path, listings: list[str]
) -> None:
    cache = tmp_path / "train.index"
    indexed(root, index_cache=cache)
    picture = (root / "a" / "0.jpg").read_bytes()
    if change == "add":
        (root / "a" / "9.jpg").write_bytes(picture)
    elif change == "remove":
        (root / "a" / "2.jpg").unlink()
    elif change == "rename":
        (root / "a" / "2.jpg").rename(root / "a" / "8.jpg")
    elif change == "deeper":
        (root / "b" / "deeper" / "new.jpg").write_bytes(picture)
    elif change == "new class":
        (root / "c").mkdir()
        (root / "c" / "1.jpg").write_bytes(picture)
    else:
        (root / "a").rename(tmp_path / "a")
    fresh = indexed(root, index_cache=cache)
    assert len(listings) == 2
    assert same(fresh, ImageFolder(str(root)))


def test_a_folder_that_changed_just_now_is_not_trusted(
    root: pathlib.Path, tmp_path: pathlib.Path, listings: list[str]
) -> None:
    cache = tmp_path / "train.index"
    now = time.time_ns()
    os.utime(root / "a", ns=(now, now))
    indexed(root, index_cache=cache)
    indexed(root, index_cache=cache)
    assert len(listings) == 2


@pytest.mark.parametrize("content", [b"", b"no zlib", b"\x78\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_cache_is_made_anew(
    content: bytes, root: pathlib.Path, tmp_path: pathlib.Path, listings: list[str]
) -> None:
    cache = tmp_path / "train.index"
    cache.write_bytes(content)
    assert same(indexed(root, index_cache=cache), ImageFolder(str(root)))
    listings.clear()
    indexed(root, index_cache=cache)
    assert listings == []


def test_the_cache_of_another_folder_is_not_used(
    root: pathlib.Path, image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    other = image_folder(classes={"x": 1})
    settle(other)
    cache = tmp_path / "train.index"
    indexed(root, index_cache=cache)
    assert indexed(other, index_cache=cache).classes == ["x"]


def test_a_cache_that_cannot_be_written_is_done_without(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cache = tmp_path / "missing" / "train.index"
    assert same(indexed(root, index_cache=cache), ImageFolder(str(root)))
    assert not cache.parent.exists()


def test_errors_are_image_folders(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        indexed(tmp_path, index_cache=tmp_path / "index")
    assert list(tmp_path.iterdir()) == []
