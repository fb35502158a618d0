# SPDX-License-Identifier: Apache-2.0
"""Native loaders and who uses them: one engine delivers one stream at a time.

An engine's threads live from epoch to epoch. An iterator takes one from its loader's pool
and gives it back when it ends, however it ends; while it is out, the next iterator gets
another. An engine belongs to the process that made it: a forked child makes its own.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from torch_dts import _native
from torch_dts._exit import the_exit
from torch_dts.backends._dali_spec import DaliSpec
from torch_dts.loader._pieces import Piece
from torch_dts.loader._recognise import Recognised
from torch_dts.loader._stats import LoaderStats, from_native

TIMEOUT, BATCH, END = 0, 1, 2  # csrc/core/pipeline/loader.h, NextState


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _close_all() -> None:
    for engine in list(_engines):
        engine.close()


the_exit.watch(_close_all)


class EngineOptions(NamedTuple):
    """What an engine is made with; one with other options is another engine."""

    num_workers: int
    prefetch_batches: int
    reproducible: bool
    cpus: tuple[int, ...]  # of each worker; empty: bound to none
    reader_threads: int
    check_blocks: bool
    num_all_workers: int | None = None  # of all engines that work at once; None: its own are all
    device: int = -1  # the CUDA device that batches go to, for which their memory is locked; -1: none
    pci_bus_id: str = ""  # where it is
    dali: DaliSpec | None = None  # DALI decodes, and the engine is a DaliEngine; None: native threads
    form: int = _native.IMAGES  # what batches hold of each sample


class Wanted(NamedTuple):
    """What `EnginePool.take_all` finds or makes an engine for."""

    options: EngineOptions
    buffers: SharedBuffers | None


class SharedBuffers:
    """The memory for whole blocks that loaders use in turn (``share_buffers_with=``)."""

    def __init__(self) -> None:
        self._pid = -1
        self._handle = -1

    def handle(self) -> int:
        """The buffers of this process."""
        if self._pid != os.getpid():
            self._handle = _native.buffers_open()
            self._pid = os.getpid()
            weakref.finalize(self, _close_buffers, self._handle, self._pid)
        return self._handle

    def __getstate__(self) -> dict[str, int]:
        return {"_pid": -1, "_handle": -1}


class Engine:
    """One native loader.

    Args:
        recognised: What it reads; kept open as long as the engine.
        plan: The transform (torch_dts.transforms); `start` may give another.
        options: Threads and the like.
        buffers: Shared with other loaders; None: its own.

    Attributes:
        keeps_memory: `take_memory` will be asked for the memory of each batch.
    """

    def __init__(
        self, recognised: Recognised, plan: str, options: EngineOptions, buffers: SharedBuffers | None
    ) -> None:
        self.recognised = recognised
        self.options = options
        self.buffers = buffers
        self.pid = os.getpid()
        self._handle = _native.loader_open(
            recognised.source,
            plan,
            num_workers=options.num_workers,
            prefetch_batches=options.prefetch_batches,
            reproducible=options.reproducible,
            cpus=options.cpus,
            reader_threads=options.reader_threads,
            check_blocks=options.check_blocks,
            buffers=-1 if buffers is None else buffers.handle(),
            form=options.form,
            device=options.device,
            pci_bus_id=options.pci_bus_id,
        )
        self.keeps_memory = False
        self._memory: Tensor | None = None
        self._finalizer = weakref.finalize(self, _close_loader, self._handle, self.pid)
        _engines.add(self)

    @property
    def is_usable(self) -> bool:
        """Whether it is open, and of this process."""
        return self._finalizer.alive and self.pid == os.getpid()

    def start(self, plan: str, seed: int, epoch: int) -> None:
        """Begins a stream: `plan`, `seed` and `epoch` decide the values of its images."""
        _native.loader_start(self._handle, plan, seed, epoch)

    def append(self, piece: Piece) -> None:
        """Adds to the stream."""
        _native.loader_append(
            self._handle,
            piece.samples,
            piece.occurrences,
            piece.batch_sizes,
            piece.unit_sizes,
            piece.unit_num_blocks,
            piece.blocks,
        )

    def finish(self) -> None:
        """Nothing more will be added."""
        _native.loader_finish(self._handle)

    def num_waiting(self) -> int:
        """Units that no reader has begun or finished reading."""
        return _native.loader_waiting(self._handle)

    def next(self, timeout_ms: int) -> tuple[int, list[Tensor], Tensor, Tensor, Tensor]:
        """TIMEOUT, BATCH or END; images of each view, labels, indices, and slots that Python is to fill.

        Of samples as they are stored, these come in the place of the views.
        """
        if self.options.form == _native.BYTES:
            return _native.loader_next_bytes(self._handle, timeout_ms)
        state, images, labels, indices, slots, memory = _native.loader_next(self._handle, timeout_ms)
        if self.keeps_memory:
            self._memory = memory
        return state, images, labels, indices, slots

    def take_memory(self) -> Tensor:
        """All memory of the batch that `next` gave last (``_native.loader_next``); once for each batch."""
        memory, self._memory = self._memory, None
        if memory is None:
            raise RuntimeError("the engine has given no batch")
        return memory

    def take_foreign(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Samples for Python found since the last call: info ``[k, 7]``, arena, offsets, sizes."""
        return _native.loader_take_foreign(self._handle)

    def stats(self) -> LoaderStats:
        """Since the engine was made; nothing where it is closed."""
        if not self.is_usable:
            return LoaderStats()
        options = self.options
        num_workers = options.num_workers if options.num_all_workers is None else options.num_all_workers
        return from_native(_native.loader_stats(self._handle), num_workers)

    def stop(self) -> None:
        """Ends the stream; returns when no thread works on it."""
        if self.is_usable:
            try:
                _native.loader_stop(self._handle)
            except ValueError:  # another thread closed it meanwhile
                if self.is_usable:
                    raise

    def close(self) -> None:
        """Ends its threads. Closing twice is fine."""
        self._finalizer()


class EnginePool:
    """The engines of a loader: those that one iterator needs idle, and those that iterators have.

    Works without a lock, since iterators give back from finalizers: each step is one list
    operation, which Python does whole.
    """

    def __init__(self) -> None:
        self._idle: list[Engine] = []
        self._most_idle = 1
        self._taken: weakref.WeakSet[Engine] = weakref.WeakSet()
        self._closed: list[LoaderStats] = []
        self._consumer_seconds = 0.0
        self._num_repeated = 0

    def take(
        self, recognised: Recognised, plan: str, options: EngineOptions, buffers: SharedBuffers | None
    ) -> Engine:
        """An engine for a stream of its own: an idle one where it fits, else a new one."""
        return self.take_all(recognised, plan, [Wanted(options, buffers)])[0]

    def take_all(self, recognised: Recognised, plan: str, wanted: Sequence[Wanted]) -> list[Engine]:
        """Engines for as many streams at once; idle ones that don't fit are ended."""
        self._most_idle = len(wanted)
        idle: list[Engine] = []
        while (engine := self._pop_idle()) is not None:
            idle.append(engine)
        found = [_pop_fitting(idle, recognised, each) for each in wanted]
        for engine in idle:
            self._retire(engine)
        taken: list[Engine] = []
        try:
            for each, fitting in zip(wanted, found, strict=True):
                taken.append(fitting or _make(recognised, plan, each.options, each.buffers))
        except BaseException:
            for engine in {*taken, *filter(None, found)}:
                self._retire(engine)
            raise
        self._taken.update(taken)
        return taken

    def give_back(self, engine: Engine) -> None:
        """Ends the engine's stream and keeps it for the next iterator."""
        self._taken.discard(engine)
        if not engine.is_usable:
            return
        engine.stop()
        self._idle.append(engine)
        while len(self._idle) > self._most_idle:
            try:
                previous = self._idle.pop(0)
            except IndexError:  # another thread was quicker
                break
            self._retire(previous)

    def add_consumer_time(self, seconds: float) -> None:
        """Counts time that the caller took between two batches, where there are no workers that wait."""
        self._consumer_seconds += seconds

    def count_batch(self) -> None:
        """Counts a batch that came out of the same native one as the batch before."""
        self._num_repeated += 1

    def close_idle(self) -> None:
        """Ends the idle engine's threads."""
        while (engine := self._pop_idle()) is not None:
            self._retire(engine)

    def close(self) -> None:
        """Ends all threads, those of live iterators too."""
        self.close_idle()
        for engine in list(self._taken):
            self._taken.discard(engine)
            self._retire(engine)

    def stats(self) -> LoaderStats:
        """The sum over all engines there were."""
        engines = [*self._idle, *self._taken]
        start = LoaderStats(num_batches=self._num_repeated, consumer_seconds=self._consumer_seconds)
        return sum([engine.stats() for engine in engines], sum(self._closed, start))

    def _pop_idle(self) -> Engine | None:
        while self._idle:
            try:
                engine = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if engine.is_usable:
                return engine
        return None

    def _retire(self, engine: Engine) -> None:
        self._closed.append(engine.stats())
        if len(self._closed) > 100:
            self._closed = [sum(self._closed, LoaderStats())]
        engine.close()

    def __getstate__(self) -> dict[str, object]:
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        EnginePool.__init__(self)


def _make(recognised: Recognised, plan: str, options: EngineOptions, buffers: SharedBuffers | None) -> Engine:
    if options.dali is None:
        return Engine(recognised, plan, options, buffers)
    from torch_dts.backends._dali_engine import DaliEngine  # it is an Engine

    return DaliEngine(recognised, plan, options, buffers)


def _pop_fitting(idle: list[Engine], recognised: Recognised, wanted: Wanted) -> Engine | None:
    for place, engine in enumerate(idle):
        is_same = engine.recognised is recognised and engine.buffers is wanted.buffers
        if is_same and engine.options == wanted.options:
            return idle.pop(place)
    return None


def _close_loader(handle: int, pid: int) -> None:
    if pid == os.getpid():  # in a forked child its threads do not exist
        _native.loader_close(handle)


def _close_buffers(handle: int, pid: int) -> None:
    if pid == os.getpid():
        _native.buffers_close(handle)
