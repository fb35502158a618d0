# SPDX-License-Identifier: Apache-2.0
"""Arguments of convert(): allowed and wrong values."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from torch_dts.convert import convert
from torch_dts.convert._arguments import Options, check_arguments, check_class_to_idx
from torch_dts.convert._raw_arguments import RawOptions


def check(**changes: Any) -> Options:
    values: dict[str, Any] = {
        "level": 0,
        "split": None,
        "class_to_idx": None,
        "allow_empty": False,
        "order": "shuffled",
        "seed": 42,
        "num_volumes": 1,
        "volume": None,
        "check": "header",
        "on_error": "raise",
        "overwrite": False,
        "encoding": "jpeg",
        "block_size": None,
        "restart_interval": "default",
        "metadata": "needed",
        "max_size": None,
        "raw_fraction": None,
        "raw_max_pixels": None,
        "resume": False,
        "compat": False,
        "min_blocks": None,
        "num_workers": 3,
        "progress": None,
        **changes,
    }
    return check_arguments(**values)


def test_defaults() -> None:
    assert check() == Options(
        level=0,
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
        restart_interval=None,
        metadata="needed",
        raw=RawOptions("jpeg"),
        resume=False,
        compat=False,
        min_blocks=None,
        num_workers=3,
        progress=None,
    )


def test_every_argument_of_convert_is_checked() -> None:
    names = set(inspect.signature(convert).parameters) - {"source", "path"}
    checked = set(inspect.signature(check_arguments).parameters)
    assert names == checked | {"labels", "targets"}  # which _labels and _targets check


def test_convert_s_defaults_are_allowed() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(convert).parameters.items()
        if name not in ("source", "path", "labels", "targets")
    }
    assert check(**defaults).order == "shuffled"


@pytest.mark.parametrize(
    ("level", "value", "interval"),
    [(0, "default", None), (2, "default", "auto"), (3, None, None), (0, "auto", "auto"), (1, 65_535, 65_535)],
)
def test_restart_interval(level: int, value: object, interval: object) -> None:
    assert check(level=level, restart_interval=value).restart_interval == interval


def test_compat_stores_pillow_s_bytes() -> None:
    assert check(compat=True, level=3).restart_interval is None
    assert check(compat=True, min_blocks=7, block_size=16 << 20).min_blocks == 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": 1, "encoding": "png"}, "level=1 makes JPEGs, encoding='png' does not"),
        ({"level": 3, "metadata": "keep"}, "metadata='keep' is for level 0"),
        (
            {"compat": True, "seed": 1, "order": "source"},
            "leave order='source', seed=1 out",
        ),
        ({"compat": True, "block_size": 32 << 20}, "leave block_size=33554432 out"),
        ({"compat": True, "level": 1, "restart_interval": "auto"}, "leave restart_interval='auto' out"),
        ({"min_blocks": 5}, "^min_blocks=5 is for compat=True at level 0, but compat is False$"),
        ({"min_blocks": 1, "compat": True, "level": 1}, "^min_blocks=1 is for .* level 0, but level is 1$"),
        ({"min_blocks": 0, "compat": True}, "^min_blocks must be at least 1, not 0$"),
        ({"compat": True, "num_volumes": 2}, "num_volumes=2: what compat=True writes for reads one"),
        ({"compat": True, "num_volumes": 2, "volume": 0}, "reads one file; leave one of them out"),
        (
            {"stats": True, "num_volumes": 2, "volume": 1},
            "stats=True is for the whole set, volume=1 does not",
        ),
        ({"restart_interval": 4, "encoding": "pixels"}, "restart_interval=4 is for JPEGs, encoding='pixels'"),
    ],
)
def test_what_does_not_go_together(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(**changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("level", 7, "level must be 0, 1, 2 or 3, not 7"),
        ("order", "foo", "order must be one of shuffled, source, not 'foo'"),
        ("split", "test", "split must be one of train, val or None, not 'test'"),
        ("check", "full", "check must be one of header, decode, none, not 'full'"),
        ("encoding", "webp", "encoding must be one of jpeg, pixels, png, raw, mixed, not 'webp'"),
        ("on_error", "ignore", "on_error must be one of raise, skip, keep, not 'ignore'"),
        ("block_size", 1 << 20, "multiple of 16 MiB .* under 4 GiB, not 1048576"),
        ("block_size", 0, "multiple of 16 MiB .* under 4 GiB, not 0"),
        ("block_size", -(16 << 20), "multiple of 16 MiB .* under 4 GiB, not -16777216"),
        ("block_size", 4 << 30, "multiple of 16 MiB .* under 4 GiB, not 4294967296"),
        ("restart_interval", 0, "restart_interval must be 1 to 65535 MCUs, not 0"),
        ("restart_interval", 65_536, "restart_interval must be 1 to 65535 MCUs, not 65536"),
        ("restart_interval", "row", "must be 'default', 'auto', MCUs or None, not 'row'"),
        ("metadata", "none", "metadata must be one of needed, keep, not 'none'"),
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
        ("restart_interval", True, "restart_interval must be an int, not True"),
        ("resume", 1, "resume must be True or False, not 1"),
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


def test_volumes() -> None:
    assert (check().num_volumes, check().volume) == (1, None)
    options = check(num_volumes=4, volume=3)
    assert (options.num_volumes, options.volume) == (4, 3)


@pytest.mark.parametrize(
    ("num_volumes", "volume", "message"),
    [
        (0, None, "num_volumes must be 1 to 99999, not 0"),
        (100_000, None, "num_volumes must be 1 to 99999, not 100000"),
        (4, 4, "volume must be 0 to 3, as num_volumes is 4, not 4"),
        (4, -1, "volume must be 0 to 3, as num_volumes is 4, not -1"),
        (1, 0, "volume=0 writes one of several volumes: give num_volumes too"),
    ],
)
def test_volumes_out_of_range(num_volumes: int, volume: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(num_volumes=num_volumes, volume=volume)


@pytest.mark.parametrize("name", ["num_volumes", "volume"])
def test_volumes_of_other_types(name: str) -> None:
    for value in (True, 2.0, "2"):
        with pytest.raises(TypeError, match=f"{name} must be an int"):
            check(**{"num_volumes": 2, name: value})
