# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in words."""

from torch_dts._words import num_of


def test_plurals() -> None:
    assert [num_of(n, "block") for n in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]
    assert num_of(1, "class", "classes") == "1 class"
    assert num_of(3, "class", "classes") == "3 classes"


def test_thousands() -> None:
    assert num_of(999, "byte") == "999 bytes"
    assert num_of(1_234_567, "byte") == "1,234,567 bytes"
