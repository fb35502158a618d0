# SPDX-License-Identifier: Apache-2.0
"""What a loader holds from epoch to epoch, and how an epoch begins."""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from torch_dts.backends._choice import chosen_backend
from torch_dts.backends._dali_options import with_dali
from torch_dts.file._arguments import check_callable
from torch_dts.loader._cuda_stage import Stage
from torch_dts.loader._datasets import check_files
from torch_dts.loader._delivery import Delivery
from torch_dts.loader._devices import DevicesIterator, split_workers
from torch_dts.loader._engine import Engine, EngineOptions, EnginePool, SharedBuffers, Wanted
from torch_dts.loader._epoch import Batching, batching_of, claim_epoch, epoch_of
from torch_dts.loader._foreign_desk import ForeignDesk, ForeignPool
from torch_dts.loader._iterator import LoaderIterator
from torch_dts.loader._pinning import cpus_of_workers
from torch_dts.loader._source import LoaderSource, SourceCache
from torch_dts.loader._staging import Split, Staging, near_device, split_for
from torch_dts.loader._stats import LoaderStats
from torch_dts.loader._stored import NOT_NATIVE, StoredDesk, stored_form
from torch_dts.loader._threads import default_reader_threads, usable_cpus, useful_workers
from torch_dts.transforms._views import encode_views, parts_of, read_views

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader


class NativeRun:
    """The source, the engines and the workers of one loader."""

    def __init__(self) -> None:
        self._sources = SourceCache()
        self._engines = EnginePool()
        self._foreign = ForeignPool()
        self._buffers: SharedBuffers | None = None
        self._checked: weakref.ref[LoaderSource] | None = None
        self._num_epochs = 0
        self._num_cpus: int | None = None  # seen at the first epoch; looking takes most of a millisecond
        self.staging = Staging()

    def share_buffers(self, other: NativeRun) -> None:
        """Uses the same memory for blocks as another loader from now on."""
        if other._buffers is None:
            other._buffers = SharedBuffers()
        self._buffers = other._buffers

    def begin(self, loader: DataLoader) -> LoaderIterator | DevicesIterator | str:
        """Begins an epoch; a str: the reason why only Python can read the dataset.

        Raises: as ``iter(loader)``.
        """
        source = self._sources.get(loader.dataset, loader.mode)
        if isinstance(source, str):
            if loader.decode == "none":
                raise ValueError(NOT_NATIVE.format(reason=source))
            return source
        recognised = source.recognised
        if loader.decode == "none":
            batching = self._batching(loader, source)
            delivery = _delivery_of(loader, recognised.target_transform, batching, False)
            return self._begin_stored(loader, source, batching, delivery)
        transform = recognised.transform if loader.transform is None else loader.transform
        reading = read_views(
            transform,
            loader.views,
            source_channels=recognised.source_channels,
            source_size=recognised.source_size,
        )
        if reading.plans is None:
            return reading.reason
        plan = encode_views(
            reading.plans, loader.dtype, loader.memory_format, loader.repeat, loader.decoder, loader.decode
        )
        batching = self._batching(loader, source)
        delivery = _delivery_of(loader, recognised.target_transform, batching, reading.is_list)
        options = self._engine_options(loader, source, batching.returns_mask)
        pixels = recognised.source_size is not None
        if chosen_backend(loader) == "dali" and not (pixels and loader.backend == "auto"):
            options = with_dali(options, loader, recognised, reading.plans)
        stages = self.staging.stages(loader)
        split = split_for(loader, reading.plans, delivery, options) if any(stages) else None
        engines = self._engines.take_all(recognised, plan, _wanted(options, stages, self._buffers))
        try:
            claim = claim_epoch(batching, loader._epochs, loader.seed, self._num_epochs == 0, loader._resume)
            holds = options.dali is not None
            epochs = [epoch_of(claim, source, device, holds) for device in range(batching.num_devices)]
            for engine, stage in zip(engines, stages, strict=True):
                native = _begin_stage(engine, stage, split)
                engine.start(native or plan, claim.seed, claim.epoch)
        except BaseException:
            for engine in engines:
                self._engines.give_back(engine)
            raise
        self._num_epochs += 1
        places = range(len(engines))
        statics = [self.staging.static(loader, delivery.pins_memory, place) for place in places]
        if statics[0] is not None:
            delivery = replace(delivery, pins_memory=False)  # they are pinned, once
        iterators = []
        for engine, epoch, stage, static in zip(engines, epochs, stages, statics, strict=True):
            desk = ForeignDesk(
                self._foreign,
                recognised,
                plan,
                parts_of(transform, loader.views)[0] * loader.repeat,
                loader.num_workers,
                claim.seed,
                claim.epoch,
                loader.on_error,
            )
            owns = stage is not None and stage.splits
            iterators.append(
                LoaderIterator(
                    self._engines,
                    engine,
                    epoch,
                    replace(delivery, owns_labels=True) if owns else delivery,
                    desk,
                    _num_batches(loader),
                    float(loader.timeout),
                    loader.devices is None,
                    stage,
                    static,
                )
            )
        if loader.devices is None:
            return iterators[0]
        counts_consumer = None if options.num_workers else self._engines.add_consumer_time
        devices = [stage.device if stage else at for stage, at in zip(stages, loader.devices, strict=True)]
        return DevicesIterator(iterators, devices, claim.delivered, counts_consumer)

    def _begin_stored(
        self, loader: DataLoader, source: LoaderSource, batching: Batching, delivery: Delivery
    ) -> LoaderIterator:
        """Begins an epoch of samples as they are stored."""
        recognised = source.recognised
        form, plan, unite = stored_form(recognised)
        options = self._engine_options(loader, source, batching.returns_mask)._replace(form=form)
        engine = self._engines.take(recognised, plan, options, self._buffers)
        try:
            claim = claim_epoch(batching, loader._epochs, loader.seed, self._num_epochs == 0, loader._resume)
            epoch = epoch_of(claim, source)
            engine.start(plan, claim.seed, claim.epoch)
        except BaseException:
            self._engines.give_back(engine)
            raise
        self._num_epochs += 1
        return LoaderIterator(
            self._engines,
            engine,
            epoch,
            replace(delivery, unite=unite),
            StoredDesk(self._foreign, recognised, loader.on_error),
            _num_batches(loader),
            float(loader.timeout),
        )

    def _batching(self, loader: DataLoader, source: LoaderSource) -> Batching:
        """How the epoch's batches are made; checks files and warns where that has not been done."""
        if loader.verify == "file" and (self._checked is None or self._checked() is not source):
            check_files(loader.dataset)
            self._checked = weakref.ref(source)
        batching = batching_of(loader, loader._window)
        if self._num_epochs == 0:
            _warn_of_cost(loader, batching, source)
        return batching

    def _engine_options(self, loader: DataLoader, source: LoaderSource, returns_mask: bool) -> EngineOptions:
        if self._num_cpus is None:
            self._num_cpus = usable_cpus()
        return _engine_options(loader, source, returns_mask, self._num_cpus)

    def stats(self) -> LoaderStats:
        """Counts and times of all epochs."""
        return self._engines.stats() + self._foreign.stats()

    def close(self) -> None:
        """Ends threads and worker processes, lets go of memory and files."""
        self.staging.close()
        self._engines.close()
        self._foreign.close()
        self._sources.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {"buffers": self._buffers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        NativeRun.__init__(self)
        self._buffers = state["buffers"]


def _engine_options(
    loader: DataLoader, source: LoaderSource, returns_mask: bool, num_cpus: int
) -> EngineOptions:
    readers = loader.reader_threads
    num_workers = operator.index(loader.num_workers)
    # torch looks at these when an epoch begins, too; these are its words.
    if num_workers == 0 and loader.timeout != 0:
        raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
    prefetch = 2 if loader.prefetch_factor is None else operator.index(loader.prefetch_factor)
    if prefetch <= 0:
        raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
    if num_workers > 0:
        check_callable("worker_init_fn", loader.worker_init_fn)
    num_readers = operator.index(readers or default_reader_threads(source.has_blocks, num_workers))
    num_workers = useful_workers(num_workers, 1 if loader.devices is None else len(loader.devices), num_cpus)
    return EngineOptions(
        num_workers=num_workers,
        prefetch_batches=prefetch,
        # Indices and masks are put beside the samples by their order.
        reproducible=bool((loader.reproducible and loader.in_order) or loader.return_index or returns_mask),
        cpus=cpus_of_workers(num_workers) if loader.pin_threads else (),
        reader_threads=num_readers,
        check_blocks=loader.verify is not False,
    )


def _begin_stage(engine: Engine, stage: Stage | None, split: Split | None) -> str:
    """Begins a stage's epoch; returns what native threads run for it, "" where that is the whole plan."""
    if stage is not None:
        stage.begin(split.tails if split else ())
    engine.keeps_memory = stage is not None and split is not None
    return split.plan if split and stage is not None else ""


def _wanted(
    options: EngineOptions, stages: Sequence[Stage | None], buffers: SharedBuffers | None
) -> list[Wanted]:
    """An engine for each device, with its part of the workers. What is shared, one can use at a time."""
    wanted = []
    num_engines = len(stages)
    for device, num_workers in enumerate(split_workers(options.num_workers, num_engines)):
        # Worker w of the process works for device w % num_engines.
        part = options._replace(num_workers=num_workers, cpus=options.cpus[device::num_engines])
        if num_engines > 1:
            part = part._replace(num_all_workers=options.num_workers)
        part = near_device(part, stages[device], options.num_workers, device, num_engines)
        wanted.append(Wanted(part, buffers if device == 0 else None))
    return wanted


def _delivery_of(loader: DataLoader, target_transform: Any, batching: Batching, is_list: bool) -> Delivery:
    # What goes to a device is pinned on its way, and comes out there.
    wants = loader.pin_memory and loader.device is None
    pins_memory = wants and torch.accelerator.is_available()
    if wants and not pins_memory:
        warnings.warn(  # torch's words
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
            "won't be used.",
            stacklevel=4,
        )
    collate_fn: Any = loader.collate_fn
    return Delivery(
        collate_fn,
        target_transform,
        batching.is_batched,
        loader.return_index,
        batching.returns_mask,
        pins_memory,
        is_list,
        loader.repeat,
    )


def _num_batches(loader: DataLoader) -> int | None:
    try:
        return len(loader)
    except TypeError:  # a sampler without a length
        return None


def _warn_of_cost(loader: DataLoader, batching: Batching, source: LoaderSource) -> None:
    order = batching.order
    if order is None or order.file is None or source.keeps_bytes or not order.shuffle or order.has_groups:
        return
    cause, cure = 'shuffle_window="all"', 'a window of blocks (16 is the default) or mode="fully" avoids it'
    if order.elastic_batch:
        cause, cure = 'order="elastic"', 'mode="fully" avoids it'
    warnings.warn(
        f"{cause} without keeping the data in memory reads each sample singly, which is slow on most disks: "
        f"{cure}",
        stacklevel=5,
    )
