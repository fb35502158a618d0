# SPDX-License-Identifier: Apache-2.0
"""Loads the native module and calls its ops, with the core's errors as Python's."""

from __future__ import annotations

import operator
import os
from typing import Any

import torch
from torch import Tensor

from torch_dts._errors import CorruptFileError
from torch_dts._exit import the_exit
from torch_dts._paths import display, unescape

try:
    import torch_dts._C  # noqa: F401  (importing it registers the ops)
except ImportError as error:
    raise ImportError(
        f"torch_dts: the native module could not be loaded ({error}). Likely causes: the package was not "
        "built (run 'pip install --no-build-isolation .' in the source tree), Python runs in the source "
        "tree while the package is installed elsewhere, torch is older than 2.11, or libjpeg-turbo's "
        "shared library is missing (Debian: apt-get install libjpeg62-turbo)."
    ) from error

STATEFUL_OPS = ("end_ops", "keep_threads")

_ops = torch.ops.torch_dts

Path = str | os.PathLike[str]


def translate_error(error: RuntimeError) -> Exception:
    """The Python exception for a native error; the error itself when it is none of ours."""
    kind, _, rest = str(error).partition("|")
    if kind not in ("torch_dts.IoError", "torch_dts.CorruptFile"):
        return error
    number, escaped, text = rest.split("|", 2)
    path = unescape(escaped)
    # torch may append its own call stack to the text
    text = text.split("\n", 1)[0]
    if kind == "torch_dts.CorruptFile":
        return CorruptFileError(path, None if int(number) < 0 else int(number), text)
    return OSError(int(number), f"{os.strerror(int(number))}: {text}", display(path))


def _end_ops() -> None:
    _ops.end_ops.default()


def _keep(threads: list[int]) -> list[int]:
    named = torch.tensor([signed(thread) for thread in threads], dtype=torch.int64, device="cpu")
    kept = set(_ops.keep_threads.default(named).tolist())
    return [thread for thread in threads if signed(thread) in kept]


the_exit.ask(_end_ops, _keep)


def call(name: str, *args: Any) -> Any:
    if not the_exit.enter():
        raise SystemExit
    try:
        return _call(name, args)
    finally:
        the_exit.leave()
        the_exit.leave_thread()


def release(name: str, handle: int) -> None:
    """An op that only lets go of something: finalizers call it, where nobody catches SystemExit."""
    if the_exit.enter():
        try:
            _call(name, (handle,))
        finally:
            the_exit.leave()


def _call(name: str, args: tuple[Any, ...]) -> Any:
    try:
        return getattr(_ops, name).default(*args)
    except RuntimeError as error:
        errors = [translate_error(error)]
        if errors[0] is error:
            errors.clear()
            raise
    raise errors.pop()  # in no local name: its traceback would lead to itself


def signed(word: int) -> int:
    """Any integer as a signed 64-bit word (seeds are taken modulo 2^64)."""
    word = operator.index(word) % (1 << 64)  # numpy's and torch's have less room
    return word - (1 << 64) if word >> 63 else word


def tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor from a native op, got {type(value).__name__}")
    return value
