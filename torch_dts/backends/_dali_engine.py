# SPDX-License-Identifier: Apache-2.0
"""An engine whose images DALI decodes: the native loader reads, checks and plans, DALI does the rest.

What DALI can't take, and batches it fails on, the native decoder makes. What that one can't
either is Pillow's, as with any other engine.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._native._outline import Outlines, read_outlines
from torch_dts.backends._dali_pipeline import DaliPipeline
from torch_dts.backends._dali_spec import DaliSpec
from torch_dts.loader._engine import BATCH, END, TIMEOUT, Engine, EngineOptions, SharedBuffers
from torch_dts.loader._recognise import Recognised
from torch_dts.loader._stats import LoaderStats

_IN_WORK = 2  # batches of DALI's at once
_NONE = torch.empty(0, dtype=torch.int64, device="cpu")
_OK = _native.DECODE_STATUS.index("ok")
_UNSUPPORTED = _native.DECODE_STATUS.index("not decoded natively")


@dataclass
class _Batch:
    """A batch in work.

    Attributes:
        number: In the stream.
        outlines: What DALI makes.
        labels, indices: Of the whole batch, int64 ``[n]``.
        slots: Those without an outline.
        failure: What DALI said when it could not take it.
    """

    number: int
    outlines: Outlines
    labels: Tensor
    indices: Tensor
    slots: list[int]
    failure: RuntimeError | None = None


class _Foreign(NamedTuple):
    """Samples without an outline, as ``loader_take_foreign`` gives them."""

    info: Tensor
    arena: Tensor
    offsets: Tensor
    sizes: Tensor


class DaliEngine(Engine):
    """As `Engine`; ``options.dali`` says what DALI does.

    Raises:
        ImportError: DALI is missing.
    """

    def __init__(
        self, recognised: Recognised, plan: str, options: EngineOptions, buffers: SharedBuffers | None
    ) -> None:
        if options.dali is None:
            raise ValueError("options.dali is None, expected what DALI is to do")
        self._spec: DaliSpec = options.dali
        super().__init__(recognised, plan, options, buffers)
        self._pipeline: DaliPipeline | None = None
        self._plan = plan
        self._choices = (0, 0)
        self._in_work: deque[_Batch] = deque()
        self._num_taken = 0
        self._is_over = False
        self._error: BaseException | None = None
        self._foreign: list[_Foreign] = []
        self._made: dict[tuple[int, int], Tensor] = {}  # by batch and slot, natively
        self._has_warned = False
        self._num_redone = 0
        self._num_native = 0
        self._wait_seconds = 0.0

    def start(self, plan: str, seed: int, epoch: int) -> None:
        """As `Engine.start`."""
        self._forget()
        self._plan = plan
        self._choices = (seed, epoch)
        super().start(plan, seed, epoch)

    def next(self, timeout_ms: int) -> tuple[int, list[Tensor], Tensor, Tensor, Tensor]:
        """As `Engine.next`; the images are on DALI's device."""
        if self._pipeline is not None:
            self._pipeline.poll()
        while len(self._in_work) < _IN_WORK and not self._is_over:
            if not self._take(0 if self._in_work else timeout_ms):
                break
        if self._in_work:
            return self._finish(self._in_work.popleft())
        if self._error is not None:
            raise self._error
        return END if self._is_over else TIMEOUT, [], _NONE, _NONE, _NONE

    def take_foreign(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As `Engine.take_foreign`: what the native decoder can't make either."""
        found, self._foreign = self._foreign, []
        if not found:
            return torch.empty((0, 7), dtype=torch.int64, device="cpu"), _NONE.to(torch.uint8), _NONE, _NONE
        begins = [0]
        for one in found:
            begins.append(begins[-1] + one.arena.numel())
        return (
            torch.cat([one.info for one in found]),
            torch.cat([one.arena for one in found]),
            torch.cat([one.offsets + begin for one, begin in zip(found, begins, strict=False)]),
            torch.cat([one.sizes for one in found]),
        )

    def stats(self) -> LoaderStats:
        """As `Engine.stats`."""
        stats = super().stats()
        return replace(
            stats,
            num_foreign=stats.num_foreign - self._num_native,
            num_redone=self._num_redone,
            wait_seconds=stats.wait_seconds + self._wait_seconds,
        )

    def stop(self) -> None:
        """As `Engine.stop`."""
        self._forget()
        super().stop()

    def close(self) -> None:
        """As `Engine.close`; ends DALI's threads, too."""
        self._forget()
        self._close_pipeline()
        super().close()

    def _forget(self) -> None:
        """Lets go of what is in work: DALI reads none of its bytes any more."""
        if self._pipeline is not None and not self._pipeline.drain():
            self._close_pipeline()
        self._in_work.clear()
        self._foreign.clear()
        self._made.clear()
        self._num_taken = 0
        self._is_over = False
        self._error = None

    def _close_pipeline(self) -> None:
        if self._pipeline is not None:
            self._pipeline.close()
            self._pipeline = None

    def _take(self, timeout_ms: int) -> bool:
        """Takes one batch over to DALI; False: there is none now."""
        try:
            taken = _native.loader_next_outlines(self._handle, timeout_ms)
        except Exception as error:  # of reading; the batches before it come first
            self._error = error.with_traceback(None)
            self._is_over = True
            return False
        state, rows, labels, indices, slots, held = taken
        if state != BATCH:
            self._is_over = state == END
            return False
        batch = _Batch(
            self._num_taken,
            read_outlines(rows, indices, held),
            labels.clone(),
            indices.clone(),
            slots.tolist(),
        )
        self._num_taken += 1
        self._collect_foreign()
        self._in_work.append(batch)
        self._submit(batch)
        return True

    def _submit(self, batch: _Batch) -> None:
        """Begins to work on a batch; one that DALI can't take is marked."""
        size = len(batch.outlines.slots)
        if not size:
            return
        if self._pipeline is not None and self._pipeline.max_batch_size < size:
            self._renew(size, but=batch)
        if self._pipeline is None:
            self._pipeline = DaliPipeline(self._spec, size)
        try:
            self._pipeline.submit(batch.outlines)
        except RuntimeError as error:
            batch.failure = error.with_traceback(None)
            self._renew(size, but=batch)

    def _renew(self, size: int, but: _Batch | None = None) -> None:
        """Another pipeline, which begins anew with what the one before had in work."""
        if self._pipeline is not None:
            size = max(size, self._pipeline.max_batch_size)
        self._close_pipeline()
        self._pipeline = DaliPipeline(self._spec, size)
        for batch in self._in_work:
            if batch is not but and batch.failure is None:
                self._submit(batch)

    def _finish(self, batch: _Batch) -> tuple[int, list[Tensor], Tensor, Tensor, Tensor]:
        """Waits for a batch, and puts beside DALI's images what was made elsewhere."""
        outlines = batch.outlines
        images, left = None, batch.slots
        if len(outlines.slots):
            began = time.perf_counter()
            images = self._collect(batch)
            self._wait_seconds += time.perf_counter() - began
            if images is None:
                images, bad = self._redo(batch)
                left = left + bad
        if images is None or len(outlines.slots) < batch.labels.numel():
            images = self._merge(batch, images)
            left = [slot for slot in left if self._made.pop((batch.number, slot), None) is None]
        slots = torch.tensor(left, dtype=torch.int64, device="cpu")
        return BATCH, [images], batch.labels, batch.indices, slots

    def _collect(self, batch: _Batch) -> Tensor | None:
        if batch.failure is None and self._pipeline is not None:
            try:
                return self._pipeline.collect()
            except RuntimeError as error:
                batch.failure = error.with_traceback(None)
                self._renew(0)
        return None

    def _redo(self, batch: _Batch) -> tuple[Tensor, list[int]]:
        """The images by the native decoder, and the slots of those that it can't make."""
        outlines = batch.outlines
        self._num_redone += 1
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"DALI failed on a batch of {len(outlines.slots)} samples, which the native decoder made "
                f"instead: {_last_line(batch.failure)}. Further ones are only counted "
                "(loader.stats().num_redone)",
                stacklevel=2,
            )
        arena, offsets, sizes = outlines.arena()
        indices, occurrences = torch.from_numpy(outlines.indices), torch.from_numpy(outlines.occurrences)
        images, status = self._run_native(arena, offsets, sizes, indices, occurrences)
        bad = torch.nonzero(status != _OK).flatten()
        slots = torch.from_numpy(outlines.slots)[bad]
        if bad.numel():
            info = torch.zeros((bad.numel(), 7), dtype=torch.int64, device="cpu")
            info[:, 0] = batch.number
            columns = (
                slots,
                torch.from_numpy(outlines.samples)[bad],
                indices[bad],
                occurrences[bad],
                status[bad],
            )
            for column, values in enumerate(columns, 1):
                info[:, column] = values
            self._foreign.append(_Foreign(info, arena, offsets[bad], sizes[bad]))
        return images.to(self._device), slots.tolist()

    def _merge(self, batch: _Batch, images: Tensor | None) -> Tensor:
        spec = self._spec
        merged = torch.empty(
            (batch.labels.numel(), 3, spec.height, spec.width),
            dtype=spec.dtype,
            device=self._device,
            memory_format=torch.channels_last if spec.is_channels_last else torch.contiguous_format,
        )
        if images is not None:
            merged[torch.from_numpy(batch.outlines.slots).to(self._device)] = images
        for slot in batch.slots:
            made = self._made.get((batch.number, slot))
            if made is not None:
                merged[slot].copy_(made)
        return merged

    def _collect_foreign(self) -> None:
        """Makes natively, ahead of need, what only DALI can't take."""
        info, arena, offsets, sizes = _native.loader_take_foreign(self._handle)
        tried = torch.nonzero(info[:, 5] == _UNSUPPORTED).flatten()
        is_made = torch.zeros(len(info), dtype=torch.bool, device="cpu")
        if tried.numel():
            rows = info[tried]
            images, status = self._run_native(arena, offsets[tried], sizes[tried], rows[:, 3], rows[:, 4])
            for row, image, state in zip(rows.tolist(), images, status.tolist(), strict=True):
                if state == _OK:
                    self._made[row[0], row[1]] = image
            is_made[tried] = status == _OK
            self._num_native += int(is_made.sum())
        if not bool(is_made.all()):
            self._foreign.append(_Foreign(info[~is_made], arena, offsets[~is_made], sizes[~is_made]))

    def _run_native(
        self, arena: Tensor, offsets: Tensor, sizes: Tensor, indices: Tensor, occurrences: Tensor
    ) -> tuple[Tensor, Tensor]:
        shapes = torch.zeros((len(offsets), 3), dtype=torch.int64, device="cpu")
        (images,), status = _native.run_views(
            arena,
            offsets.contiguous(),
            sizes.contiguous(),
            shapes,
            self._plan,
            indices.contiguous(),
            occurrences.contiguous(),
            *self._choices,
        )
        return images, status

    @property
    def _device(self) -> torch.device:
        number = self._spec.device_id
        return torch.device("cpu") if number is None else torch.device("cuda", number)


def _last_line(error: RuntimeError | None) -> str:
    """What went wrong, without where in DALI."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("C++ context", "Current pipeline"))]
    return told[-1] if told else type(error).__name__
