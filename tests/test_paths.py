# SPDX-License-Identifier: Apache-2.0
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_dts import _paths


def test_display_never_holds_what_print_refuses() -> None:
    name = os.fsdecode(b"caf\xe9/\xff\n\x1b[31m.jpg")
    shown = _paths.display(name)
    assert shown == "caf\\xe9/\\xff\\n\\x1b[31m.jpg"
    shown.encode("utf-8")


def test_display_keeps_unicode() -> None:
    assert _paths.display("猫/é.jpg") == "猫/é.jpg"


@pytest.mark.parametrize(
    ("path", "escaped"),
    [
        ("a/b.jpg", "a/b.jpg"),
        ("a b", "a%20b"),
        ("100%|x", "100%25%7Cx"),
        ("é", "%C3%A9"),
        (os.fsdecode(b"\xff"), "%FF"),
    ],
)
def test_escape(path: str, escaped: str) -> None:
    assert _paths.escape(path) == escaped
    assert _paths.unescape(escaped) == path


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_escape_round_trip(raw: bytes) -> None:
    path = os.fsdecode(raw)
    escaped = _paths.escape(path)
    assert escaped.isascii()
    assert _paths.unescape(escaped) == path


def test_join_paths() -> None:
    joined = _paths.join_paths(["a", os.fsdecode(b"\xffb")])
    assert bytes(joined.numpy()) == b"a\0\xffb\0"
    assert _paths.join_paths([]).numel() == 0


@pytest.mark.parametrize("bad", ["", "a\0b"])
def test_join_paths_refuses(bad: str) -> None:
    with pytest.raises(ValueError, match="path 1 is empty or holds a NUL byte"):
        _paths.join_paths(["a", bad])
