# SPDX-License-Identifier: Apache-2.0
"""Arguments of convert(): allowed values, wrong values, and those of later versions."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from torch_dts.convert import convert
from torch_dts.convert._arguments import Options, check_arguments, check_class_to_idx

LATER = {
    "max_size": None,
    "restart_interval": "default",
    "num_volumes": 1,
    "volume": None,
    "resume": False,
    "compat": False,
    "min_blocks": None,
    "metadata": "needed",
    "raw_fraction": None,
    "raw_max_pixels": None,
    "targets": None,
    "stats": False,
}


def check(**changes: Any) -> Options:
    later = {**LATER, **{name: changes.pop(name) for name in list(changes) if name in LATER}}
    values: dict[str, Any] = {
        "level": 0,
        "split": None,
        "class_to_idx": None,
        "allow_empty": False,
        "order": "shuffled",
        "seed": 42,
        "check": "header",
        "on_error": "raise",
        "overwrite": False,
        "encoding": "jpeg",
        "block_size": None,
        "num_workers": 3,
        "progress": None,
        **changes,
    }
    return check_arguments(**values, later=later)


def test_defaults() -> None:
    assert check() == Options(
        split=None,
        class_to_idx=None,
        allow_empty=False,
        order="shuffled",
        seed=42,
        check="header",
        on_error="raise",
        overwrite=False,
        encoding="jpeg",
        block_size=16 << 20,
        num_workers=3,
        progress=None,
    )


def test_every_argument_of_convert_is_checked() -> None:
    names = set(inspect.signature(convert).parameters) - {"source", "path"}
    checked = set(inspect.signature(check_arguments).parameters) - {"later"}
    assert names == checked | set(LATER) | {"labels"}  # which _open_path checks


def test_convert_s_defaults_are_allowed() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(convert).parameters.items()
        if name not in ("source", "path", "labels")
    }
    assert check(**defaults).order == "shuffled"


@pytest.mark.parametrize(
    ("name", "value", "now"),
    [
        ("level", 2, "only level 0"),
        ("max_size", 400, "images keep their size"),
        ("restart_interval", "auto", "bytes are kept"),
        ("restart_interval", 1, "bytes are kept"),
        ("num_volumes", 2, "one file"),
        ("num_volumes", True, "one file"),
        ("volume", 0, "one file"),
        ("resume", True, "starts again"),
        ("compat", True, "only False"),
        ("min_blocks", 8700, "as many blocks"),
        ("metadata", "none", "level 0 keeps every byte"),
        ("raw_fraction", 0.5, "no decoded samples"),
        ("raw_max_pixels", 100, "no decoded samples"),
        ("targets", "boxes", "one class number"),
        ("stats", True, "only False"),
    ],
)
def test_not_yet(name: str, value: object, now: str) -> None:
    head = f"convert({name}={value!r}) is not supported yet: "
    with pytest.raises(ValueError, match=f"{re.escape(head)}.*{re.escape(now)}"):
        check(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("restart_interval", None), ("metadata", "keep")])
def test_values_that_mean_the_same_at_level_0(name: str, value: object) -> None:
    assert check(**{name: value}) == check()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("level", 7, "level must be 0, 1, 2 or 3, not 7"),
        ("order", "foo", "order must be one of shuffled, source, not 'foo'"),
        ("split", "test", "split must be one of train, val or None, not 'test'"),
        ("check", "full", "check must be one of header, decode, none, not 'full'"),
        ("encoding", "raw", "encoding must be one of jpeg, pixels, png, not 'raw'"),
        ("on_error", "ignore", "on_error must be one of raise, skip, keep, not 'ignore'"),
        ("block_size", 1 << 20, "multiple of 16 MiB .* under 4 GiB, not 1048576"),
        ("block_size", 0, "multiple of 16 MiB .* under 4 GiB, not 0"),
        ("block_size", -(16 << 20), "multiple of 16 MiB .* under 4 GiB, not -16777216"),
        ("block_size", 4 << 30, "multiple of 16 MiB .* under 4 GiB, not 4294967296"),
        ("num_workers", -1, "num_workers is -1, expected at least 0"),
        ("class_to_idx", {}, "at least one class"),
        ("class_to_idx", {"a": 0, "b": 2}, "2 classes 0 to 1, found 'b': 2"),
        ("class_to_idx", {"a": 0, "b": 0}, "number 0 to both 'a' and 'b'"),
        ("class_to_idx", {"a": -1}, "found 'a': -1"),
    ],
)
def test_wrong_values(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("level", "0", "level must be an int, not '0'"),
        ("level", False, "level must be an int, not False"),
        ("seed", 1.5, "seed must be an int, not 1.5"),
        ("block_size", "16MiB", "block_size must be an int"),
        ("num_workers", True, "num_workers is True, expected an int or None"),
        ("overwrite", 1, "overwrite must be True or False, not 1"),
        ("allow_empty", None, "allow_empty must be True or False"),
        ("progress", "yes", "progress must be True, False or None"),
        ("class_to_idx", ["a"], "class_to_idx must map class names to numbers"),
        ("class_to_idx", {1: 0}, "class names .* as keys, found 1"),
        ("class_to_idx", {"a": "0"}, r"class_to_idx\['a'\] must be an int"),
    ],
)
def test_wrong_types(name: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check(**{name: value})


@pytest.mark.parametrize(
    ("seed", "stored"), [(0, 0), (-1, (1 << 64) - 1), ((1 << 64) + 5, 5), (-(1 << 70), 0)]
)
def test_seeds_are_any_int(seed: int, stored: int) -> None:
    assert check(seed=seed).seed == stored


def test_number_of_workers() -> None:
    assert check(num_workers=0).num_workers == 1
    assert check(num_workers=7).num_workers == 7
    assert check(num_workers=None).num_workers >= 1


def test_block_sizes() -> None:
    assert check(block_size=48 << 20).block_size == 48 << 20
    assert check(block_size=4080 << 20).block_size == 4080 << 20


def test_class_to_idx_comes_back_as_a_dict_of_ints() -> None:
    assert check_class_to_idx({"b": 0, "a": 1}) == {"b": 0, "a": 1}
