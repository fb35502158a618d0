# SPDX-License-Identifier: Apache-2.0
"""Levels 1 to 3: samples become smaller JPEGs."""

from __future__ import annotations

from typing import Any

import PIL
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native
from torch_dts.convert._pillow_process import ExportRule, PillowPool
from torch_dts.convert._recode import StoredSample
from torch_dts.convert._restart_recoder import libjpeg_version, native_interval, transcode


class LevelRecoder:
    """Encodes samples anew by the rules of docs/convert.md.

    Native code exports ordinary JPEGs, with Pillow's pixels; Pillow exports the rest, whose JPEGs
    then get restart markers and optimal Huffman tables too, which changes no pixel.
    """

    keeps_area = False
    has_raw = False
    takes_raw = False

    def __init__(
        self,
        level: int,
        restart_interval: str | int | None,
        *,
        max_size: int = 0,
        num_workers: int,
        as_pillow: bool = False,
    ) -> None:
        """
        Args:
            restart_interval: "auto", MCUs, or None for no markers.
            max_size: Limit of the longer side; 0: none.
            num_workers: Threads that will call `recode`; more than one: worker processes run Pillow.
            as_pillow: Store Pillow's bytes as they are.
        """
        self.name = f"level {level}"
        self.keep_reasons: dict[int, str] = {}
        self._rule = ExportRule(level, max_size)
        self._interval = native_interval(restart_interval)
        self._as_pillow = as_pillow
        self._pillow = PillowPool(has_processes=num_workers > 1)
        Image.init()  # not left to the threads: loading Pillow's plugins is not thread-safe

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes the bytes."""
        return {"encoder": f"Pillow {PIL.__version__}, {libjpeg_version()}"}

    def recode(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample]:
        """See `Recoder`."""
        count = sizes.numel()
        stored: list[StoredSample | None] = [None] * count
        if not self._as_pillow and self._rule.level and not self._rule.max_size:
            stored = self._export(arena, offsets, sizes)
        view = arena.numpy().data
        rest = [i for i in range(count) if stored[i] is None]
        images = [view[int(offsets[i]) : int(offsets[i] + sizes[i])] for i in rest]
        found = iter(self._pillow.export(images, self._rule))
        return [self._finish(*next(found)) if each is None else each for each in stored]

    def close(self) -> None:
        """Ends the worker processes."""
        self._pillow.close()

    def _export(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample | None]:
        """JPEGs exported natively, in this thread, which is one of many; None: Pillow is to be asked."""
        out, starts, lengths, facts = _native.export_jpegs(
            arena, offsets, sizes, self._rule.level, self._interval, grain=max(1, sizes.numel())
        )
        view = out.numpy().data
        places = zip(starts.tolist(), lengths.tolist(), facts[:, 0].tolist(), strict=True)
        return [
            None if status else StoredSample(view[start : start + length]) for start, length, status in places
        ]

    def _finish(self, jpeg: bytes, reason: str) -> StoredSample:
        """Pillow's JPEG with markers and optimal tables, without a comment that Pillow took over."""
        if reason or self._as_pillow:
            return StoredSample(jpeg, reason)
        size = torch.tensor([len(jpeg)])
        arena = torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)
        return StoredSample(transcode(arena, torch.zeros_like(size), size, self._interval, False)[0].data)
