# SPDX-License-Identifier: Apache-2.0
"""Tar archives convert to what the unpacked folder converts to, byte for byte."""

from __future__ import annotations

import errno
import filecmp
import os
import pathlib
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from tars import folder_members, special, tar_of, write_tar

import torch_dts
from torch_dts import CorruptFileError, _native
from torch_dts.convert._report import BadSamplesError

Make = Callable[..., pathlib.Path]
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
LONG = "x" * 120


def check_equal(archive: Any, root: pathlib.Path, tmp_path: pathlib.Path, **options: Any) -> pathlib.Path:
    """Converts both and compares the files."""
    here, there = tmp_path / "archive.dts", tmp_path / "folder.dts"
    torch_dts.convert(archive if isinstance(archive, list) else str(archive), here, **options)
    options.pop("labels", None)
    torch_dts.convert(str(root), there, **options)
    assert filecmp.cmp(here, there, shallow=False)
    return here


@pytest.fixture
def odd_folder(image_folder: Make) -> pathlib.Path:
    """Classes, depths and names whose order is easily got wrong, and files that are no images."""
    root = image_folder(classes={"b": 2, "a": 3, "a b": 1, "猫": 1, "A": 1})
    jpeg = (root / "a" / "0.jpg").read_bytes()
    names = [b"a/sub/0.jpg", b"a/sub.x/0.jpg", b"a/\xff.jpg", b"b/22.05.JPEG", b"a b/z/y/1.Jpg"]
    for name in [*names, f"b/{'x' * 60}/{'y' * 130}.jpg".encode()]:
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg + name)
    (root / "a" / "list.txt").write_text("no image")
    (root / "README").write_text("no class")
    return root


@pytest.mark.parametrize(("format", "prefix"), [*zip(FORMATS, ("data/", "./", "./set/train/"), strict=True)])
def test_class_folders(odd_folder: pathlib.Path, tmp_path: pathlib.Path, prefix: str, format: int) -> None:
    if format == tarfile.USTAR_FORMAT:  # its names end at 100 + 155 bytes
        for path in odd_folder.glob("b/x*/*"):
            path.unlink()
    members = folder_members(odd_folder, prefix)
    archive = write_tar(tmp_path / "folder1.tar", members, format=format)
    assert archive.stat().st_size < 1 << 20
    check_equal(archive, odd_folder, tmp_path)
    check_equal(archive, odd_folder, tmp_path, order="source", check="decode", num_workers=1, overwrite=True)


def test_the_system_s_tar(odd_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    archive = tmp_path / "folder1.tar"
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(odd_folder, arcname=".")
    check_equal(archive, odd_folder, tmp_path)


def test_paths_and_root(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    report = torch_dts.convert(tar_of(tmp_path / "val.tar", root, "val/"))
    assert report.path == str(tmp_path / "val.dts")
    with torch_dts.open(report) as file:
        assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]
        assert file.classes == ["a", "b"]
        assert not file.header.is_training
        assert file.info["bytes_kept"] is True
        assert bytes(file.read(3)) == (root / "b" / "0.jpg").read_bytes()


@pytest.mark.parametrize(
    ("name", "is_val"),
    [("train", False), ("ILSVRC2012_img_val", True), ("my-test", True), ("testing1", False)],
)
def test_what_an_archive_is_for(image_folder: Make, tmp_path: pathlib.Path, name: str, is_val: bool) -> None:
    with torch_dts.open(torch_dts.convert(tar_of(tmp_path / f"{name}.tar", image_folder()))) as file:
        assert bool(file.header.is_training) is not is_val


def test_a_tar_of_tars(image_folder: Make, tmp_path: pathlib.Path) -> None:
    """ImageNet's training set: a tar of one flat tar for each class."""
    root = image_folder(classes={"n02": 2, "n01": 3})
    members = []
    for name in ("n02", "n01"):
        inner = write_tar(tmp_path / f"{name}.tar", folder_members(root / name))
        members.append((f"{name}.tar", inner.read_bytes()))
    check_equal(write_tar(tmp_path / "ILSVRC2012_img_train.tar", members), root, tmp_path)
    deeper = write_tar(
        tmp_path / "deeper.tar", [("outer.tar", (tmp_path / "ILSVRC2012_img_train.tar").read_bytes())]
    )
    with pytest.raises(ValueError, match=r"n02\.tar' is an archive in an archive in an archive"):
        torch_dts.convert(deeper)


def test_several_archives_are_one_set(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = image_folder(classes={"a": 3, "b": 2, "c": 1})
    members = folder_members(root)
    for number in range(3):
        write_tar(tmp_path / f"part-{number + 8:02d}.tar", members[number::3])
    paths = [str(tmp_path / f"part-{number:02d}.tar") for number in (8, 9, 10)]
    torch_dts.convert(str(root), tmp_path / "folder.dts")
    files = []
    monkeypatch.chdir(tmp_path)
    for number, source in enumerate(
        (str(tmp_path / "part-{08..10}.tar"), "part-*.tar", "part-{08,09,10}.tar")
    ):
        files.append(torch_dts.convert(source, tmp_path / f"{number}.dts").path)
    for path in files:
        assert filecmp.cmp(path, tmp_path / "folder.dts", shallow=False)
    with torch_dts.open(torch_dts.convert(paths, tmp_path / "x.dts")) as file:
        assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg", "c/0.jpg"]
        assert file.info["source"]["kind"] == "ImageFolder"
    with pytest.raises(ValueError, match=r"say path='\.\.\.\.dts'"):
        torch_dts.convert(paths)
    write_tar(tmp_path / "part-11.tar", members[:1])
    with pytest.raises(ValueError, match=r"part-08.tar' and '.*part-11.tar' both have a file 'c/0.jpg'"):
        torch_dts.convert("part-*.tar", "y.dts")


def test_the_later_of_two_members_counts(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    members = folder_members(root)
    first = [(name, b"older " + content) for name, content in members[:2]]
    check_equal(write_tar(tmp_path / "x.tar", first + members), root, tmp_path)


def test_links(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 2, "b": 1})
    members = folder_members(root)
    links = [
        special("a/hard.jpg", tarfile.LNKTYPE, "./b/0.jpg"),
        special("b/soft.jpg", tarfile.SYMTYPE, "../a/1.jpg"),
        special("b/twice.jpg", tarfile.SYMTYPE, "soft.jpg"),
        special("a/hard2.jpg", tarfile.LNKTYPE, "a/hard.jpg"),
        special("top.jpg", tarfile.SYMTYPE, "a/0.jpg"),
        special("b/top.jpg", tarfile.SYMTYPE, "../top.jpg"),
    ]
    contents = dict(members)
    for name, target in [
        ("a/hard.jpg", "b/0.jpg"), ("b/soft.jpg", "a/1.jpg"), ("b/twice.jpg", "a/1.jpg"),
        ("a/hard2.jpg", "b/0.jpg"), ("b/top.jpg", "a/0.jpg"),
    ]:  # fmt: skip
        (root / name).write_bytes(contents[target])
    check_equal(write_tar(tmp_path / "x.tar", [*members, *links]), root, tmp_path)
    # A hard link is to what had the name before it.
    late = [("a/9.jpg", b"new")]
    old = [("a/9.jpg", contents["a/0.jpg"])]
    hard = [special("a/8.jpg", tarfile.LNKTYPE, "a/9.jpg")]
    archive = write_tar(tmp_path / "y.tar", [*members, *links, *old, *hard, *late])
    (root / "a/8.jpg").write_bytes(contents["a/0.jpg"])
    (root / "a/9.jpg").write_bytes(b"new")
    check_equal(archive, root, tmp_path, check="none", overwrite=True)


def test_links_that_lead_nowhere_are_bad_samples(image_folder: Make, tmp_path: pathlib.Path) -> None:
    links = [
        special("a/out.jpg", tarfile.SYMTYPE, "../../0.jpg"),
        special("a/abs.jpg", tarfile.SYMTYPE, "/a/0.jpg"),
        special("a/loop.jpg", tarfile.SYMTYPE, "loop.jpg"),
        special("a/hard.jpg", tarfile.LNKTYPE, "a/none.jpg"),
        special("a/link.txt", tarfile.SYMTYPE, "nowhere"),
    ]
    archive = write_tar(tmp_path / "x.tar", [*folder_members(image_folder()), *links])
    with pytest.raises(BadSamplesError, match="4 of 9 samples") as caught:
        torch_dts.convert(archive)
    assert [str(bad) for bad in caught.value.bad] == [
        f"{archive}:a/abs.jpg (sample 3): a symlink to '/a/0.jpg', which is no file of the archive",
        f"{archive}:a/hard.jpg (sample 4): a hard link to 'a/none.jpg', which is no file of the archive",
        f"{archive}:a/loop.jpg (sample 5): a symlink to 'a/loop.jpg', and the links go round in a circle",
        f"{archive}:a/out.jpg (sample 6): a symlink to '../0.jpg', which is no file of the archive",
    ]
    for check in ("header", "decode", "none"):
        assert torch_dts.convert(archive, on_error="skip", overwrite=True, check=check).num_samples == 5
    folder_link = special("c", tarfile.SYMTYPE, "a")
    archive = write_tar(tmp_path / "y.tar", [*folder_members(image_folder()), folder_link])
    with pytest.raises(ValueError, match=r"y.tar: 'c' is a link to the folder 'a'; unpack"):
        torch_dts.convert(archive)


def test_bad_images_are_named(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"")
    (root / "b" / "0.jpg").write_bytes(b"<html>")
    archive = tar_of(tmp_path / "x.tar", root)
    for check in ("header", "decode"):
        with pytest.raises(
            ValueError,
            match=r"x.tar:a/1.jpg \(sample 1\): empty \(0 bytes\)\n.*x.tar:b/0.jpg .* not an image",
        ):
            torch_dts.convert(archive, check=check)
    check_equal(archive, root, tmp_path, on_error="skip")
    check_equal(archive, root, tmp_path, on_error="keep", overwrite=True)


def test_pngs_and_large_headers(odd_images: pathlib.Path, tmp_path: pathlib.Path) -> None:
    check_equal(tar_of(tmp_path / "x.tar", odd_images), odd_images, tmp_path, on_error="skip", check="decode")
    check_equal(tmp_path / "x.tar", odd_images, tmp_path, on_error="skip", overwrite=True)


def test_empty_classes(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    (root / "empty").mkdir()
    archive = write_tar(tmp_path / "x.tar", [*folder_members(root), special("empty", tarfile.DIRTYPE)])
    with pytest.raises(FileNotFoundError, match="no image in 'empty'; allow_empty=True keeps"):
        torch_dts.convert(archive)
    check_equal(archive, root, tmp_path, allow_empty=True)


def test_two_splits_in_one_archive(image_folder: Make, tmp_path: pathlib.Path) -> None:
    train, val = image_folder(seed=1), image_folder(seed=2, classes={"a": 1, "b": 1})
    members = folder_members(train, "set/train/") + folder_members(val, "set/val/")
    archive = write_tar(tmp_path / "set.tar", members)
    with pytest.raises(
        ValueError, match=r"holds 'train', 'val', each with class folders: pass split='train' or"
    ):
        torch_dts.convert(archive)
    check_equal(archive, train, tmp_path, split="train")
    check_equal(archive, val, tmp_path, split="val", overwrite=True)


def test_an_archive_that_changes_meanwhile(
    image_folder: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tar_of(tmp_path / "x.tar", image_folder())
    for name in ("probe_ranges", "read_ranges_into"):
        native = getattr(_native, name)

        def touch(*arguments: Any, native: Any = native) -> Any:
            os.utime(archive, ns=(1, 1))
            return native(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(_native, name, touch)
            with pytest.raises(CorruptFileError, match=r"x\.tar: the file changed while it was converted"):
                torch_dts.convert(archive)
        os.utime(archive)
    listed = _native.list_tar

    def grow(*arguments: Any) -> Any:
        os.utime(archive, ns=(2, 2))
        return listed(*arguments)

    monkeypatch.setattr(_native, "list_tar", grow)
    with pytest.raises(CorruptFileError, match="changed while it was listed"):
        torch_dts.convert(archive)
    assert not [name for name in os.listdir(tmp_path) if ".dts" in name]


def test_the_output_is_no_source(image_folder: Make, tmp_path: pathlib.Path) -> None:
    archive = tar_of(tmp_path / "x.tar", image_folder())
    (tmp_path / "y.dts").symlink_to(archive)
    before = archive.read_bytes()
    for target in (archive, tmp_path / "y.dts"):
        with pytest.raises(ValueError, match=r"would overwrite '.*x.tar', which the source reads"):
            torch_dts.convert(archive, target, overwrite=True)
    assert archive.read_bytes() == before


def test_what_is_no_archive_of_images(image_folder: Make, tmp_path: pathlib.Path) -> None:
    jpeg = (image_folder() / "a" / "0.jpg").read_bytes()
    cases: list[tuple[list[Any], str]] = [
        ([], "no image in the archive: it holds nothing"),
        ([("a/x.txt", b"")], "no image in the archive: it holds 'a/x.txt'; images end in .jpg"),
        ([("x.tar.gz", b"")], "the archive holds 'x.tar.gz', which must be unpacked first"),
        ([("x.jpg", jpeg)], r"1 image \(such as 'x.jpg'\) and no class folder: pass labels="),
        ([("a/../../x.jpg", jpeg)], "the member 'a/../../x.jpg' leads out of the archive"),
    ]
    for number, (members, match) in enumerate(cases):
        with pytest.raises(ValueError, match=match):
            torch_dts.convert(write_tar(tmp_path / f"{number}.tar", members))
    (tmp_path / "bad.tar").write_bytes(jpeg)
    with pytest.raises(CorruptFileError, match=r"bad\.tar at byte 0: no tar archive"):
        torch_dts.convert(tmp_path / "bad.tar")
    whole = tar_of(tmp_path / "x.tar", image_folder())
    (tmp_path / "cut.tar").write_bytes(whole.read_bytes()[:3000])
    with pytest.raises(CorruptFileError, match=r"cut\.tar at byte 3000: the archive is cut off: member 'b/"):
        torch_dts.convert(tmp_path / "cut.tar")
    with pytest.raises(NotADirectoryError, match="a file, not a folder") as caught:
        torch_dts.convert(tmp_path / "folder1" / "a" / "0.jpg")
    assert caught.value.errno == errno.ENOTDIR
