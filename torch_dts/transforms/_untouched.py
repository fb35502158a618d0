# SPDX-License-Identifier: Apache-2.0
"""Is this object the library's own, unchanged? Only then do its parameters say what it does."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torchvision.transforms import InterpolationMode

from torch_dts.transforms._values import Refusal

# What decides what a transform does; somebody may have put a function of their own there.
_METHODS = (
    "__call__",
    "__getattr__",
    "__getattribute__",
    "_call_impl",
    "_wrapped_call_impl",
    "forward",
    "transform",
    "make_params",
    "get_params",
    "_call_kernel",
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_BUILTIN = (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType)
_PLAIN = (int, float, bool, str, type(None), torch.dtype, np.ndarray, torch.Tensor)


def parameters_of(operation: Any) -> dict[str, Any]:
    """The attributes of an object of torchvision or torch, read past any code of the object's.

    Raises:
        Refusal: A method was exchanged, in the object or in its class, or a hook is set.
    """
    kind = type(operation)
    attributes = dict(object.__getattribute__(operation, "__dict__"))
    for base in kind.__mro__:
        members = vars(base)
        for name in attributes:
            if name in members and name != "training":
                raise Refusal(f"its {name} was exchanged")
        for name in _METHODS:
            if name in members and not _is_the_librarys(members[name]):
                raise Refusal(f"the {name} of its class was exchanged")
    for name in _HOOKS:
        if attributes.get(name):
            raise Refusal("it has a forward hook")
    return attributes


def describe(operation: Any) -> str:
    """``v2.Resize(size=[256], ...)`` for torchvision's own, the class's name for anything else."""
    kind = type(operation)
    if kind is types.FunctionType:
        return f"{operation.__module__}.{operation.__qualname__}"
    module = str(kind.__module__)
    if module.partition(".")[0] not in ("torch", "torchvision"):
        return f"{module}.{kind.__qualname__}"
    prefix = "v2." if module.startswith("torchvision.transforms.v2") else ""
    attributes = object.__getattribute__(operation, "__dict__")
    shown = ", ".join(f"{name}={_show(value)}" for name, value in _shown(attributes))
    return f"{prefix}{kind.__qualname__}({shown})"


def _is_the_librarys(method: Any) -> bool:
    if type(method) in (staticmethod, classmethod):
        method = method.__func__
    if type(method) is types.FunctionType:
        return str(method.__globals__.get("__name__")).partition(".")[0] in ("torch", "torchvision")
    return type(method) in _BUILTIN


def _shown(attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in attributes.items():
        if not name.startswith("_") and name != "training":
            yield name, value


def _show(value: Any) -> str:
    """repr() of plain values only: that of another type is its author's code."""
    if type(value) is InterpolationMode:
        return str(value.value)
    if type(value) in (list, tuple):
        items = ", ".join(_show(item) for item in value)
        return f"[{items}]" if type(value) is list else f"({items}{',' if len(value) == 1 else ''})"
    if type(value) in _PLAIN or issubclass(type(value), np.generic):
        return " ".join(repr(value).split())
    return type(value).__qualname__
