# SPDX-License-Identifier: Apache-2.0
"""Level 0 with max_size: large images are made smaller, others are left to another recoder or kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_dts.convert._image_sizes import image_sizes
from torch_dts.convert._level_recoder import LevelRecoder
from torch_dts.convert._recode import Recoder, StoredSample


class SizeRecoder:
    """Encodes anew the images whose longer side is above a limit.

    Those within it go to `other`, or keep their bytes.
    """

    keeps_area = False
    has_raw = False
    takes_raw = False

    def __init__(
        self, max_size: int, restart_interval: str | int | None, other: Recoder | None, *, num_workers: int
    ) -> None:
        """
        Args:
            restart_interval: Of the images encoded anew: "auto", MCUs, or None for no markers.
            other: For images within the limit; None: they keep their bytes. It is closed with this.
            num_workers: As for `LevelRecoder`.
        """
        self.name = f"at most {max_size} pixels a side"
        self._max_size = max_size
        self._resized = LevelRecoder(0, restart_interval, max_size=max_size, num_workers=num_workers)
        self._other = other
        self.keep_reasons = {1: "within max_size"} if other is None else other.keep_reasons

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes the bytes."""
        return self._resized.parameters

    def recode(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample]:
        """See `Recoder`."""
        found = image_sizes(arena, offsets, sizes)
        is_large = torch.tensor([max(each) > self._max_size for each in found])
        large, rest = is_large.nonzero().flatten(), (~is_large).nonzero().flatten()
        made = dict(
            zip(large.tolist(), self._resized.recode(arena, offsets[large], sizes[large]), strict=True)
        )
        if rest.numel() and self._other is not None:
            kept = self._other.recode(arena, offsets[rest], sizes[rest])
            made.update(zip(rest.tolist(), kept, strict=True))
        view = arena.numpy().data
        for i in rest.tolist():
            if i not in made:
                start, size = int(offsets[i]), int(sizes[i])
                area = found[i][0] * found[i][1]
                made[i] = StoredSample(bytes(view[start : start + size]), kept_because=1, area=area)
        return [made[i] for i in range(offsets.numel())]

    def close(self) -> None:
        """Ends the worker processes."""
        self._resized.close()
        if self._other is not None:
            self._other.close()
