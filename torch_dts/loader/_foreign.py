# SPDX-License-Identifier: Apache-2.0
"""`ForeignWorkers`: samples that only Pillow can decode, transformed by the native plans of their views."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native
from torch_dts._seeding import kept_generators, sample_seeds
from torch_dts.datasets._decode import extend_message
from torch_dts.loader._foreign_pool import Done, Pixels, ProcessPool, Task
from torch_dts.transforms._views import apply_views

_OK = _native.DECODE_STATUS.index("ok")
_MODES = {1: "L", 3: "RGB"}


class ForeignWorkers:
    """Decodes samples with Pillow in processes and does the rest natively.

    The processes start with the first sample; nothing of the user's script runs in them.
    What they can't do is done anew where the result is asked for, so that its error is
    Pillow's own.

    Args:
        num_workers: Processes at most; 0: the thread that asks for a result does the work.
        plan_text: The transform of each view (csrc/core/pipeline/view_plans.h).
        on_error: "raise", or "replace": a bad sample is zeros and counted.
        describe: Takes a sample's key, returns the text to add to its error.
        transforms: What the plan of each view was read from; they raise their own error for
            an image that a plan can't do.

    Attributes:
        num_replaced: Bad samples that became zeros.
    """

    def __init__(
        self,
        num_workers: int,
        plan_text: str,
        on_error: Literal["raise", "replace"] = "raise",
        describe: Callable[[Any], str] | None = None,
        *,
        transforms: Sequence[Any] | None = None,
    ) -> None:
        found = re.search(r"^source .*\bchannels=(\d+)", plan_text)
        channels = int(found[1]) if found else 3
        self._mode = _MODES[channels]
        # Whoever opened the image, Pillow, has judged its size.
        self._plan = re.sub(r"\bmax_pixels=\d+", "max_pixels=0", plan_text)
        self._on_error = on_error
        self._describe = describe
        self._transforms = transforms
        self.num_replaced = 0
        # A frozen program would start itself again in the place of Python.
        can_start = bool(sys.executable) and not getattr(sys, "frozen", False)
        self._num_workers = num_workers if can_start else 0
        self._pool: ProcessPool | None = None
        self._pool_pid = -1
        self._here: dict[Hashable, Task] = {}
        self._finalizer: weakref.finalize[..., Any] | None = None

    def submit(self, key: Hashable, data: bytes, index: int, occurrence: int, seed: int, epoch: int) -> None:
        """Hands in a sample.

        Args:
            key: To ask for the result by; one that is not under way.
            data: The encoded image.
            index, occurrence, seed, epoch: Decide its random choices.
        """
        task = Task(key, data, index, occurrence, seed, epoch)
        if self._num_workers == 0:
            self._here[key] = task
        else:
            self._running_pool().submit(task)

    def result(self, key: Hashable) -> list[Tensor]:
        """Waits for a sample; each can be asked for once.

        Returns:
            ``[C, H, W]`` of each view in its plan's dtype and memory order.

        Raises:
            KeyError: It was not handed in.
            RuntimeError: The process that had it died, or `close` was called.
            Exception: Pillow's own, or the transform's, for a bad sample.
        """
        is_here = self._num_workers == 0
        done = Done(self._here.pop(key)) if is_here else self._running_pool().take(key)
        if done.error is not None:
            try:
                raise done.error
            finally:  # its traceback leads here
                del done
        try:
            for category, text, filename, line in done.warned:
                warnings.warn_explicit(text, category, filename, line, registry=_REGISTRY)
            images: list[Tensor] = self._by_hand(done.task) if done.images is None else done.images
            return images
        except Exception as error:
            if self._on_error == "replace":
                self.num_replaced += 1
                return [view[0] for view in self._run([done.task], *_no_pixels())[0]]
            if self._describe is not None:
                extend_message(error, self._describe(key))
            raise

    def discard(self, key: Hashable) -> None:
        """Forgets a sample that nobody will ask for."""
        self._here.pop(key, None)
        if self._pool is not None and self._pool_pid == os.getpid():
            self._pool.discard(key)

    @property
    def pids(self) -> list[int]:
        """The processes that run now."""
        return [] if self._pool is None else self._pool.pids

    def close(self) -> None:
        """Ends the processes; samples under way are lost. A later `submit` starts others."""
        if self._finalizer is not None:
            self._finalizer()
        self._pool = None
        self._here.clear()

    def _running_pool(self) -> ProcessPool:
        if self._pool is None or self._pool_pid != os.getpid():
            if self._finalizer is not None:
                self._finalizer()
            # Not a method: the pool must not keep alive what closes it.
            plan = self._plan
            self._pool = ProcessPool(
                self._num_workers, self._mode, lambda tasks, pixels: _finish(plan, tasks, pixels)
            )
            self._pool_pid = os.getpid()
            self._finalizer = weakref.finalize(self, self._pool.stop)
        return self._pool

    def _by_hand(self, task: Task) -> list[Tensor]:
        """The sample by Pillow and the plans, in this thread; or the error of whoever refuses it."""
        image = Image.open(io.BytesIO(task.data)).convert(self._mode)
        pixels = np.array(image)
        arena = torch.from_numpy(pixels.reshape(-1))
        shape = (image.height, image.width, len(self._mode))
        views, status = self._run([task], arena, torch.tensor([0]), torch.tensor([shape]))
        images = [view[0] for view in views]
        return images if int(status[0]) == _OK else self._by_transforms(task, image, images)

    def _by_transforms(self, task: Task, image: Image.Image, images: list[Tensor]) -> list[Tensor]:
        size = f"{image.width} x {image.height} pixels"
        if self._transforms is None:
            raise RuntimeError(f"the transform can't be done to an image of {size}")
        seeds = [
            sample_seeds([task.index], [task.occurrence], task.seed, task.epoch, view)[0]
            for view in range(len(images))
        ]
        with kept_generators():
            all_made = apply_views(self._transforms, image, seeds)
        for made, like in zip(all_made, images, strict=True):
            if not isinstance(made, Tensor) or made.shape != like.shape:
                found = list(made.shape) if isinstance(made, Tensor) else type(made).__name__
                raise RuntimeError(
                    f"the transform gives {found} for an image of {size}, expected {list(like.shape)} "
                    "as for others"
                )
            like.copy_(made)
        return images

    def _run(
        self, tasks: list[Task], arena: Tensor, offsets: Tensor, shapes: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        return _run_plans(self._plan, tasks, arena, offsets, shapes)


# Which warnings were shown: each place in Pillow warns of each text once, as in one process.
_REGISTRY: dict[Any, Any] = {}


def _no_pixels() -> tuple[Tensor, Tensor, Tensor]:
    """Arguments of plans for a sample that is none: the results are zeros."""
    return torch.zeros(1, dtype=torch.uint8), torch.tensor([0]), torch.tensor([[0, 0, 0]])


def _run_plans(
    plans: str, tasks: list[Task], arena: Tensor, offsets: Tensor, shapes: Tensor
) -> tuple[list[Tensor], Tensor]:
    """Images ``[n, C, H, W]`` of each view and status ``[n]``, of samples of one seed and epoch."""
    return _native.run_views(
        arena,
        offsets,
        shapes.prod(1),
        shapes,
        plans,
        torch.tensor([task.index for task in tasks]),
        torch.tensor([task.occurrence for task in tasks]),
        tasks[0].seed,
        tasks[0].epoch,
    )


def _finish(plans: str, tasks: list[Task], pixels: Pixels) -> list[list[Tensor] | None]:
    """The plans done to what a process sent; None for what is to be done by hand."""
    made: list[list[Tensor] | None] = [None] * len(tasks)
    arena = torch.frombuffer(pixels.memory, dtype=torch.uint8)
    starts = np.cumsum([pixels.start, *(row.num_bytes for row in pixels.rows)])
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (task, row) in enumerate(zip(tasks, pixels.rows, strict=True)):
        if row.num_bytes:
            groups.setdefault((task.seed, task.epoch), []).append(i)
    for members in groups.values():
        offsets = torch.from_numpy(starts[members].astype(np.int64))
        shapes = torch.tensor([pixels.rows[i][1:] for i in members])
        views, status = _run_plans(plans, [tasks[i] for i in members], arena, offsets, shapes)
        for place, i in enumerate(members):
            if int(status[place]) == _OK:
                made[i] = [view[place] for view in views]
    return made
