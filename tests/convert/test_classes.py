# SPDX-License-Identifier: Apache-2.0
"""Class names and numbers."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tars import write_tar

import torch_dts
from torch_dts.convert._classes import (
    apply_class_to_idx,
    check_labels,
    check_names,
    dataset_classes,
    number_classes,
)


@pytest.mark.parametrize(
    ("dataset", "names"),
    [
        ({"classes": ["b", "a"]}, ["b", "a"]),
        ({"classes": ("x", "y")}, ["x", "y"]),
        ({"classes": np.array(["x", "y"])}, ["x", "y"]),
        ({"classes": [3, 5]}, ["3", "5"]),
        ({"classes": [("tench", "Tinca tinca"), ("crane",)]}, ["tench, Tinca tinca", "crane"]),
        ({"classes": ["a", "b"], "class_to_idx": {"a": 0, "b": 1}}, ["a", "b"]),
        # the numbers decide where the two disagree
        ({"classes": ["a", "b"], "class_to_idx": {"a": 1, "b": 0}}, ["b", "a"]),
        ({"class_to_idx": {"a": 1, "b": 0}}, ["b", "a"]),
        # two folders of one number; a number without a name
        ({"classes": ["cat", "dog", "lion"], "class_to_idx": {"cat": 0, "dog": 2, "lion": 0}},
         ["cat, lion", "1", "dog"]),
        # torchvision's ImageNet: two classes are called ("crane",)
        ({"classes": [("crane",), ("crane",)], "wnids": ["n01", "n02"]}, ["n01", "n02"]),
        ({"classes": []}, None),
        ({"classes": "ab"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_what_a_data_set_states(dataset: dict[str, object], names: list[str] | None) -> None:
    assert dataset_classes(SimpleNamespace(**dataset)) == names


def test_two_classes_of_one_name() -> None:
    with pytest.raises(ValueError, match="classes 0 and 2 are both called 'a'"):
        dataset_classes(SimpleNamespace(classes=["a", "b", "a"]))


def test_negative_numbers() -> None:
    with pytest.raises(ValueError, match="numbers from -1 to 0"):
        dataset_classes(SimpleNamespace(class_to_idx={"a": -1, "b": 0}))


def test_unnamed_classes_are_numbered() -> None:
    assert number_classes(torch.tensor([2, 0, 2])) == ["0", "1", "2"]


def test_too_many_unnamed_classes() -> None:
    with pytest.raises(ValueError, match=r"sample 1 has label 5000000.*`classes`"):
        number_classes(torch.tensor([0, 5_000_000]))


def test_labels_out_of_range() -> None:
    check_labels(torch.tensor([0, 1]), 2)
    with pytest.raises(ValueError, match="sample 2 has label 2; with 2 classes labels are 0 to 1"):
        check_labels(torch.tensor([0, 1, 2]), 2)
    with pytest.raises(ValueError, match="sample 0 has label -1"):
        check_labels(torch.tensor([-1]), 2)
    with pytest.raises(ValueError, match="sample 1 has label 1; with 1 class every label is 0"):
        check_labels(torch.tensor([0, 1]), 1)
    with pytest.raises(ValueError, match="sample 1 has label -1; labels are numbers from 0 on"):
        number_classes(torch.tensor([0, -1]))


def test_class_to_idx_renumbers() -> None:
    labels, names = apply_class_to_idx(torch.tensor([0, 1, 1]), ["a", "b"], {"a": 2, "b": 0, "extra": 1})
    assert labels.tolist() == [2, 0, 0]
    assert names == ["b", "extra", "a"]


def test_class_to_idx_lacks_a_class() -> None:
    with pytest.raises(ValueError, match="lacks the source's class 'b'; it has 1 class, 'a'"):
        apply_class_to_idx(torch.tensor([0]), ["a", "b"], {"a": 0})


def test_class_to_idx_names_the_numbers_of_an_unnamed_source() -> None:
    labels, names = apply_class_to_idx(torch.tensor([1, 0]), None, {"cat": 1, "dog": 0})
    assert labels.tolist() == [1, 0]
    assert names == ["dog", "cat"]
    with pytest.raises(ValueError, match="sample 0 has label 2"):
        apply_class_to_idx(torch.tensor([2]), None, {"cat": 1, "dog": 0})


@pytest.mark.parametrize("name", ["x" * 65_536, "é" * 32_768, "a\0b"])
def test_names_that_do_not_fit(name: str) -> None:
    with pytest.raises(ValueError, match="class 1: a name has at most 65535 bytes and no NUL"):
        check_names(["a", name])


def test_longest_name() -> None:
    assert check_names(["x" * 65_535]) == ["x" * 65_535]


@pytest.mark.parametrize("way", ["labels", "class_to_idx", "tar"])
def test_a_name_that_does_not_fit_is_found_first(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path, way: str
) -> None:
    """Before any sample is looked at: the images are damaged."""
    root = image_folder(classes={"a": 1})
    (root / "a" / "0.jpg").write_bytes(b"no image")
    long = "é" * 40_000
    source, options = root, {"labels": {"0.jpg": long}}
    if way == "class_to_idx":
        options = {"class_to_idx": {"a": 0, long: 1}}
    elif way == "tar":
        source = write_tar(tmp_path / "x.tar", [(f"{'c' * 70_000}/1.jpg", b"no image")])
        options = {}
    with pytest.raises(
        ValueError, match=r"class [01]: a name has at most 65535 bytes and no NUL, found '..."
    ):
        torch_dts.convert(source, tmp_path / "x.dts", **options)
    assert not list(tmp_path.glob("x.dts*"))
