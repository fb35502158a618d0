# SPDX-License-Identifier: Apache-2.0
"""The iterator over one epoch of a loader."""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from torch_dts._exit import the_exit
from torch_dts.loader._cuda_stage import Stage
from torch_dts.loader._delivery import Delivery
from torch_dts.loader._engine import BATCH, END, Engine, EnginePool
from torch_dts.loader._epoch import Epoch
from torch_dts.loader._foreign_desk import ForeignDesk
from torch_dts.loader._pieces import Piece
from torch_dts.loader._static_buffers import StaticBuffers
from torch_dts.loader._stored import StoredDesk


class _NoBatchYet(Exception):
    """The timeout is over."""


_SLICE_MS = 100  # a native wait is no longer, so that signals are seen
_UNITS_AHEAD = 2  # the group of blocks being read, and the next one


class LoaderIterator:
    """Yields the batches of an epoch. Belongs to the process that made it, one thread at a time.

    The engine goes back to its pool when the epoch ends, an error or Ctrl-C ends it, or this
    object dies. An error about one sample or of the caller's own functions does not end it.

    Args:
        pool: Where the engine came from.
        engine: Its stream has been started.
        epoch: What the engine is fed with.
        delivery: How batches are handed out.
        foreign: Samples that Python decodes, or has to read.
        num_batches: Of the epoch, for ``len``; None: not known.
        timeout: Seconds to wait for a batch; 0: for ever.
        is_alone: False: it is one of several at once, and the caller's time is counted elsewhere.
        stage: Puts batches on a device; None: they stay where they are.
        static: Tensors that all batches come in; None: each has its own.
    """

    def __init__(
        self,
        pool: EnginePool,
        engine: Engine,
        epoch: Epoch,
        delivery: Delivery,
        foreign: ForeignDesk | StoredDesk,
        num_batches: int | None,
        timeout: float,
        is_alone: bool = True,
        stage: Stage | None = None,
        static: StaticBuffers | None = None,
    ) -> None:
        self._pool = pool
        self._engine = engine
        self._pieces = epoch.pieces
        self._reads_blocks = epoch.reads_blocks
        self._delivered = epoch.delivered
        self._delivery = delivery
        self._foreign = foreign
        self._num_batches = num_batches
        self._timeout = timeout
        self._is_alone = is_alone
        self._stage = stage
        self._static = static
        self._pid = os.getpid()
        self._num_appended = 0
        self._num_delivered = 0  # native batches, each of which may be several of the caller's
        self._left: deque[Any] = deque()  # of the present one: images, labels and what is behind
        self._num_dropped = epoch.num_repeated
        self._is_complete = False
        self._left_at: float | None = None
        self._sampler_error: Exception | None = None
        self._further: list[_Column] = []  # what comes behind images and labels
        if delivery.returns_index:
            self._further.append(_Column(lambda piece: piece.indices))
        if delivery.returns_mask:
            self._further.append(_Column(Piece.is_own))
        self._give_back = weakref.finalize(self, _give_back, pool, engine, foreign)

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        """The batches of the epoch.

        Raises:
            TypeError: The sampler does not say how many indices it has.
        """
        if self._num_batches is None:
            raise TypeError(f"object of type {type(self).__name__!r} has no len()")
        return self._num_batches

    def __next__(self) -> Any:
        """The next batch.

        Raises:
            StopIteration: There is none.
            RuntimeError: None came within the timeout, or this is another process.
            CorruptFileError, OSError: Reading failed; the epoch is over.
            Exception: What is wrong with a sample, or what the caller's own functions raise.
        """
        if not the_exit.enter():
            raise SystemExit
        try:
            return self._next()
        finally:
            the_exit.leave()
            the_exit.leave_thread()

    def _next(self) -> Any:
        if not self._give_back.alive:
            raise StopIteration
        if self._pid != os.getpid():
            raise RuntimeError(
                "this iterator was made in another process, and its threads are there: call iter(loader) here"
            )
        if not self._engine.is_usable:
            raise RuntimeError("the loader was closed while it was iterated")
        if self._left_at is not None and self._is_alone and self._engine.options.num_workers == 0:
            self._pool.add_consumer_time(time.monotonic() - self._left_at)
        if self._left:
            self._pool.count_batch()
            self._left_at = time.monotonic()
            return self._hand_out()
        try:
            views, labels, slots = self._next_native()
        except _NoBatchYet:
            # torch's words, and as there the next call waits again
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        except BaseException:
            self.close()
            raise
        finally:
            self._left_at = time.monotonic()
        number = self._num_delivered
        self._num_delivered += 1
        try:
            further = [column.take(labels.numel()) for column in self._further]
            if self._stage is not None and self._stage.splits:
                views, labels = self._upload(self._stage, number, labels, slots)
            elif slots.numel():
                self._foreign.fill(number, views, slots.tolist())
        except BaseException as error:
            self._after_error(error)
            raise
        self._left.extend((images, labels, further) for images in self._delivery.split(views))
        for _ in range(self._num_dropped):  # delivered before the epoch was continued
            self._left.popleft()
        self._num_dropped = 0
        return self._hand_out()

    def _upload(
        self, stage: Stage, number: int, labels: Tensor, slots: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """Queues a batch of bytes for the device; samples of Python's workers follow as they are."""
        memory = self._engine.take_memory()
        late = stage.late_images(slots.numel())
        if slots.numel():
            self._foreign.fill(number, late, slots.tolist(), range(slots.numel()))
        views, on_device = stage.upload(memory, labels.numel(), slots, late)
        # Targets are made of numbers, on the host.
        return views, on_device if self._delivery.target_transform is None else labels

    def _hand_out(self) -> Any:
        batch = self._left.popleft()
        try:
            made = self._delivery.hand_out(*batch)
            if self._stage is not None:
                made = self._stage.finish(made)
            elif self._static is not None:
                made = self._static.write(made)
        except BaseException as error:
            self._after_error(error)
            raise
        self._count()
        return made

    def _count(self) -> None:
        """The state is behind the batch at hand from now on."""
        self._delivered.num_batches = self._num_delivered
        self._delivered.num_repeated = self._delivery.repeat - len(self._left) if self._left else 0

    def _after_error(self, error: BaseException) -> None:
        if isinstance(error, Exception):  # the batch is lost, and the next one may be asked for
            self._count()
        else:  # Ctrl-C: whoever goes on from the state gets the batch
            self.close()

    @property
    def num_delivered(self) -> int:
        """Batches that are gone: those handed out, or lost to an error, in this epoch or before it was
        continued (of those that have the same samples as the next one)."""
        return self._num_delivered * self._delivery.repeat - len(self._left) + self._num_dropped

    @property
    def repeat(self) -> int:
        """Batches with the same samples that follow each other."""
        return self._delivery.repeat

    @property
    def is_open(self) -> bool:
        """Whether further batches may come."""
        return self._give_back.alive and self._engine.is_usable

    def feed(self) -> None:
        """Lets the engine's threads go on, without waiting for them."""
        if self.is_open and self._pid == os.getpid():
            self._feed()

    def skip(self) -> None:
        """Takes the next batch and forgets it, whatever is wrong with its samples.

        Raises: as ``next``, but for a sample or of the caller's own functions.
        """
        before = self.num_delivered
        try:
            next(self)
        except Exception:
            if self.num_delivered == before:
                raise

    def close(self) -> None:
        """Ends the epoch. Closing twice is fine."""
        if self._pid == os.getpid():
            self._pieces = iter(())
            self._left.clear()
            self._give_back()

    def _next_native(self) -> tuple[list[Tensor], Tensor, Tensor]:
        end = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            self._feed()
            slice_ms = _SLICE_MS
            if end is not None:
                slice_ms = min(slice_ms, max(0, int((end - time.monotonic()) * 1000) + 1))
            state, views, labels, _, slots = self._engine.next(slice_ms)
            if slots.numel() or self._foreign.has_any:  # one op less for each batch of a set without any
                self._foreign.collect(self._engine)
            if state == BATCH:
                return views, labels, slots
            if state == END:
                self._end()
            if end is not None and time.monotonic() >= end:
                raise _NoBatchYet

    def _end(self) -> NoReturn:
        if self._sampler_error is None:
            self._delivered.is_all = True
            raise StopIteration
        errors, self._sampler_error = [self._sampler_error], None
        raise errors.pop()  # which its own traceback does not lead to

    def _feed(self) -> None:
        """Appends pieces until enough batches and units are ahead; few, so that memory stays flat."""
        ahead = self._engine.options.prefetch_batches + 2
        while not self._is_complete and (
            self._num_appended - self._num_delivered < ahead
            or (self._reads_blocks and self._engine.num_waiting() < _UNITS_AHEAD)
        ):
            try:
                piece = next(self._pieces, None)
            except Exception as error:  # a sampler's: it comes in its place, behind the batches before it
                # Without this frame, which keeps the iterator; the sampler's own stay.
                frames = None if error.__traceback__ is None else error.__traceback__.tb_next
                self._sampler_error = error.with_traceback(frames)
                piece = None
            if piece is None:
                self._is_complete = True
                self._engine.finish()
                return
            self._engine.append(piece)
            self._num_appended += piece.batch_sizes.numel()
            for column in self._further:
                column.append(piece)


class _Column:
    """One value of each sample of a stream, given out batch by batch."""

    def __init__(self, of_piece: Callable[[Piece], Tensor]) -> None:
        self._of_piece = of_piece
        self._waiting: list[Tensor] = []

    def append(self, piece: Piece) -> None:
        """The values of the samples that come next."""
        self._waiting.append(self._of_piece(piece))

    def take(self, count: int) -> Tensor:
        """The next `count` values."""
        taken = []
        while count:
            first = self._waiting[0]
            taken.append(first[:count])
            if first.numel() > count:
                self._waiting[0] = first[count:]
            else:
                self._waiting.pop(0)
            count -= taken[-1].numel()
        return torch.cat(taken)


def _give_back(pool: EnginePool, engine: Engine, foreign: ForeignDesk | StoredDesk) -> None:
    """What an iterator leaves behind: its engine, and samples that nobody will ask for."""
    foreign.clear()
    pool.give_back(engine)
