# SPDX-License-Identifier: Apache-2.0
"""Parameters as plain numbers."""

from typing import Any

import numpy as np
import pytest
import torch
from torchvision.transforms import InterpolationMode

from torch_dts.transforms import _values as values
from torch_dts.transforms._values import Refusal


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3)])
def test_numbers(value: Any) -> None:
    assert values.number(value, "x") == 3.0
    assert type(values.number(value, "x")) is float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3", "x is str, not a number"),
        (None, "x is NoneType"),
        (float("inf"), "x is inf, not finite"),
        (1e39, "x is 1e\\+39, not finite as float32"),
        (torch.tensor(3.0), "x is Tensor, not a number"),
    ],
)
def test_what_is_no_number(value: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        values.number(value, "x")


def test_integers_and_sides() -> None:
    assert values.integer(np.uint8(7), "x") == 7
    assert values.side(65535, "x") == 65535
    for value, text in (
        (2.0, "x is 2.0, not an integer"),
        (np.float32(2), "not an integer"),
        ("a", "x is 'a'"),
    ):
        with pytest.raises(Refusal, match=text):
            values.integer(value, "x")
    for value in (0, -1, 65536):
        with pytest.raises(Refusal, match=f"x is {value}, not between 1 and 65535"):
            values.side(value, "x")


def test_sequences_and_sizes() -> None:
    assert values.height_width({"size": [3, np.int32(4)]}) == (3, 4)
    assert values.pair((1, 2.5), "x") == (1.0, 2.5)
    for value, text in (
        (5, "size is int"),
        ((1, 2, 3), "size has 3 numbers"),
        (np.array([1, 2]), "size is ndarray"),
    ):
        with pytest.raises(Refusal, match=text):
            values.height_width({"size": value})
    with pytest.raises(Refusal, match="it has no attribute 'size'"):
        values.height_width({})


def test_ranges_and_probabilities() -> None:
    assert values.number_range((0, 1), "x") == (0.0, 1.0)
    assert values.number_range((0.5, 0.5), "x", 0.0, 1.0) == (0.5, 0.5)
    for value in ((1, 0), (-0.1, 0.5), (0.5, 1.5)):
        with pytest.raises(Refusal, match="which is no range within 0 to 1"):
            values.number_range(value, "x", 0.0, 1.0)
    assert [values.probability({"p": p}) for p in (-1, 0.25, True, 7)] == [0.0, 0.25, 1.0, 1.0]


@pytest.mark.parametrize("value", [0.5, [0.5], (0.5,), np.array([0.5]), np.float64(0.5), torch.tensor(0.5)])
def test_one_value_for_all_channels(value: Any) -> None:
    assert values.channel_values(value, "x", 3) == (0.5,)


def test_a_value_for_each_channel() -> None:
    assert values.channel_values(torch.tensor([1, 2, 3]), "x", 3) == (1.0, 2.0, 3.0)
    with pytest.raises(Refusal, match="x has 3 values, the image has 1 channels"):
        values.channel_values([1, 2, 3], "x", 1)
    with pytest.raises(Refusal, match="x is list, not a number"):
        values.channel_values(np.zeros((3, 1)), "x", 3)


def test_filters_by_every_name() -> None:
    for mode in InterpolationMode:
        assert values.interpolation({"interpolation": mode}) is mode
        assert values.interpolation({"interpolation": mode.value}) is mode
    assert values.interpolation({"interpolation": 2}) is InterpolationMode.BILINEAR
    for wrong in ("cubic", 9, None, True):
        with pytest.raises(Refusal, match="which torchvision does not know"):
            values.interpolation({"interpolation": wrong})


def test_padding() -> None:
    assert values.padding(3) == (3, 3, 3, 3)
    assert values.padding([3]) == (3, 3, 3, 3)
    assert values.padding((3, 4)) == (3, 4, 3, 4)
    assert values.padding([1, -2, 3, 4]) == (1, -2, 3, 4)
    for value, text in (
        ((1, 2, 3), "padding has 3 numbers"),
        (1.5, "not an integer"),
        (70000, "padding is 70000, beyond"),
    ):
        with pytest.raises(Refusal, match=text):
            values.padding(value)
    assert [values.pad_mode({"padding_mode": mode}) for mode in values.PAD_MODES] == [0, 1, 2, 3]
    with pytest.raises(Refusal, match="padding_mode is 'wrap'"):
        values.pad_mode({"padding_mode": "wrap"})


def test_fills() -> None:
    assert values.fill_bytes(None, 3) == (0,)
    assert values.fill_bytes(255.9, 3) == (255,)
    assert values.fill_bytes((1, 2.7, 3), 3) == (1, 2, 3)
    for value in (-1, 256, (0, 0, 300)):
        with pytest.raises(Refusal, match="not between 0 and 255"):
            values.fill_bytes(value, 3)


def test_messages_show_only_plain_values() -> None:
    assert values.show("a") == "'a'"
    assert values.show(object()) == "object"
    assert values.show(torch.float16) == "torch.float16"
