# SPDX-License-Identifier: Apache-2.0
"""A batch of any structure: its tensors exchanged, all else left as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor


def map_tensors(data: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """`data` with `function` of each tensor in its place, from left to right.

    Args:
        data: Tensors in lists, tuples, named tuples and mappings, among anything else.
        function: Called once for each tensor.
    """
    if isinstance(data, Tensor):
        return function(data)
    if isinstance(data, Mapping):
        made = {key: map_tensors(value, function) for key, value in data.items()}
        return made if type(data) is dict else _rebuilt(data, made)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(map_tensors(value, function) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(map_tensors(value, function) for value in data)
    return data


def tensors_of(data: Any) -> list[Tensor]:
    """The tensors, from left to right."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tensors(data, note)
    return found


def _rebuilt(data: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    try:
        return type(data)(values)  # type: ignore[call-arg]
    except TypeError:  # it can't be made of a dict
        return values
