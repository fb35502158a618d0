# SPDX-License-Identifier: Apache-2.0
"""Sample and block numbers and memory given by a caller, checked."""

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
    tensor = _as_int64(ids, length, "sample")
    _check_range(tensor, -length, length, "sample")
    return torch.where(tensor < 0, tensor + length, tensor)


def block_ids_tensor(ids: Iterable[int] | Tensor, num_blocks: int) -> Tensor:
    """int64 ``[n]`` in ``[0, num_blocks)``. Raises as `sample_ids_tensor`."""
    tensor = _as_int64(ids, num_blocks, "block")
    _check_range(tensor, 0, num_blocks, "block")
    return tensor


def output_arena(out: Tensor | None, num_bytes: int) -> Tensor:
    """`out`, or new memory: uint8 ``[num_bytes]`` on the CPU.

    Raises:
        ValueError: `out` has another type, size or layout.
    """
    if out is None:
        return torch.empty(num_bytes, dtype=torch.uint8, device="cpu")
    if out.dtype != torch.uint8 or out.shape != (num_bytes,) or not out.is_contiguous():
        raise ValueError(
            f"out is {out.dtype} {tuple(out.shape)}, expected contiguous torch.uint8 ({num_bytes},)"
        )
    return out


def _as_int64(ids: Iterable[int] | Tensor, end: int, what: str) -> Tensor:
    if not isinstance(ids, Tensor):
        try:
            numbers = [operator.index(number) for number in ids]
        except TypeError:
            shown = repr(ids)
            shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
            raise TypeError(
                f"{what} numbers come as a list, range or tensor of integers, such as [0, 7], not {shown}"
            ) from None
        for number in numbers:
            if not -(2**63) <= number < 2**63:
                raise IndexError(f"{what} {number} is out of range: there are {end}")
        return torch.tensor(numbers, dtype=torch.int64, device="cpu")
    if ids.dtype.is_floating_point or ids.dtype.is_complex or ids.dtype == torch.bool:
        raise TypeError(f"indices are {ids.dtype}, expected integers")
    if ids.dim() != 1:
        raise ValueError(f"indices have the shape {tuple(ids.shape)}, expected one dimension")
    signed = ids.to("cpu", torch.int64).contiguous()
    if ids.dtype == torch.uint64 and bool((signed < 0).any()):
        number = int(signed[signed < 0][0]) + 2**64
        raise IndexError(f"{what} {number} is out of range: there are {end}")
    return signed


def _check_range(ids: Tensor, lowest: int, end: int, what: str) -> None:
    wrong = (ids < lowest) | (ids >= end)
    if bool(wrong.any()):
        number = int(ids[wrong][0])
        raise IndexError(f"{what} {number} is out of range: there are {end}")
