# SPDX-License-Identifier: Apache-2.0
"""Samples that only Python can decode: handed to its workers ahead of need, put into their batch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from torch_dts.datasets._decode import extend_message
from torch_dts.loader._arguments import OnError
from torch_dts.loader._engine import Engine
from torch_dts.loader._foreign import ForeignWorkers
from torch_dts.loader._recognise import Recognised
from torch_dts.loader._stats import LoaderStats

_Key = tuple[int, int, int]  # epoch of this loader, batch, slot


class ForeignPool:
    """The workers of a loader, started with the first sample for them, and what it counts."""

    def __init__(self) -> None:
        self._workers: ForeignWorkers | None = None
        self._plan = ""
        self._pid = -1
        self._num_desks = 0
        self._has_warned = False
        self.num_replaced = 0

    def next_number(self) -> int:
        """A number for each epoch, so that several at once can share the workers."""
        self._num_desks += 1
        return self._num_desks

    def workers(self, plan: str, transforms: Sequence[Any], num_workers: int) -> ForeignWorkers:
        """The workers, for samples transformed by `plan`; 0: the thread that asks does the work.

        `transforms` are what the plan of each view was read from: they do, or refuse, what it can't do.
        """
        if self._workers is None or self._plan != plan or self._pid != os.getpid():
            self.close()
            self._workers = ForeignWorkers(num_workers, plan, transforms=transforms)
            self._plan = plan
            self._pid = os.getpid()
        return self._workers

    def discard(self, plan: str, keys: list[_Key]) -> None:
        """Forgets samples that were handed to the workers for `plan`; others have none of them."""
        if self._workers is not None and self._plan == plan and self._pid == os.getpid():
            for key in keys:
                self._workers.discard(key)

    def replace(self, images: list[Tensor], error: Exception) -> None:
        """Makes all views of a bad sample zeros, and warns of the first one."""
        for image in images:
            image.zero_()
        self.count_replaced(error, "zeros")

    def count_replaced(self, error: Exception, by: str) -> None:
        """Counts a bad sample, and warns of the first one."""
        self.num_replaced += 1
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"a bad sample was replaced by {by}: {error}. Further ones are only counted "
                "(loader.stats().num_replaced)",
                stacklevel=2,
            )

    def stats(self) -> LoaderStats:
        """What is counted here and not by the engines."""
        return LoaderStats(num_replaced=self.num_replaced)

    def close(self) -> None:
        """Ends the workers."""
        if self._workers is not None and self._pid == os.getpid():
            self._workers.close()
        self._workers = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ForeignPool.__init__(self)


class ForeignDesk:
    """Between an engine and the workers, for one epoch.

    Args:
        pool: Where the workers are.
        recognised: Reads and names samples.
        plan: The transform of each view, as text.
        transforms: What the plan of each view was read from.
        num_workers: Of the loader.
        seed, epoch: Of the random choices.
        on_error: "raise", or "replace" by zeros.

    Attributes:
        has_any: `collect` found some.
    """

    def __init__(
        self,
        pool: ForeignPool,
        recognised: Recognised,
        plan: str,
        transforms: Sequence[Any],
        num_workers: int,
        seed: int,
        epoch: int,
        on_error: OnError,
    ) -> None:
        self._pool = pool
        self._recognised = recognised
        self._plan = plan
        self._transforms = transforms
        self._num_workers = num_workers
        self._choices = (seed, epoch)
        self._on_error = on_error
        self._number = pool.next_number()
        self.has_any = False
        self._waiting: dict[tuple[int, int], tuple[int, _Key | Exception]] = {}  # with the sample

    def collect(self, engine: Engine) -> None:
        """Hands the samples that the engine found since the last call to the workers."""
        info, arena, offsets, sizes = engine.take_foreign()
        if not info.numel():
            return
        self.has_any = True
        data = arena.numpy().data
        rows = zip(info.tolist(), offsets.tolist(), sizes.tolist(), strict=True)
        for (batch, slot, sample, index, occurrence, _, is_missing), offset, size in rows:
            try:
                # Pixels that the plan refuses come as a picture, too.
                is_readable = not is_missing and self._recognised.is_encoded(sample)
                encoded = data[offset : offset + size] if is_readable else self._recognised.read_bytes(sample)
            except Exception as error:
                self._waiting[batch, slot] = sample, without_frames(error)
                continue
            key = (self._number, batch, slot)
            self._workers().submit(key, bytes(encoded), index, occurrence, *self._choices)
            self._waiting[batch, slot] = sample, key

    def fill(
        self, batch: int, views: list[Tensor], slots: list[int], places: Sequence[int] | None = None
    ) -> None:
        """Puts the samples of a batch into its images, ``[n, C, H, W]`` of each view.

        Args:
            batch: Its number.
            views: The images.
            slots: The samples' places in the batch.
            places: Theirs in `views`; None: the same.

        Raises:
            Exception: Pillow's own for a bad sample, with the sample in its text.
        """
        # A list, and nothing in local names: an error that its own traceback leads to would keep
        # the iterator and its threads until the garbage is collected.
        errors: list[Exception] = []
        for slot, place in zip(slots, slots if places is None else places, strict=True):
            sample, waiting = self._waiting.pop((batch, slot))
            try:
                if isinstance(waiting, Exception):
                    found = [waiting]
                    del waiting
                    raise found.pop()
                for images, made in zip(views, self._workers().result(waiting), strict=True):
                    images[place].copy_(made)
            except Exception as error:
                extend_message(error, self._recognised.describe(sample))
                if self._on_error == "replace":
                    self._pool.replace([images[place] for images in views], error)
                else:  # the others of the batch are taken too
                    errors.append(error)
        if errors:
            del errors[1:]
            raise errors.pop()

    def clear(self) -> None:
        """Forgets the samples that nobody will ask for."""
        keys = [waiting for _, waiting in self._waiting.values() if not isinstance(waiting, Exception)]
        self._waiting.clear()
        self._pool.discard(self._plan, keys)

    def _workers(self) -> ForeignWorkers:
        return self._pool.workers(self._plan, self._transforms, self._num_workers)


def without_frames(error: Exception) -> Exception:
    """The error, to be kept: the frames of its traceback would keep the iterator and its threads."""
    link: BaseException | None = error
    while link is not None and link.__traceback__ is not None:  # else it was here before
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error
