# SPDX-License-Identifier: Apache-2.0
"""Arguments of callers, checked."""

from __future__ import annotations

from typing import Any, Literal

Verify = Literal["blocks", "file", False]


def check_bool(name: str, value: Any) -> bool:
    """`value`, which has to be a bool.

    Raises:
        TypeError: It is something else, however true.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected True or False")
    return value


def check_verify(verify: Any) -> Verify:
    """What is checked on reading.

    Raises:
        ValueError: It is none of "blocks", "file" and False.
    """
    if verify is not False and verify not in ("blocks", "file"):
        raise ValueError(f"verify is {verify!r}, expected 'blocks', 'file' or False")
    checked: Verify = verify
    return checked


def check_callable(name: str, value: Any) -> Any:
    """`value`, which has to be a callable or None.

    Raises:
        TypeError: It is something else.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{name} is {value!r}, expected a callable or None")
    return value
