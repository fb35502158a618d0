# SPDX-License-Identifier: Apache-2.0
"""Lists of ints as tensors, what is refused, and whether a list is still what it was."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
import torch
from recognise_sets import cifar, found, mnist, reason
from torch.utils.data import ConcatDataset, Subset

from torch_dts.loader._recognise_labels import NotReadable, int_tensor, label_tensor, watch_values


@pytest.mark.parametrize(
    "values",
    [
        [3, -1, 2],
        (3, -1, 2),
        array.array("h", [3, -1, 2]),
        np.array([3, -1, 2], dtype=np.int16),
        torch.tensor([3, -1, 2], dtype=torch.int8),
        [np.int64(3), -1, np.int32(2)],
    ],
)
def test_ints_of_many_kinds(values: Any) -> None:
    found = int_tensor(values, "they")
    assert found.dtype == torch.int64
    assert found.tolist() == [3, -1, 2]
    assert int_tensor(range(2, 9, 3), "they").tolist() == [2, 5, 8]
    assert int_tensor([], "they").shape == (0,)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, 2.0], "they hold a float, not only ints"),
        ([True], "they hold a bool, not only ints"),
        (["1"], "they hold a str, not only ints"),
        ([1 << 63], "they hold a number of more than 64 bits"),
        ("12", "they are a str, not a list"),
        (iter([1]), "they are a list_iterator, not a list"),
        (torch.ones(2), r"they are a tensor of torch\.float32, not of integers"),
        (torch.ones(2, 1, dtype=torch.int64), "they are a tensor of 2 dimensions, not 1"),
        (np.ones((2, 1), dtype=np.int64), r"they are a numpy array of int64, shape \(2, 1\)"),
    ],
)
def test_what_is_no_list_of_ints(values: Any, text: str) -> None:
    with pytest.raises(NotReadable, match=f"^{text}$"):
        int_tensor(values, "they")


def test_labels_that_collate_to_int64() -> None:
    for values in ([2, 3], (2, 3), np.array([2, 3]), torch.tensor([2, 3]), [np.int64(2), 3]):
        assert label_tensor(values, "they", None).tolist() == [2, 3]
    assert label_tensor([2, 3], "they", str).tolist() == [2, 3]
    for values in (np.array([2, 3]), torch.tensor([2, 3]), [np.int64(2), 3]):
        with pytest.raises(NotReadable, match="target_transform would see ints"):
            label_tensor(values, "they", str)
    for kind in (np.array([2], dtype=np.int32), torch.tensor([2], dtype=torch.uint8)):
        with pytest.raises(NotReadable, match=r"they are of type .*, not int64"):
            label_tensor(kind, "they", None)
    with pytest.raises(NotReadable, match="they hold a int32, not only ints"):
        label_tensor([np.int32(1)], "they", None)


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_changed_lists_are_noticed(kind: Any) -> None:
    values = kind([1, 2, 3])
    is_same = watch_values(values)
    assert is_same(values)
    assert is_same(kind([1, 2, 3]))
    assert not is_same(kind([1, 2, 4]))
    assert not is_same(kind([1, 2]))
    assert not is_same(range(1, 4))
    if kind is not tuple:
        values[1] = 7
        assert not is_same(values)


def test_indices_of_other_kinds() -> None:
    base = mnist()

    def with_indices(indices: Any) -> str:
        return reason(Subset(base, indices))

    assert with_indices([0, 6]).endswith("its Subset has indices 0 to 6 in a dataset of 6")
    assert with_indices([-7]).endswith("its Subset has indices -7 to -7 in a dataset of 6")
    assert with_indices([0.0]).endswith("hold a float, not only ints")
    assert with_indices(np.ones(6, dtype=bool)).endswith("numpy array of bool, shape (6,)")
    assert with_indices(torch.ones(6, dtype=torch.bool)).endswith("tensor of torch.bool, not of integers")
    assert with_indices({0: 1}).endswith("are a dict, not a list")
    assert found(Subset(base, [])).labels.numel() == 0
    changed = ConcatDataset([Subset(base, [0, 1])])
    changed.datasets[0].indices = [0]  # type: ignore[attr-defined]
    assert reason(changed).endswith("changed their lengths")
    assert reason(ConcatDataset([mnist(), cifar()])).endswith("are gray and coloured")
    base.target_transform = str
    assert reason(ConcatDataset([mnist(), base])).endswith("have different target_transforms")
