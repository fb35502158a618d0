# SPDX-License-Identifier: Apache-2.0
"""Which recoder the arguments ask for."""

from __future__ import annotations

from typing import Any

import pytest

from torch_dts.convert._arguments import Options, check_arguments
from torch_dts.convert._recoders import make_recoder


def options(**changes: Any) -> Options:
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
        "restart_interval": "default",
        "metadata": "needed",
        "max_size": None,
        "raw_fraction": None,
        "raw_max_pixels": None,
        "resume": False,
        "compat": False,
        "min_blocks": None,
        "num_workers": 1,
        "progress": None,
        **changes,
    }
    return check_arguments(**values)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, None),
        ({"restart_interval": None}, None),
        ({"restart_interval": "auto"}, "restart markers"),
        ({"restart_interval": 9}, "restart markers"),
        ({"level": 1}, "level 1"),
        ({"level": 3, "restart_interval": None}, "level 3"),
        ({"level": 3, "max_size": 300}, "level 3"),
        ({"max_size": 300}, "at most 300 pixels a side"),
        ({"max_size": 300, "restart_interval": 4}, "at most 300 pixels a side"),
        ({"encoding": "raw", "level": 2}, "pixels"),
        ({"encoding": "mixed", "raw_fraction": 0.1}, "pixels and JPEGs"),
    ],
)
def test_make_recoder(changes: dict[str, Any], name: str | None) -> None:
    recoder = make_recoder(options(**changes))
    assert (recoder.name if recoder is not None else None) == name
    if recoder is not None:
        recoder.close()
