# SPDX-License-Identifier: Apache-2.0
"""Where the output may go."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest
import torch
from torchvision.datasets import ImageFolder

from torch_dts.convert._target import check_place, check_target, find_target, refuse_source

Make = Callable[..., pathlib.Path]


def resolve_target(path: object, source: object, overwrite: bool) -> str:
    """All that is asked of a target before any work."""
    target = find_target(path, source)
    check_place(target)
    check_target(target, source, overwrite)
    return target


def test_beside_the_folder(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = image_folder()
    expected = f"{root}.dts"
    assert resolve_target(None, root, False) == expected
    assert resolve_target(None, f"{root}/", False) == expected
    assert resolve_target(None, ImageFolder(root), False) == expected
    monkeypatch.chdir(root)
    assert resolve_target(None, ".", False) == expected


def test_no_name_without_a_root() -> None:
    with pytest.raises(ValueError, match=r"path=None works for a folder.*say path='\.\.\.\.dts'"):
        resolve_target(None, [("x.jpg", 0)], False)
    with pytest.raises(ValueError, match="path=None has no name for the source '/'"):
        resolve_target(None, "/", False)


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode])
def test_named(tmp_path: pathlib.Path, kind: Callable[[str], object]) -> None:
    assert resolve_target(kind(f"{tmp_path}/x.dts"), [], False) == f"{tmp_path}/x.dts"


def test_home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_target("~/x.dts", [], False) == f"{tmp_path}/x.dts"
    assert resolve_target(pathlib.Path("~/x.dts"), [], False) == f"{tmp_path}/x.dts"


def test_a_source_that_is_missing_is_named_first(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder.*missing'"):
        resolve_target(None, tmp_path / "deep" / "missing", False)


def test_wrong_types(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match=r"path must be a str, an os.PathLike or None, not 3"):
        resolve_target(3, [], False)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_no_file_name(path: str) -> None:
    with pytest.raises(ValueError, match="path must name a file"):
        resolve_target(path, [], False)


def test_folders_and_missing_parents(tmp_path: pathlib.Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"a folder; name the file, such as '.*/train\.dts'"):
        resolve_target(tmp_path, [], True)
    with pytest.raises(IsADirectoryError, match="a folder; name the file"):
        resolve_target(f"{tmp_path}/new/", [], True)
    with pytest.raises(FileNotFoundError, match=r"folder for the output does not exist: '.*/no'"):
        resolve_target(tmp_path / "no" / "x.dts", [], False)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match=r"not a folder: '.*/file'"):
        resolve_target(tmp_path / "file" / "x.dts", [], False)


def test_existing(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x.dts"
    target.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="exists; overwrite=True replaces it"):
        resolve_target(target, [], False)
    assert resolve_target(target, [], True) == str(target)
    (tmp_path / "link.dts").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        resolve_target(tmp_path / "link.dts", [], False)
    assert target.read_bytes() == b"precious"


def test_devices_and_pipes_are_left_alone(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="path='/dev/null' is not a regular file"):
        resolve_target("/dev/null", [], True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file and is left alone"):
        resolve_target(tmp_path / "pipe", [], True)


@pytest.mark.parametrize("link", ["itself", "symlink", "hard link", "to the source"])
def test_sources_are_never_replaced(tmp_path: pathlib.Path, link: str) -> None:
    source, other = tmp_path / "x.jpg", tmp_path / "y.jpg"
    source.write_bytes(b"abc")
    other.write_bytes(b"abcd")
    target, listed = source, source
    if link == "symlink":
        target = tmp_path / "link"
        target.symlink_to(source)
    elif link == "hard link":
        target = tmp_path / "link"
        os.link(source, target)
    elif link == "to the source":
        listed = tmp_path / "link"
        listed.symlink_to(source)
    with pytest.raises(ValueError, match=r"would overwrite sample 1 of the source, '.*'; choose another"):
        refuse_source(str(target), [str(other), str(listed)], torch.tensor([4, 3]))


def test_a_source_called_like_the_partial_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.dts.partial").write_bytes(b"abc")
    with pytest.raises(ValueError, match="would overwrite sample 0"):
        refuse_source(str(tmp_path / "x.dts"), [str(tmp_path / "x.dts.partial")], torch.tensor([-1]))


def test_other_targets_are_fine(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"abc")
    (tmp_path / "old.dts").write_bytes(b"abd")
    files = [str(tmp_path / "x.jpg"), "", str(tmp_path / "gone.jpg")]
    refuse_source(str(tmp_path / "old.dts"), files, torch.tensor([3, 3, -1]))
    refuse_source(str(tmp_path / "new.dts"), files, torch.tensor([3, 3, -1]))


def test_names_that_are_too_long(tmp_path: pathlib.Path) -> None:
    """Also those that only the suffix makes so."""
    name = "x" * 243 + ".dts"
    assert resolve_target(tmp_path / name, [], False) == str(tmp_path / name)
    for more in ("y", "y" * 200):
        with pytest.raises(
            OSError, match=rf"has {247 + len(more)} bytes; here it may have 247, as '.partial'"
        ):
            resolve_target(tmp_path / (more + name), [], False)
