# SPDX-License-Identifier: Apache-2.0
"""``decode="none"``: samples as they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms import PILToTensor

from torch_dts import _native
from torch_dts.datasets._decode import extend_message
from torch_dts.loader._arguments import OnError
from torch_dts.loader._engine import Engine
from torch_dts.loader._foreign_desk import ForeignPool, without_frames
from torch_dts.loader._recognise import Recognised
from torch_dts.transforms._views import encode_views, read_views

NOT_NATIVE = "decode='none' needs a data set that native code reads: {reason}"


def stored_form(recognised: Recognised) -> tuple[int, str, Callable[[list[Tensor]], Any]]:
    """How a dataset is read without decoding.

    Returns:
        The engine's form of a batch; its plan; what makes the batch's `images` of what it gives.
    """
    if recognised.source_size is None:
        return _native.BYTES, "", list
    reading = read_views(
        PILToTensor(), source_channels=recognised.source_channels, source_size=recognised.source_size
    )
    if reading.plans is None:
        raise RuntimeError(f"pixels can't be copied as they are: {reading.reason}")
    return _native.IMAGES, encode_views(reading.plans, None, torch.channels_last), _pixels


def _pixels(views: list[Tensor]) -> Tensor:
    """``[B, C, H, W]`` by rows of pixels as ``[B, H, W, C]``, gray ``[B, H, W]``, the same memory."""
    pixels = views[0].permute(0, 2, 3, 1)
    return pixels.squeeze(3) if pixels.shape[3] == 1 else pixels


class StoredDesk:
    """The samples that native code could not read: what Python says of them, for one epoch.

    Args:
        pool: Counts what is replaced.
        recognised: Reads and names samples.
        on_error: "raise", or "replace" by an empty tensor.

    Attributes:
        has_any: `collect` found some.
    """

    def __init__(self, pool: ForeignPool, recognised: Recognised, on_error: OnError) -> None:
        self._pool = pool
        self._recognised = recognised
        self._on_error = on_error
        self.has_any = False
        self._waiting: dict[tuple[int, int], tuple[int, bytes | Exception]] = {}  # with the sample

    def collect(self, engine: Engine) -> None:
        """Reads the samples that the engine could not read since the last call."""
        info = engine.take_foreign()[0]
        self.has_any |= bool(info.numel())
        for batch, slot, sample, *_ in info.tolist():
            try:
                self._waiting[batch, slot] = sample, self._recognised.read_bytes(sample)
            except Exception as error:
                self._waiting[batch, slot] = sample, without_frames(error)

    def fill(
        self, batch: int, views: list[Tensor], slots: list[int], places: Sequence[int] | None = None
    ) -> None:
        """Puts the samples of a batch, number `batch`, into their places among `views`.

        Raises:
            OSError: A sample can't be read; its text names the sample.
        """
        errors: list[Exception] = []  # and no local name for one: see ForeignDesk.fill
        for slot, place in zip(slots, slots if places is None else places, strict=True):
            sample, found = self._waiting.pop((batch, slot))
            if isinstance(found, bytes):  # it came to be meanwhile
                views[place] = torch.from_numpy(np.frombuffer(found, np.uint8).copy())
                continue
            extend_message(found, self._recognised.describe(sample))
            if self._on_error == "replace":
                self._pool.count_replaced(found, "an empty tensor")
            else:
                errors.append(found)
            del found
        if errors:
            del errors[1:]
            raise errors.pop()

    def clear(self) -> None:
        """Forgets the samples that nobody will ask for."""
        self._waiting.clear()
