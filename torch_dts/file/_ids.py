# SPDX-License-Identifier: Apache-2.0
"""Sample and block numbers given by a caller, checked and as int64 tensors."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch import Tensor


def sample_ids_tensor(ids: Iterable[int] | Tensor, length: int) -> Tensor:
    """int64 ``[n]`` in ``[0, length)``; negative numbers count from the end.

    Raises:
        IndexError: A number is outside of ``[-length, length)``.
        TypeError: They are no integers.
        ValueError: A tensor has another shape than ``[n]``.
    """
    tensor = _as_int64(ids)
    _check_range(tensor, -length, length, "sample")
    return torch.where(tensor < 0, tensor + length, tensor)


def block_ids_tensor(ids: Iterable[int] | Tensor, num_blocks: int) -> Tensor:
    """int64 ``[n]`` in ``[0, num_blocks)``. Raises as `sample_ids_tensor`."""
    tensor = _as_int64(ids)
    _check_range(tensor, 0, num_blocks, "block")
    return tensor


def _as_int64(ids: Iterable[int] | Tensor) -> Tensor:
    if not isinstance(ids, Tensor):
        return torch.tensor([operator.index(number) for number in ids], dtype=torch.int64, device="cpu")
    if ids.dtype.is_floating_point or ids.dtype.is_complex or ids.dtype == torch.bool:
        raise TypeError(f"indices are {ids.dtype}, expected integers")
    if ids.dim() != 1:
        raise ValueError(f"indices have the shape {tuple(ids.shape)}, expected one dimension")
    return ids.to("cpu", torch.int64).contiguous()


def _check_range(ids: Tensor, lowest: int, end: int, what: str) -> None:
    wrong = (ids < lowest) | (ids >= end)
    if bool(wrong.any()):
        number = int(ids[wrong][0])
        raise IndexError(f"{what} {number} is out of range: there are {end}")
