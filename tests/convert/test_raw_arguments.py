# SPDX-License-Identifier: Apache-2.0
"""encoding, max_size, raw_fraction and raw_max_pixels together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from torch_dts.convert._raw_arguments import RawOptions, check_raw_arguments


def check(encoding: str, **values: Any) -> RawOptions:
    defaults = {
        "max_size": None,
        "raw_fraction": None,
        "raw_max_pixels": None,
        "restart_interval": "default",
        "metadata": "needed",
        "compat": False,
    }
    return check_raw_arguments(encoding, **{**defaults, **values})


def test_values() -> None:
    assert check("jpeg") == RawOptions("jpeg")
    assert not check("jpeg").has_pixels
    assert check("jpeg", max_size=500).info == {"max_size": 500}
    assert check("raw", max_size=np.int64(400)) == RawOptions("raw", 400)
    assert check("raw").has_pixels
    assert check("raw").info == {}
    mixed = check("mixed", raw_fraction=1, raw_max_pixels=90_000)
    assert mixed == RawOptions("mixed", 0, 1.0, 90_000)
    assert mixed.info == {"raw_fraction": 1.0, "raw_max_pixels": 90_000}
    assert check("mixed", raw_fraction=0.0).info == {"raw_fraction": 0.0}
    assert check("mixed", raw_max_pixels=1, restart_interval="auto").max_pixels == 1


@pytest.mark.parametrize(
    ("encoding", "values", "message"),
    [
        ("jpeg", {"max_size": 0}, "max_size must be 1 to 65535 pixels, not 0"),
        ("jpeg", {"max_size": 65536}, "max_size must be 1 to 65535 pixels, not 65536"),
        ("png", {"max_size": 9}, "max_size=9 makes images smaller, encoding='png' keeps"),
        ("pixels", {"max_size": 9}, "max_size=9 makes images smaller, encoding='pixels' keeps"),
        ("jpeg", {"max_size": 9, "compat": True}, "compat=True writes .*, max_size=9 is not of it"),
        ("raw", {"compat": True}, "compat=True writes .*, encoding='raw' is not of it"),
        ("raw", {"metadata": "keep"}, "encoding='raw' stores pixels without any"),
        ("raw", {"restart_interval": 4}, "restart_interval=4 is for JPEGs, encoding='raw' makes none"),
        ("raw", {"raw_fraction": 0.5}, "raw_fraction=0.5 is for encoding='mixed', not 'raw'"),
        ("jpeg", {"raw_max_pixels": 5}, "raw_max_pixels=5 is for encoding='mixed', not 'jpeg'"),
        ("mixed", {}, "encoding='mixed' needs raw_fraction= .*raw_max_pixels="),
        ("mixed", {"raw_fraction": 1.5}, "raw_fraction must be from 0 to 1, not 1.5"),
        ("mixed", {"raw_fraction": float("nan")}, "raw_fraction must be from 0 to 1, not nan"),
        ("mixed", {"raw_max_pixels": 0}, "raw_max_pixels must be 1 to 4294967296 pixels, not 0"),
    ],
)
def test_wrong_values(encoding: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(encoding, **values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_size": True}, "max_size must be an int or None, not True"),
        ({"max_size": 1.5}, "max_size must be an int or None, not 1.5"),
        ({"raw_fraction": "half"}, "raw_fraction must be a number from 0 to 1 or None, not 'half'"),
        ({"raw_fraction": [1]}, r"raw_fraction must be a number from 0 to 1 or None, not \[1\]"),
    ],
)
def test_wrong_types(values: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check("mixed", **values)
