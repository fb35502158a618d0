# SPDX-License-Identifier: Apache-2.0
"""Level 0 with restart markers: JPEGs written anew without loss."""

from __future__ import annotations

from typing import Any

from PIL import features
from torch import Tensor

from torch_dts import _native
from torch_dts.convert._recode import StoredSample


def native_interval(restart_interval: str | int | None) -> int:
    """A checked `restart_interval` as the native ops take it."""
    if restart_interval is None:
        return _native.NO_RESTART_MARKERS
    return _native.AUTO_RESTART_INTERVAL if isinstance(restart_interval, str) else restart_interval


def libjpeg_version() -> str:
    """What Pillow and, from the same system or another, native code encode with."""
    return f"libjpeg-turbo {features.version('libjpeg_turbo') or 'unknown'}"


class RestartRecoder:
    """Puts restart markers and optimal Huffman tables into JPEGs; others keep their bytes."""

    name = "restart markers"
    keeps_area = True
    has_raw = False
    takes_raw = True

    def __init__(self, restart_interval: str | int, metadata: str) -> None:
        """
        Args:
            restart_interval: "auto" or MCUs.
            metadata: "needed": only what changes the picture; "keep": all.
        """
        self._interval = native_interval(restart_interval)
        self._keep_metadata = metadata == "keep"
        self.keep_reasons = {code: text for code, text in enumerate(_native.TRANSCODE_STATUS) if code}

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes the bytes."""
        return {"encoder": "torch_dts"}

    def recode(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample]:
        """See `Recoder`."""
        return [
            transcode(arena, offsets[i : i + 1], sizes[i : i + 1], self._interval, self._keep_metadata)
            for i in range(sizes.numel())
        ]

    def close(self) -> None:
        """Nothing to end."""


def transcode(
    arena: Tensor, offset: Tensor, size: Tensor, interval: int, keep_metadata: bool
) -> StoredSample:
    """One JPEG (tensors of one element) with markers and optimal tables, or as it is.

    One at a time, since the op shares many among torch's threads, and the caller is one of many
    threads already.
    """
    out, start, length, facts = _native.transcode_jpegs(arena, offset, size, interval, keep_metadata)
    first = int(start)
    return StoredSample(out.numpy().data[first : first + int(length)], "", *facts[0].tolist())
