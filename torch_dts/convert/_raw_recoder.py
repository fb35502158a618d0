# SPDX-License-Identifier: Apache-2.0
"""Samples stored as pixels: all of them, or some beside encoded ones."""

from __future__ import annotations

import zlib
from typing import Any

import PIL
import torch
from PIL import Image
from torch import Tensor

from torch_dts._raw import MAX_SIDE, raw_shape
from torch_dts.convert._image_sizes import image_sizes
from torch_dts.convert._levels import exported_size
from torch_dts.convert._pillow_process import ExportRule, PillowPool
from torch_dts.convert._recode import Recoder, StoredSample
from torch_dts.convert._restart_recoder import libjpeg_version


class RawRecoder:
    """Decodes samples and stores their pixels; those not chosen go to another recoder.

    A sample is chosen where its image, made smaller as asked, has at most `max_pixels` pixels,
    and, for a fraction of the samples, where the CRC-32 of its bytes is below that fraction of
    2**32: so equal images are stored alike, whatever the order or the number of workers.
    """

    def __init__(
        self,
        level: int,
        max_size: int,
        other: Recoder | None,
        *,
        fraction: float | None = None,
        max_pixels: int | None = None,
        num_workers: int,
    ) -> None:
        """
        Args:
            level, max_size: Make images smaller (see `export_pixels`).
            other: For samples that are not chosen; None: they keep their bytes. It is closed with this.
            fraction: Of samples to choose; None: all.
            max_pixels: Width * height of a chosen image at most; None: any number.
            num_workers: Threads that will call `recode`; more than one: worker processes run Pillow.
        """
        self._rule = ExportRule(level, max_size, is_raw=True)
        self._other = other
        self._fraction = fraction
        self._max_pixels = max_pixels
        self._takes_all = fraction is None and max_pixels is None
        self.name = "pixels" if self._takes_all else "pixels and JPEGs"
        self.keeps_area = not level and not max_size
        self.has_raw = True
        self.takes_raw = False
        known = {} if other is None else other.keep_reasons
        self.keep_reasons = known if self._takes_all or other is not None else {1: "not stored as pixels"}
        self._pillow = PillowPool(has_processes=num_workers > 1)
        Image.init()  # not left to the threads: loading Pillow's plugins is not thread-safe

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes the bytes."""
        return {"encoder": f"Pillow {PIL.__version__}, {libjpeg_version()}"}

    def recode(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample]:
        """See `Recoder`."""
        view = arena.numpy().data
        places = list(zip(offsets.tolist(), sizes.tolist(), strict=True))
        images = [view[start : start + size] for start, size in places]
        chosen = self._choose(images, arena, offsets, sizes)
        made: dict[int, StoredSample] = {}
        exported = self._pillow.export([images[i] for i in chosen], self._rule)
        for i, (data, reason) in zip(chosen, exported, strict=True):
            shape = raw_shape(data)
            made[i] = StoredSample(data, reason, area=shape.height * shape.width if shape else 0)
        rest = [i for i in range(len(images)) if i not in made]
        if rest:
            at = torch.tensor(rest)
            for i, stored in zip(rest, self._keep(images, arena, offsets[at], sizes[at], rest), strict=True):
                made[i] = stored
        return [made[i] for i in range(len(images))]

    def close(self) -> None:
        """Ends the worker processes."""
        self._pillow.close()
        if self._other is not None:
            self._other.close()

    def _keep(
        self, images: list[memoryview], arena: Tensor, offsets: Tensor, sizes: Tensor, rest: list[int]
    ) -> list[StoredSample]:
        if self._other is not None:
            return self._other.recode(arena, offsets, sizes)
        return [StoredSample(bytes(images[i]), kept_because=1) for i in rest]

    def _choose(self, images: list[memoryview], arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[int]:
        if self._takes_all:
            return list(range(len(images)))
        chosen = []
        for i, (image, (width, height)) in enumerate(
            zip(images, image_sizes(arena, offsets, sizes), strict=True)
        ):
            new_width, new_height = exported_size(width, height, self._rule.level, self._rule.max_size)
            is_small = self._max_pixels is None or new_width * new_height <= self._max_pixels
            is_drawn = self._fraction is None or zlib.crc32(image) < self._fraction * (1 << 32)
            if is_small and is_drawn and 0 < max(new_width, new_height) <= MAX_SIDE:
                chosen.append(i)
        return chosen
