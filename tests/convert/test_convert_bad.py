# SPDX-License-Identifier: Apache-2.0
"""convert() over bad input: on_error, and what is refused before anything is written."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.convert import BadSample, BadSamplesError

Make = Callable[..., pathlib.Path]


@pytest.fixture
def mixed_folder(image_folder: Make) -> pathlib.Path:
    """a: 0.jpg good, 1.jpg empty, 2.jpg good; b: 0.jpg a page, 1.jpg good."""
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"")
    (root / "b" / "0.jpg").write_bytes(b"<html>")
    return root


def nothing_written(folder: pathlib.Path) -> bool:
    return not [name for name in os.listdir(folder) if ".dts" in name]


def test_raise_lists_all_and_writes_nothing(mixed_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        BadSamplesError, match=r"2 of 5 samples can't be used\. Nothing was written"
    ) as caught:
        torch_dts.convert(mixed_folder, tmp_path / "x.dts")
    assert caught.value.bad == (
        BadSample(str(mixed_folder / "a" / "1.jpg"), 1, "empty (0 bytes)"),
        BadSample(str(mixed_folder / "b" / "0.jpg"), 3, "not an image that PIL knows; starts with b'<html>'"),
    )
    for bad in caught.value.bad:
        assert str(bad) in str(caught.value)
    assert "on_error='skip'" in str(caught.value)
    assert nothing_written(tmp_path)


def test_skip_leaves_them_out(mixed_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(mixed_folder, tmp_path / "x.dts", on_error="skip")
    assert [(bad.index, bad.reason) for bad in report.skipped] == [
        (1, "empty (0 bytes)"),
        (3, "not an image that PIL knows; starts with b'<html>'"),
    ]
    assert (report.num_samples, report.num_classes, report.kept_bad) == (3, 2, ())
    with torch_dts.open(report) as file:
        assert list(file.paths) == ["a/0.jpg", "a/2.jpg", "b/1.jpg"]
        assert file.labels.tolist() == [0, 0, 1]
        assert sorted(file.source_index.tolist()) == [0, 1, 2]
        for i, path in enumerate(file.paths):
            assert bytes(file.read(i)) == (mixed_folder / path).read_bytes()
        counts = {"num_samples": 5, "num_skipped": 2, "num_encoded": 0}
        assert file.info["source"] == {"kind": "ImageFolder", **counts}
    assert "  skipped   2 samples:" in str(report).splitlines()


def test_skip_keeps_the_number_of_a_class_that_becomes_empty(
    image_folder: Make, tmp_path: pathlib.Path
) -> None:
    root = image_folder(classes={"a": 1, "b": 1})
    (root / "a" / "0.jpg").write_bytes(b"")
    with torch_dts.open(torch_dts.convert(root, tmp_path / "x.dts", on_error="skip")) as file:
        assert file.classes == ["a", "b"]
        assert file.labels.tolist() == [1]


def test_keep_stores_every_byte(mixed_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = torch_dts.convert(mixed_folder, tmp_path / "x.dts", on_error="keep")
    assert [bad.index for bad in report.kept_bad] == [1, 3]
    assert report.skipped == ()
    with torch_dts.open(report) as file:
        assert [bytes(file.read(i)) for i in range(5)] == [
            pathlib.Path(path).read_bytes() for path, _ in ImageFolder(mixed_folder).samples
        ]


@pytest.mark.parametrize("check", ["header", "decode", "none"])
def test_what_can_t_be_read_can_t_be_kept(
    mixed_folder: pathlib.Path, tmp_path: pathlib.Path, check: str
) -> None:
    (mixed_folder / "b" / "2.jpg").symlink_to("nowhere")
    with pytest.raises(BadSamplesError, match=r"1 of 6 samples .* no bytes to keep") as caught:
        torch_dts.convert(mixed_folder, tmp_path / "x.dts", on_error="keep", check=check)
    assert [bad.index for bad in caught.value.bad] == [5]
    report = torch_dts.convert(mixed_folder, tmp_path / "x.dts", on_error="skip", check=check)
    assert 5 in [bad.index for bad in report.skipped]
    assert report.num_samples == (5 if check == "none" else 3)


def test_the_advice_is_one_that_works(
    image_folder: Make, mixed_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    root = image_folder()
    (root / "a" / "9.jpg").symlink_to("nowhere")
    with pytest.raises(BadSamplesError, match="1 of 6 samples") as caught:
        torch_dts.convert(root, tmp_path / "x.dts")
    assert caught.value.advice == (
        "Nothing was written. on_error='skip' leaves it out; "
        "it has no bytes that on_error='keep' could store."
    )
    with pytest.raises(BadSamplesError, match="2 of 5 samples") as caught:
        torch_dts.convert(mixed_folder, tmp_path / "x.dts")
    assert caught.value.advice == (
        "Nothing was written. on_error='skip' leaves them out, on_error='keep' stores their bytes."
    )
    (mixed_folder / "a" / "9.jpg").symlink_to("nowhere")
    with pytest.raises(BadSamplesError, match="3 of 6 samples") as caught:
        torch_dts.convert(mixed_folder, tmp_path / "x.dts")
    assert caught.value.advice == (
        "Nothing was written. on_error='skip' leaves them out; on_error='keep' does not help, "
        "as 1 of them can't be read."
    )
    with pytest.raises(BadSamplesError, match=r"Nothing was written\. It has no bytes to keep"):
        torch_dts.convert(mixed_folder, tmp_path / "x.dts", on_error="keep")


def test_all_bad(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 1})
    (root / "a" / "0.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match="no samples are left: the source's only one is bad"):
        torch_dts.convert(root, tmp_path / "x.dts", on_error="skip")
    report = torch_dts.convert(root, tmp_path / "x.dts", on_error="keep")
    with torch_dts.open(report) as file:
        assert bytes(file.read(0)) == b""
    assert torch_dts.verify(report).ok


def test_odd_images_are_kept_byte_for_byte(
    odd_images: pathlib.Path, odd_expected: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    report = torch_dts.convert(odd_images, tmp_path / "odd.dts", on_error="keep")
    samples = odd_expected["samples"]
    with torch_dts.open(report) as file:
        assert list(file.paths) == [sample["path"] for sample in samples]
        assert file.classes == odd_expected["classes"]
        assert file.labels.tolist() == [sample["target"] for sample in samples]
        for i, sample in enumerate(samples):
            assert bytes(file.read(i)) == (odd_images / sample["path"]).read_bytes()
    assert report.num_missing_eoi == 2  # no_eoi.jpg, cut_at_60_percent.jpg


def test_odd_images_that_decode(
    odd_images: pathlib.Path, odd_expected: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    """Exactly those that PIL refuses are left out; `lenient` ones either way."""
    report = torch_dts.convert(odd_images, tmp_path / "odd.dts", check="decode", on_error="skip")
    expected = {sample["path"]: sample["compare"] for sample in odd_expected["samples"]}
    skipped = {os.path.relpath(bad.path, odd_images) for bad in report.skipped}
    assert {path for path in skipped if expected[path] != "lenient"} == {
        path for path, compare in expected.items() if compare == "error"
    }
    with torch_dts.open(report) as file:
        assert list(file.paths) == [path for path in expected if path not in skipped]


def test_existing_files_are_refused_before_any_work(image_folder: Make, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x.dts"
    target.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        torch_dts.convert([("no such file", 0)], target)
    assert target.read_bytes() == b"precious"
    report = torch_dts.convert(image_folder(), target, overwrite=True)
    assert torch_dts.verify(report).ok


def test_of_a_symlink_the_link_is_replaced(image_folder: Make, tmp_path: pathlib.Path) -> None:
    (tmp_path / "old").write_bytes(b"precious")
    target = tmp_path / "x.dts"
    target.symlink_to(tmp_path / "old")
    assert torch_dts.verify(torch_dts.convert(image_folder(), target, overwrite=True)).ok
    assert not target.is_symlink()
    assert (tmp_path / "old").read_bytes() == b"precious"


def test_a_foreign_partial_file_is_taken_over(image_folder: Make, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.dts.partial").write_bytes(b"left over")
    assert torch_dts.verify(torch_dts.convert(image_folder(), tmp_path / "x.dts")).ok
    assert not (tmp_path / "x.dts.partial").exists()


def test_a_source_is_never_the_output(image_folder: Make) -> None:
    root = image_folder()
    source = root / "a" / "0.jpg"
    data = source.read_bytes()
    for target in (source, root / "link.dts"):
        if target != source:
            os.link(source, target)
        with pytest.raises(ValueError, match=r"would overwrite sample 0 of the source"):
            torch_dts.convert(root, target, overwrite=True)
        assert target.read_bytes() == source.read_bytes() == data


@pytest.mark.parametrize("kind", [ImageFolder, str])
def test_wrong_roots_leave_no_file(image_folder: Make, kind: Callable[[Any], Any]) -> None:
    flat = image_folder() / "a"
    with pytest.raises(FileNotFoundError, match=r"class folder|images directly in it"):
        torch_dts.convert(kind(flat))
    assert nothing_written(flat.parent)


@pytest.mark.parametrize(("source", "message"), [("", "source is empty"), ("a\0b", "must name a folder")])
def test_sources_without_a_name(tmp_path: pathlib.Path, source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        torch_dts.convert(source, tmp_path / "x.dts")
    with pytest.raises(ValueError, match=message):
        torch_dts.convert(source)


def test_no_samples(tmp_path: pathlib.Path) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    folder = ImageFolder(tmp_path / "set", allow_empty=True)
    with pytest.raises(ValueError, match="the source has no samples"):
        torch_dts.convert(folder, tmp_path / "x.dts")


def test_arguments_are_checked_first(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="level must be 0, 1, 2 or 3, not 4"):
        torch_dts.convert(tmp_path / "missing", level=4)
    with pytest.raises(ValueError, match="order must be one of"):
        torch_dts.convert(tmp_path / "missing", order="foo")


@pytest.mark.parametrize("check", ["header", "decode"])
def test_images_of_16_bits_are_counted(
    check: str, image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    folder = image_folder()
    values = np.array([[0, 255, 256, 40000, 65535]], dtype=np.uint16)
    Image.fromarray(values).save(folder / "a" / "deep.png")
    report = torch_dts.convert(folder, tmp_path / "x.dts", check=check)
    assert report.num_deep == 1
    assert "16 bits   1 image, values above 255 are read as 255 (white)" in str(report)
    # Pillow's picture, as the report says.
    dataset = torch_dts.DTSDataset(report)
    image = dataset[[path for path, _ in dataset.samples].index("a/deep.png")][0]
    assert np.asarray(image)[0, :, 0].tolist() == [0, 255, 255, 255, 255]


def test_a_set_of_8_bits_says_nothing_of_16(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    report = torch_dts.convert(image_folder(), tmp_path / "x.dts")
    assert report.num_deep == 0
    assert "16 bits" not in str(report)


def test_damage_inside_images_is_listed_whole(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder(classes={"a": 40, "b": 3}, size=(60, 50))
    damaged = [root / "a" / "1.jpg", root / "b" / "2.jpg"]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(BadSamplesError, match=r"later samples were not looked at\. check='decode' finds"):
        torch_dts.convert(root, tmp_path / "x.dts", level=3, num_workers=1)
    with pytest.raises(BadSamplesError, match="2 of 43 samples can't be used") as found:
        torch_dts.convert(root, tmp_path / "x.dts", level=3, check="decode")
    assert [bad.path for bad in found.value.bad] == list(map(str, damaged))
    assert not list(tmp_path.glob("x.dts*"))
