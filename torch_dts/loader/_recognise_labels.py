# SPDX-License-Identifier: Apache-2.0
"""Lists that users can change, taken over as int64 tensors only where that changes nothing."""

from __future__ import annotations

import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

_PLAIN = (list, tuple, range, array.array)


class NotReadable(Exception):
    """A dataset that the native loader can't stand in for; its text is the reason."""


def int_tensor(values: Any, what: str) -> Tensor:
    """int64 ``[n]`` of a list, tuple, range, array, numpy array or tensor of integers.

    Raises:
        NotReadable: It is of another type, or not of integers (bools are none).
    """
    if type(values) is Tensor:
        if values.dtype == torch.bool or values.is_floating_point() or values.is_complex():
            raise NotReadable(f"{what} are a tensor of {values.dtype}, not of integers")
        if values.dim() != 1:
            raise NotReadable(f"{what} are a tensor of {values.dim()} dimensions, not 1")
        return values.detach().to("cpu", torch.int64, copy=True)
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise NotReadable(f"{what} are a numpy array of {values.dtype}, shape {values.shape}")
        return torch.from_numpy(values.astype(np.int64))
    if type(values) not in _PLAIN:
        raise NotReadable(f"{what} are a {type(values).__name__}, not a list")
    return _from_objects(values, what)


def label_tensor(values: Any, what: str, target_transform: Any) -> Tensor:
    """int64 ``[n]`` of labels that a dataset hands out as they are, where collating gives int64 too.

    Raises:
        NotReadable: They are something else than ints.
    """
    dtype = getattr(values, "dtype", None)
    if dtype is not None and dtype not in (torch.int64, np.dtype(np.int64)):
        raise NotReadable(f"{what} are of type {dtype}, not int64")
    kinds = {int} if dtype is not None else set(map(type, values)) if type(values) in (list, tuple) else set()
    for kind in kinds - {int, np.int64}:
        raise NotReadable(f"{what} hold a {kind.__name__}, not only ints")
    if target_transform is not None and (dtype is not None or kinds - {int}):
        raise NotReadable(f"{what} are numpy's or torch's, and target_transform would see ints")
    return int_tensor(values, what)


def _from_objects(values: Sequence[Any], what: str) -> Tensor:
    if type(values) is not range:
        for kind in set(map(type, values)):
            if not issubclass(kind, (int, np.integer)) or kind is bool:
                raise NotReadable(f"{what} hold a {kind.__name__}, not only ints")
    try:
        return torch.from_numpy(np.array(values, dtype=np.int64).reshape(-1))
    except OverflowError:
        raise NotReadable(f"{what} hold a number of more than 64 bits") from None


def watch_values(values: Any) -> Callable[[Any], bool]:
    """Remembers what a list holds; the function returned tells whether another is equal to it."""
    if isinstance(values, (Tensor, np.ndarray)):
        kept = values.clone() if isinstance(values, Tensor) else values.copy()
        return lambda now: type(now) is type(values) and _is_equal(now, kept)
    # Equal lists share their elements as a rule, so that comparing them is quick.
    copy = list(values) if type(values) is list else values
    return lambda now: type(now) is type(values) and bool(now == copy)


def _is_equal(now: Any, kept: Any) -> bool:
    if isinstance(kept, Tensor):
        return now.dtype == kept.dtype and now.device == kept.device and torch.equal(now, kept)
    return now.dtype == kept.dtype and np.array_equal(now, kept)
