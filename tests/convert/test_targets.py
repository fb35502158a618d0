# SPDX-License-Identifier: Apache-2.0
"""targets=: classes given sample by sample."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import array_set
from tars import tar_of
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import CIFAR10, ImageFolder

import torch_dts
from torch_dts.convert._targets import read_targets

Make = Callable[..., pathlib.Path]


def classes_of(path: Any) -> tuple[list[str], list[int]]:
    with torch_dts.open(path) as file:
        return list(file.classes), file.labels.tolist()


@pytest.mark.parametrize(
    ("targets", "class_to_idx", "expected"),
    [
        ([1, 0, 1, 0, 1], None, (["a", "b"], [1, 0, 1, 0, 1])),
        (torch.tensor([1, 0, 1, 0, 1]), None, (["a", "b"], [1, 0, 1, 0, 1])),
        (np.array(["b", "a", "b", "b", "b"]), None, (["a", "b"], [1, 0, 1, 1, 1])),
        (("b",) * 5, None, (["a", "b"], [1] * 5)),  # names of the source have its numbers
        (["x", "a", "y", "x", "x"], None, (["a", "x", "y"], [1, 0, 2, 1, 1])),  # else they are sorted
        (["x", "y", "y", "x", "x"], {"y": 0, "x": 1}, (["y", "x"], [1, 0, 0, 1, 1])),
        ([2, 0, 2, 0, 0], {"y": 0, "x": 1, "z": 2}, (["y", "x", "z"], [2, 0, 2, 0, 0])),
    ],
)
def test_folders_and_archives(
    image_folder: Make,
    tmp_path: pathlib.Path,
    targets: Any,
    class_to_idx: dict[str, int] | None,
    expected: tuple[list[str], list[int]],
) -> None:
    root = image_folder()
    for name, source in (("f", root), ("t", tar_of(tmp_path / "x.tar", root)), ("i", ImageFolder(root))):
        path = torch_dts.convert(source, tmp_path / f"{name}.dts", targets=targets, class_to_idx=class_to_idx)
        assert classes_of(path) == expected
        with torch_dts.open(path) as file:
            assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]


def test_bad_samples_have_their_target(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    (root / "a" / "1.jpg").write_bytes(b"")
    path = torch_dts.convert(root, tmp_path / "x.dts", targets=[0, 1, 0, 0, 1], on_error="skip")
    assert classes_of(path) == (["a", "b"], [0, 0, 0, 1])


def test_what_the_source_says_is_not_looked_at(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    files = sorted(root.rglob("*.jpg"))
    items = [(str(path), {"boxes": [1, 2]}) for path in files]
    path = torch_dts.convert(items, tmp_path / "x.dts", targets=["cat", "dog", "cat", "dog", "cat"])
    assert classes_of(path) == (["cat", "dog"], [0, 1, 0, 1, 0])
    with pytest.raises(TypeError, match="the class number must be an int"):
        torch_dts.convert(items, tmp_path / "y.dts")
    other = ImageFolder(root)
    other.classes = ["p", "q"]
    joined = ConcatDataset([ImageFolder(root), Subset(other, [])])
    path = torch_dts.convert(joined, tmp_path / "z.dts", targets=[3, 0, 0, 0, 1])
    assert classes_of(path) == (["0", "1", "2", "3"], [3, 0, 0, 0, 1])


def test_pixel_files(tmp_path: pathlib.Path) -> None:
    source = array_set(CIFAR10, 4)
    path = torch_dts.convert(source, tmp_path / "x.dts", targets=["car", "cat", "car", "cat"])
    assert classes_of(path) == (["car", "cat"], [0, 1, 0, 1])
    path = torch_dts.convert(source, tmp_path / "y.dts", targets=[9, 8, 7, 9])
    assert classes_of(path)[1] == [9, 8, 7, 9]
    np.testing.assert_array_equal(np.array(torch_dts.DTSDataset(path)[1][0]), source.data[1])


@pytest.mark.parametrize(
    ("targets", "kind", "message"),
    [
        ([0, 1], ValueError, "targets has 2 of them, but the source has 5 samples"),
        ([0, 1, 0, 1, 2], ValueError, "sample 4 has label 2; with 2 classes labels are 0 to 1"),
        ([0, 1, 0, 1, -1], ValueError, r"targets\[4\] is -1; class numbers go from 0 on"),
        ([0, 1, 0, 1, 1 << 31], ValueError, r"targets\[4\] is 2147483648"),
        ([0, 1, "b", 1, 0], ValueError, r"targets\[2\] is the name 'b', targets\[0\] is no name"),
        ([0, 1, 0, 1, 0.5], TypeError, r"targets\[4\]: the class number must be an int"),
        ([[0, 1]] * 5, TypeError, r"targets\[0\]: the class number must be an int"),
        ("labels.csv", TypeError, "targets must be a sequence .* not str; labels= takes files and mappings"),
        ({"a/0.jpg": 1}, TypeError, "not dict"),
        (7, TypeError, "not int"),
        (["x\0"] * 5, ValueError, "class 0: a name has at most 65535 bytes and no NUL"),
    ],
)
def test_wrong_ones(
    image_folder: Make, tmp_path: pathlib.Path, targets: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        torch_dts.convert(image_folder(), tmp_path / "x.dts", targets=targets)
    assert not list(tmp_path.glob("*.dts*"))


def test_names_that_class_to_idx_lacks(image_folder: Make, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="class_to_idx lacks 1 class of targets: 'q'"):
        torch_dts.convert(
            image_folder(), tmp_path / "x.dts", targets=["p", "q"] * 2 + ["p"], class_to_idx={"p": 0}
        )
    with pytest.raises(ValueError, match="labels= and targets= both say the classes"):
        torch_dts.convert(image_folder(), tmp_path / "x.dts", targets=[0] * 5, labels=[0] * 5)


def test_as_read() -> None:
    assert len(read_targets([3, 4])) == 2
    assert read_targets(np.array([3, 4])).settle(2, None, None)[0].tolist() == [3, 4]
    assert read_targets(["b", "a"]).settle(2, None, None) == (
        pytest.approx(torch.tensor([1, 0])),
        ["a", "b"],
    )
