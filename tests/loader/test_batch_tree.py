# SPDX-License-Identifier: Apache-2.0
"""Tensors exchanged in batches of any structure."""

from __future__ import annotations

import collections
from typing import Any

import torch

from torch_dts.loader._batch_tree import map_tensors, tensors_of

Pair = collections.namedtuple("Pair", "images labels")


class Frozen(dict[str, Any]):
    """A mapping that can't be made of a dict."""

    def __init__(self, **values: Any) -> None:
        super().__init__(values)


def test_tensors_are_exchanged_from_left_to_right_and_all_else_stays() -> None:
    a, b, c, d = (torch.tensor(number) for number in range(4))
    batch = {"x": [a, ("text", b)], "y": Pair(c, None), "z": collections.OrderedDict(k=d)}
    assert [tensor.item() for tensor in tensors_of(batch)] == [0, 1, 2, 3]
    numbers = iter(range(10, 14))
    made = map_tensors(batch, lambda tensor: torch.tensor(next(numbers)))
    assert made["x"][0].item() == 10
    assert made["x"][1] == ("text", torch.tensor(11))
    assert type(made["y"]) is Pair
    assert made["y"].images.item() == 12
    assert type(made["z"]) is collections.OrderedDict
    assert made["z"]["k"].item() == 13
    assert tensors_of("no tensor") == []
    assert map_tensors(7, torch.neg) == 7


def test_a_mapping_that_cant_be_rebuilt_becomes_a_dict() -> None:
    made = map_tensors(Frozen(x=torch.tensor(1)), torch.neg)
    assert type(made) is dict
    assert made["x"].item() == -1
