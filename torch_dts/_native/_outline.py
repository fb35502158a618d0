# SPDX-License-Identifier: Apache-2.0
"""What is to be done to the samples of a batch, as the native loader tells (sample_outline.h)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# csrc/core/pipeline/sample_outline.h
_OUTLINE = np.dtype(
    [
        ("address", np.int64),
        ("size", np.int64),
        ("sample", np.int64),
        ("occurrence", np.int64),
        ("anchor", np.int32, 2),
        ("shape", np.int32, 2),
        ("roi_start", np.float32, 2),
        ("roi_end", np.float32, 2),
        ("flips", np.int32, 2),
        ("erase_anchor", np.int32, 2),
        ("erase_shape", np.int32, 2),
    ]
)


class _Memory:
    """Memory of the loader as numpy sees it; whoever refers to it keeps the bytes where they are."""

    def __init__(self, address: int, size: int, held: Tensor) -> None:
        self.held = held
        self.__array_interface__: dict[str, Any] = {
            "data": (address, True),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


class Outlines(NamedTuple):
    """The samples of a batch that have an outline.

    Attributes:
        slots: int64 ``[m]``, their places in the batch.
        samples, occurrences: int64 ``[m]``: of the source; how often each came before.
        indices: int64 ``[m]``: for its random choices.
        encoded: The bytes of each, uint8; they stay as long as any of these arrays.
        anchors, shapes: int32 ``[m, 2]``: top and left, height and width of the part that is needed.
        roi_starts, roi_ends: float32 ``[m, 2]``: y and x in the part, of what becomes the result.
        flips: int32 ``[m, 2]``: horizontal, vertical; 0 or 1.
        erase_anchors, erase_shapes: int32 ``[m, 2]``: as of the result; shape 0: nothing.
    """

    slots: npt.NDArray[np.int64]
    samples: npt.NDArray[np.int64]
    occurrences: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    encoded: list[npt.NDArray[np.uint8]]
    anchors: npt.NDArray[np.int32]
    shapes: npt.NDArray[np.int32]
    roi_starts: npt.NDArray[np.float32]
    roi_ends: npt.NDArray[np.float32]
    flips: npt.NDArray[np.int32]
    erase_anchors: npt.NDArray[np.int32]
    erase_shapes: npt.NDArray[np.int32]

    def arena(self) -> tuple[Tensor, Tensor, Tensor]:
        """A copy of all bytes, with offsets and sizes, as ``run_views`` takes them."""
        sizes = np.array([one.size for one in self.encoded], np.int64)
        offsets = np.cumsum(sizes) - sizes
        joined = np.concatenate(self.encoded) if self.encoded else np.empty(0, np.uint8)
        return torch.from_numpy(joined), torch.from_numpy(offsets), torch.from_numpy(sizes)


def read_outlines(outlines: Tensor, indices: Tensor, held: Tensor) -> Outlines:
    """The outlines of a batch.

    Args:
        outlines, indices, held: From ``loader_next_outlines``; the first two are copied.
    """
    rows = outlines.numpy().view(_OUTLINE)[:, 0]
    slots = np.flatnonzero(rows["address"])
    rows = rows[slots]
    addresses = rows["address"]
    encoded: list[npt.NDArray[np.uint8]] = []
    if slots.size:
        # One array over all of them: what lies between the samples is not looked at.
        base = int(addresses.min())
        ends = addresses + rows["size"]
        memory = np.asarray(_Memory(base, int(ends.max()) - base, held))
        begins = (addresses - base).tolist()
        encoded = [memory[begin:end] for begin, end in zip(begins, (ends - base).tolist(), strict=True)]
    columns = {name: np.ascontiguousarray(rows[name]) for name in _OUTLINE.names or ()}
    return Outlines(
        slots=slots.astype(np.int64),
        samples=columns["sample"],
        occurrences=columns["occurrence"],
        indices=indices.numpy()[slots],
        encoded=encoded,
        anchors=columns["anchor"],
        shapes=columns["shape"],
        roi_starts=columns["roi_start"],
        roi_ends=columns["roi_end"],
        flips=columns["flips"],
        erase_anchors=columns["erase_anchor"],
        erase_shapes=columns["erase_shape"],
    )
