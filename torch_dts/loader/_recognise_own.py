# SPDX-License-Identifier: Apache-2.0
"""Whether a dataset object behaves as its library made it, found out without running its code."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

# What `changed_behaviour` takes for an attribute that is to be nowhere.
ABSENT = type(None)

# Where any of these is changed, nothing about the object is certain.
_ANYWHERE: Mapping[str, type] = {"__getattribute__": object, "__getattr__": ABSENT}


def own_state(thing: Any) -> dict[str, Any]:
    """The instance attributes of an object, past any ``__getattribute__`` or property of its type."""
    try:
        state = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return state if type(state) is dict else {}


def changed_behaviour(thing: Any, owners: Mapping[str, type | None]) -> str:
    """What of `thing` is not its library's own; "" where all is.

    Args:
        thing: An object of a library's class, or of a subclass of it.
        owners: By attribute name, the class that is to define it; None: no class, it is
            stored in the object; ABSENT: neither. A method must be that class's function as
            its module wrote it, and the object must have none of its own in front of it.
    """
    name = type(thing).__qualname__
    mro = type(thing).__mro__
    state = own_state(thing)
    for member, owner in {**_ANYWHERE, **owners}.items():
        found = next((base for base in mro if member in base.__dict__), None)
        if found is not (None if owner is ABSENT else owner):
            return f"{name} has a {member} of its own" if found is not None else f"{name} has no {member}"
        if owner is None or owner is object:
            continue
        if member in state:
            return f"this {name} was given a {member} of its own"
        if (
            owner is not ABSENT
            and isinstance(owner.__dict__[member], types.FunctionType)
            and not is_as_written(owner.__dict__[member], owner.__module__, member)
        ):
            return f"{owner.__qualname__}.{member} was replaced"
    return ""


def is_as_written(function: Any, module: str, name: str) -> bool:
    """Whether `function` is the one of that name whose code is in that module, not one put in its place."""
    home = sys.modules.get(module)
    return (
        type(function) is types.FunctionType
        and home is not None
        and function.__globals__ is home.__dict__
        and function.__code__.co_name == name
    )
