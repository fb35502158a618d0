# SPDX-License-Identifier: Apache-2.0
"""The look at every sample before anything is written."""

from __future__ import annotations

import errno
import os
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL import Image

from torch_dts import _native
from torch_dts.convert._check import Checked, check_samples
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples
from torch_dts.convert._spool import Spool

Make = Callable[..., pathlib.Path]


def samples_of(files: list[pathlib.Path]) -> Samples:
    names = [path.name for path in files]
    labels = torch.zeros(len(files), dtype=torch.int64)
    return Samples(kind="X", files=[str(path) for path in files], labels=labels, classes=["c"], names=names)


def check(files: list[pathlib.Path], mode: str, num_workers: int = 2) -> Checked:
    return check_samples(samples_of(files), mode, num_workers, False)


def reasons(checked: Checked) -> dict[int, str]:
    return {bad.index: bad.reason for bad in checked.bad}


def test_good_files(image_folder: Make) -> None:
    files = sorted(image_folder(classes={"a": 530}, size=(12, 7)).rglob("*.jpg"))
    sizes = [path.stat().st_size for path in files]
    for mode in ("header", "decode", "none"):
        for num_workers in (1, 3):
            checked = check(files, mode, num_workers)
            assert checked.sizes.tolist() == sizes
            assert checked.bad == []
            assert checked.max_area == (0 if mode == "none" else 84)


def test_what_is_found_in_odd_files(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    files = [odd_images / sample["path"] for sample in odd_expected["samples"]]
    decode = check(files, "decode")
    assert decode.sizes.tolist() == [sample["bytes"] for sample in odd_expected["samples"]]
    bad = set(reasons(decode))
    for i, sample in enumerate(odd_expected["samples"]):
        if sample["compare"] != "lenient":
            assert (i in bad) == (sample["compare"] == "error"), sample["path"]
    # What the first bytes alone tell.
    header = {odd_expected["samples"][i]["path"] for i in reasons(check(files, "header"))}
    assert header - {"coding/twelve_bit.jpg"} == {
        "damage/junk_before_soi.jpg",
        "names/empty.jpg",
        "names/really_text.jpg",
        "size/bomb_65500.jpg",
    }
    assert reasons(check(files, "none")) == {}


@pytest.mark.parametrize("mode", ["header", "decode"])
def test_reasons(tmp_path: pathlib.Path, odd_images: pathlib.Path, mode: str) -> None:
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "page.jpg").write_bytes(b"<html><body>not found</body></html>")
    files = [tmp_path / "empty.jpg", tmp_path / "page.jpg", odd_images / "size" / "bomb_65500.jpg"]
    found = reasons(check(files, mode))
    assert found[0] == "empty (0 bytes)"
    assert found[1] == "not an image that PIL knows; starts with b'<html><body>'"
    assert found[2].startswith("DecompressionBombError: Image size (4290250000 pixels) exceeds limit")


@pytest.mark.parametrize("mode", ["header", "decode", "none"])
def test_unreadable_files(tmp_path: pathlib.Path, mode: str) -> None:
    (tmp_path / "dangling.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    names = ["missing.jpg", "dangling.jpg", "folder.jpg", "pipe.jpg", "loop.jpg"]
    checked = check([tmp_path / name for name in names], mode)
    assert reasons(checked) == {
        0: "No such file or directory",
        1: "No such file or directory: a symlink to 'nowhere.jpg'",
        2: "a folder",
        3: "not a regular file",
        4: "Too many levels of symbolic links",
    }
    assert checked.sizes.tolist() == [-1] * 5


def refuse_to_open(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Every file fails to open with this errno (as root, permissions would not stop us)."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    row = torch.tensor([[-number, 0, 0, 0, 0]])
    monkeypatch.setattr(_native, "probe_files", lambda paths: row.repeat(len(paths), 1))
    monkeypatch.setattr("builtins.open", refuse)


@pytest.mark.parametrize("mode", ["header", "decode"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_files_that_do_not_open(
    image_folder: Make, monkeypatch: pytest.MonkeyPatch, mode: str, number: int
) -> None:
    files = sorted(image_folder(classes={"a": 2}).rglob("*.jpg"))
    refuse_to_open(monkeypatch, number)
    checked = check(files, mode)
    assert reasons(checked) == dict.fromkeys(range(2), os.strerror(number))
    assert checked.sizes.tolist() == [-1, -1]


def test_only_decoding_finds_a_truncated_file(image_folder: Make) -> None:
    files = sorted(image_folder().rglob("*.jpg"))
    data = files[2].read_bytes()
    files[2].write_bytes(data[: len(data) * 8 // 10])
    assert reasons(check(files, "header")) == {}
    found = reasons(check(files, "decode"))
    assert list(found) == [2]
    assert "truncated" in found[2]


def test_bad_samples_come_in_source_order(tmp_path: pathlib.Path) -> None:
    files = [tmp_path / f"{i}.jpg" for i in range(2000)]
    files[0].write_bytes(b"x")
    checked = check(files, "header", num_workers=4)
    assert [bad.index for bad in checked.bad] == list(range(2000))
    assert checked.bad[0].path == str(files[0])


def test_pil_s_warnings_are_not_passed_on(odd_images: pathlib.Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reasons(check([odd_images / "png" / "palette_trns.png"], "decode")) == {}


def test_pil_s_size_limits_hold(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(image_folder().rglob("*.jpg"))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 599)
    found = reasons(check(files, "header"))
    assert list(found) == [0, 1, 2, 3, 4]
    assert "1200 pixels" in found[0]
    # Above the first limit PIL only warns.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1199)
    assert reasons(check(files, "decode")) == {}
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert reasons(check(files, "header")) == {}


@pytest.mark.parametrize("mode", ["header", "decode", "none"])
def test_spooled_samples(tmp_path: pathlib.Path, image_folder: Make, mode: str) -> None:
    good = (image_folder() / "a" / "0.jpg").read_bytes()
    items = [(good, 0), (b"", 0), (b"text", 0)]
    samples = list_samples(
        items, class_to_idx=None, allow_empty=False, spool_dir=str(tmp_path), progress=False
    )
    checked = check_samples(samples, mode, 2, False)
    assert checked.sizes.tolist() == [len(good), 0, 4]
    expected = {1: "empty (0 bytes)", 2: "not an image that PIL knows; starts with b'text'"}
    assert reasons(checked) == ({} if mode == "none" else expected)
    assert checked.max_area == (0 if mode == "none" else 1200)
    samples.close()


def test_items_that_the_source_could_not_give(tmp_path: pathlib.Path) -> None:
    samples = samples_of([tmp_path])
    samples.files[0] = ""
    samples.spool = Spool(str(tmp_path))
    samples.failed[0] = "no such item"
    for mode in ("header", "decode", "none"):
        checked = check_samples(samples, mode, 1, False)
        assert reasons(checked) == {0: "no such item"}
        assert checked.sizes.tolist() == [-1]
    samples.close()


def test_trouble_of_the_process_is_raised(image_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(image_folder().rglob("*.jpg"))
    refuse_to_open(monkeypatch, errno.EMFILE)
    with pytest.raises(OSError, match="Too many open files"):
        check(files, "header")
