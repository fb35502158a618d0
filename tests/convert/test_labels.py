# SPDX-License-Identifier: Apache-2.0
"""Labels that come from beside the images."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch

from torch_dts.convert._labels import as_classes, read_labels

NAMES = ["val/a.JPEG", "val/b.JPEG", "c.png"]
PAIRS = {"val/a.JPEG": "dog", "b.JPEG": "cat", "c": "dog"}


def match(labels: Any, names: list[str] = NAMES, **options: Any) -> tuple[list[int], list[str] | None]:
    found, classes = read_labels(labels).match(names, options.get("class_to_idx"))
    assert found.dtype == torch.int64
    return found.tolist(), classes


@pytest.mark.parametrize(
    "text",
    [
        "val/a.JPEG,dog\nb.JPEG,cat\nc,dog\n",
        "filename,label\nb.JPEG,cat\n./val/a.JPEG,dog\nc.png,dog",
        "\ufeffimage_id,class\r\nc,dog\r\n\r\nb,cat\r\na,dog\r\n",
        '"a.JPEG", "dog"\n"b.JPEG", "cat"\n"c.png", "dog"\n',
        "ImageId,PredictionString\na,dog 1 2 3 4 dog 5 6 7 8 \nb,cat 1 2 3 4\nc,dog 9 9 9 9\n",
        "a.JPEG dog\nval/b.JPEG cat\nc.png dog\n",
        "a.JPEG\tdog\nval/b.JPEG\tcat\nc.png\tdog\n",
        "filename\tlabel\na\tdog\nb\tcat\nc\tdog\n",
        "a.JPEG;dog\nval/b.JPEG;cat\nc.png;dog\n",
        "image;class\r\na; dog\r\nb; cat\r\nc; dog\r\n",
        "dog\ncat\ndog\n",
        "dog \n\ncat\ndog",
    ],
)
def test_files(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8", newline="")
    assert match(tmp_path / "labels.csv") == ([1, 0, 1], ["cat", "dog"])


def test_separators_inside_of_names(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("a,1;x.jpg\tbig cat; tabby\nb.jpg\tdog, large\n")
    assert match(path, ["a,1;x.jpg", "b.jpg"]) == ([0, 1], ["big cat; tabby", "dog, large"])
    path.write_text("a;1.jpg,cat; tabby\nb.jpg,dog\n")
    assert match(path, ["a;1.jpg", "b.jpg"]) == ([0, 1], ["cat; tabby", "dog"])
    path.write_text("cat; tabby\ndog\n")  # one label a line
    assert match(path, ["a.jpg", "b.jpg"]) == ([0, 1], ["cat; tabby", "dog"])


@pytest.mark.parametrize(
    "labels", [PAIRS, {**PAIRS, "b.JPEG": "cat"}, ["dog", "cat", "dog"], ("dog", "cat", "dog")]
)
def test_names_in_python(labels: Any) -> None:
    assert match(labels) == ([1, 0, 1], ["cat", "dog"])


@pytest.mark.parametrize(
    "labels",
    [
        [2, 0, 2],
        ["2", "0", "2"],
        np.array([2, 0, 2]),
        torch.tensor([2, 0, 2]),
        {"a": 2, "b": np.int64(0), "c": 2},
    ],
)
def test_numbers(labels: Any) -> None:
    assert match(labels) == ([2, 0, 2], None)


def test_class_names_that_are_numbers() -> None:
    assert match(["10", "9", "10"], class_to_idx={"9": 1, "10": 0}) == ([0, 1, 0], ["10", "9"])
    with pytest.raises(
        ValueError, match=r"'val/a.JPEG' has label 'x' and 'val/b.JPEG' has label 7: labels are all"
    ):
        match(["x", "7", "x"])


def test_bytes_that_are_no_utf8(tmp_path: pathlib.Path) -> None:
    (tmp_path / "labels.csv").write_bytes(b"\xff.jpg,caf\xe9\n")
    assert match(tmp_path / "labels.csv", ["\udcff.jpg"]) == ([0], ["caf\udce9"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["a", "b"],
            "labels has 2 labels and no file names, but the source has 3 images: there must be one for",
        ),
        ({"a.JPEG": 1}, r"no label for 2 files of the source: 'val/b.JPEG', 'c.png'$"),
        (
            {**PAIRS, "x": "y", "val/c.png": 1},
            "2 labels for files that the source does not have.*: 'x', 'val/c.png'",
        ),
        ({**PAIRS, "val/b.JPEG": "cat"}, r"two labels for 'val/b.JPEG' \(rows 'b.JPEG' and 'val/b.JPEG'\)"),
        ([0, -1, 0], "'val/b.JPEG' has label -1; class numbers go from 0 on"),
        ([0, 1 << 31, 0], "'val/b.JPEG' has label 2147483648"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match(labels)


def test_a_name_that_fits_two_files() -> None:
    with pytest.raises(
        ValueError, match=r"no label for 2 files .*: 'a/1.jpg', 'b/1.jpg'; 1 label for .*: '1.jpg'"
    ):
        match({"1.jpg": 0}, ["a/1.jpg", "b/1.jpg"])
    assert match({"a/1.jpg": 0, "b/1.jpg": 1}, ["a/1.jpg", "b/1.jpg"]) == ([0, 1], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b,c\n", r"row 1 has 3 fields: expected '<file name>,<label>'"),
        ("a,b\nc\n", r"row 2 has 1 field:"),
        ("a\0b\n", "holds a NUL byte: it is no text"),
        ("1\ta.jpg\tcat\n2\tb.jpg\tdog\n", r"row 1 has 3 fields: expected '<file name>,<label>' \(or a tab"),
        ("a.jpg;1;cat\nb.jpg;2;dog\n", "row 1 has 3 fields"),
        ("a.jpg\tcat\nb.jpg\n", "row 2 has 1 field"),
        ("a.jpg|cat\nb.jpg|dog\n", r"every row begins with the name of an image, as 'a\.jpg\|cat'"),
        ("a.jpg: cat x\nb.PNG: dog x\n", "every row begins with the name of an image"),
        ("a.jpg\nb.jpg\n", r"every row begins with the name of an image, as 'a\.jpg'"),
        ("a.jpg,cat\n\nb.jpg,\n", r"row 3 \('b\.jpg'\) has no label"),
        ("a.jpg\tcat\nb.jpg\t \n", r"row 2 \('b\.jpg'\) has no label"),
        (f"a.jpg,cat\nb.jpg,{'x' * 140_000}\n", r"row 2: field larger than field limit"),
        ("a.jpg,cat\n,dog\n", r"row 2 has no file name"),
        ("ImageId,PredictionString\na,dog 1\nb, \n", r"row 3 \('b'\) has no label"),
    ],
)
def test_odd_files(tmp_path: pathlib.Path, text: str, message: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"the label file '.*/x\.csv'.*{message}"):
        read_labels(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"a.JPEG": "dog", "b.JPEG": ""}, r"^labels\['b\.JPEG'\] is '': a label is a class name or"),
        ({"a.JPEG": "  "}, r"^labels\['a\.JPEG'\] is '  '"),
        (["dog", ""], r"^labels\[1\] is '': "),
        (np.array(["dog", ""]), r"^labels\[1\] is '': "),
    ],
)
def test_empty_labels(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_labels(labels)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match=r"labels must be the path of a CSV or text file, a mapping.*not int"):
        read_labels(3)
    with pytest.raises(TypeError, match=r"labels\[1\]: a label is a class name or a class number, found 1.5"):
        read_labels([1, 1.5])
    with pytest.raises(TypeError, match="labels must map file names to labels, found 3 among"):
        read_labels({3: 1})
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_labels("/none.csv")


def test_all_numbers_stay_numbers() -> None:
    assert as_classes([3, "+4"], ["a", "b"], "labels", {"3": 0})[0].tolist() == [3, 4]
