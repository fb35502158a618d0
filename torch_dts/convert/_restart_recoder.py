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
        return transcode(arena, offsets, sizes, self._interval, self._keep_metadata)

    def close(self) -> None:
        """Nothing to end."""


def transcode(
    arena: Tensor, offsets: Tensor, sizes: Tensor, interval: int, keep_metadata: bool
) -> list[StoredSample]:
    """JPEGs with markers and optimal tables, or as they are. In this thread, which is one of many."""
    grain = max(1, sizes.numel())
    out, starts, lengths, facts = _native.transcode_jpegs(
        arena, offsets, sizes, interval, keep_metadata, grain
    )
    view = out.numpy().data
    places = zip(starts.tolist(), lengths.tolist(), facts.tolist(), strict=True)
    return [StoredSample(view[start : start + length], "", *row) for start, length, row in places]
