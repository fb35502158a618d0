# SPDX-License-Identifier: Apache-2.0
"""Folders: which are right, and what is said of those that are not."""

from __future__ import annotations

import gc
import os
import pathlib
import warnings
from collections.abc import Callable

import pytest
from torchvision.datasets import DatasetFolder, ImageFolder

from torch_dts.convert._folder import check_listable, folder_root, is_dataset_folder, is_val_name, open_folder

Make = Callable[..., pathlib.Path]


def test_lists_what_image_folder_lists(image_folder: Make) -> None:
    root = image_folder(classes={"b": 2, "a": 1, "10": 1, "2": 1})
    opened, expected = open_folder(str(root), False), ImageFolder(root)
    assert opened.samples == expected.samples
    assert opened.class_to_idx == expected.class_to_idx == {"10": 0, "2": 1, "a": 2, "b": 3}


def test_missing(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder; expected .*/<class>/<image>\.jpg"):
        open_folder(str(tmp_path / "no"), False)


def test_dangling_symlink(tmp_path: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="a symlink to something that does not exist"):
        open_folder(str(tmp_path / "link"), False)


def test_a_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"x")
    with pytest.raises(NotADirectoryError, match="a file, not a folder; expected one folder per class"):
        open_folder(str(tmp_path / "x.jpg"), False)


def test_flat(image_folder: Make) -> None:
    root = image_folder() / "a"
    with pytest.raises(FileNotFoundError, match=r"found 3 images directly in it \(such as '0.jpg'\) and no"):
        open_folder(str(root), False)


def test_no_iterator_is_left_open(image_folder: Make) -> None:
    root = image_folder()
    (root / "x.txt").write_text("x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_folder(str(root), False)
        (root / "a" / "1.jpg").unlink()
        (root / "a" / "2.jpg").unlink()
        with pytest.raises(FileNotFoundError, match=r"found 1 image directly in it"):
            open_folder(str(root / "a"), False)
        gc.collect()
    assert [each.category for each in caught if issubclass(each.category, ResourceWarning)] == []


def test_nothing_in_it(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing in it; expected one folder per class"):
        open_folder(str(tmp_path), False)


def test_other_files_only(tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match=r"no class folder and no image, but 'notes\.txt'"):
        open_folder(str(tmp_path), False)


def test_class_folders_without_any_image(tmp_path: pathlib.Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.gif").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match=r"found 'a', 'b' without any image \(\.jpg, \.jpeg,"):
        open_folder(str(tmp_path), True)


@pytest.mark.parametrize("names", [["train"], ["train", "val"], ["photos"], ["Test", "Train"]])
def test_one_level_too_many(image_folder: Make, tmp_path: pathlib.Path, names: list[str]) -> None:
    top = tmp_path / "top"
    top.mkdir()
    for name in names:
        image_folder().rename(top / name)
    with pytest.raises(FileNotFoundError, match=f"images one level deeper.*Pass '.*{names[0]}'") as caught:
        open_folder(str(top), False)
    assert "ImageFolder(...) instead of the path" in str(caught.value)


def test_deep_class_folders_are_fine(image_folder: Make) -> None:
    root = image_folder(classes={"a/2019": 1, "b/2020": 1})
    assert open_folder(str(root), False).classes == ["a", "b"]
    root = image_folder(classes={"only": 1, "only/more": 2})
    assert len(open_folder(str(root), False).samples) == 3


def test_one_class_called_train_is_fine(image_folder: Make) -> None:
    root = image_folder(classes={"train": 2})
    assert open_folder(str(root), False).classes == ["train"]


def test_empty_classes(image_folder: Make) -> None:
    root = image_folder()
    (root / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no image in 'empty'; allow_empty=True keeps"):
        open_folder(str(root), False)
    assert open_folder(str(root), True).class_to_idx == {"a": 0, "b": 1, "empty": 2}


def test_roots(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = image_folder()
    assert folder_root(root) == str(root)
    assert folder_root(os.fsencode(root)) == str(root)
    assert folder_root(ImageFolder(str(root))) == str(root)
    assert folder_root([("x", 0)]) is None
    monkeypatch.setenv("HOME", str(root.parent))
    assert folder_root(f"~/{root.name}") == str(root)


def test_kinds(image_folder: Make) -> None:
    root = image_folder()
    assert is_dataset_folder(ImageFolder(root))
    assert is_dataset_folder(DatasetFolder(root, loader=str, extensions=(".jpg",)))
    assert not is_dataset_folder([])


@pytest.mark.parametrize(
    ("name", "is_val"),
    [("val", True), ("VAL", True), ("/x/valid/", True), ("validation", True), ("test", True),
     ("train", False), ("vals", False), ("/val/images", False)],
)  # fmt: skip
def test_val_names(name: str, is_val: bool) -> None:
    assert is_val_name(name) is is_val


@pytest.mark.parametrize("ending", ["", "/"])
def test_links_that_lead_up(image_folder: Make, ending: str) -> None:
    """They are followed as torchvision follows them, with a warning; other links get none."""
    root = image_folder(classes={"a": 1, "b": 1})
    (root / "b" / "other").symlink_to(root / "a")
    (root / "c").symlink_to(root / "a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(open_folder(f"{root}{ending}", False)) == 4
    (root / "b" / "other").unlink()
    (root / "c").unlink()
    (root / "a" / "up").symlink_to(root / "a")
    with pytest.warns(UserWarning, match=r"a/up' is a link to a folder above it.*about 40 times, as torchv"):
        opened = open_folder(f"{root}{ending}", False)
    assert opened.samples == ImageFolder(f"{root}{ending}").samples
    (root / "b" / "up").symlink_to(root)
    with pytest.warns(UserWarning, match=r"up' is a link to a folder above it \(\d+ such links\)"):
        check_listable(str(root))
