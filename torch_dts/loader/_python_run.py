# SPDX-License-Identifier: Apache-2.0
"""Epochs of a loader that works in Python: our order and seeds, torch's DataLoader for the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from torch_dts.loader._datasets import leaves
from torch_dts.loader._epoch import NO_DEVICES, batching_of, begin_iterable_epoch, begin_python_epoch
from torch_dts.loader._fallback import FallbackLoader, fallback_loader
from torch_dts.loader._fallback_stream import BatchedStream, is_stream
from torch_dts.loader._order import Order
from torch_dts.loader._replacing import can_replace, new_counts, with_replacing
from torch_dts.loader._resume import Begun, Delivered
from torch_dts.loader._stats import LoaderStats
from torch_dts.transforms._views import Views

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader

_NO_REPLACING = (
    "on_error='replace' has no effect on a dataset that is read in Python and has no loader= of "
    "torchvision's or torch_dts's own: a bad sample raises"
)


class PythonRun:
    """The torch DataLoader that does a loader's work, kept from epoch to epoch."""

    def __init__(self) -> None:
        self._fallback: FallbackLoader | None = None
        self._batches = _EpochBatches()
        self._made_for: tuple[Any, ...] = ()
        self._reason: str | None = None
        self._counts: list[Tensor] = []  # of replaced images

    def begin(
        self, loader: DataLoader, reason: str, finish: Callable[[Any], Any] | None = None
    ) -> Iterator[Any]:
        """Begins an epoch; warns the first time, with the reason.

        Args:
            loader: Whose epoch begins.
            reason: Why native threads can't.
            finish: What becomes of each batch before it is handed out.

        Raises:
            ValueError: The loader feeds several devices, or DALI is to decode.
        """
        if loader.devices is not None:
            raise ValueError(NO_DEVICES.format(reason=reason))
        if loader.backend == "dali":
            raise ValueError(f"backend='dali' needs what native code reads: {reason}")
        begun = self._begin_iterable(loader)
        resumed = None if begun is None else begun.resumed()
        made_for = (
            reason,
            loader.transform,
            loader.num_workers,
            loader.collate_fn,
            loader.dtype,
            loader.views,
            loader.repeat,
            resumed,
        )
        # A dataset with another transform or loader is a copy, and would not see later changes.
        is_copy = (
            loader.transform is not None
            or loader.on_error == "replace"
            or loader.views * loader.repeat > 1
            or any(type(getattr(leaf, "transform", None)) is Views for leaf in leaves(loader.dataset))
        )
        is_kept = self._made_for == made_for and (loader.persistent_workers or not is_copy)
        if self._fallback is None or not is_kept:
            self._fallback = self._make(loader, reason, resumed)
            self._made_for = made_for
        if begun is None:
            epoch = begin_python_epoch(loader, loader._epochs, loader.seed, loader._window, loader._resume)
            self._batches.prepare(epoch.batches)
            self._fallback.begin(epoch.seed, epoch.epoch, epoch.num_skipped, epoch.earlier, epoch.counted_in)
            batches = iter(self._fallback)
            counted = (epoch.delivered, 0, loader.repeat, epoch.num_repeated)
            return CountedIterator(batches, *counted, finish=finish)
        return CountedIterator(
            iter(self._fallback),
            begun.delivered,
            begun.place.num_batches,
            loader.repeat,
            begun.place.num_repeated,
            finish,
        )

    def _begin_iterable(self, loader: DataLoader) -> Begun | None:
        if not isinstance(loader.dataset, IterableDataset):
            return None
        begun = begin_iterable_epoch(loader, loader._epochs, loader._window, loader._resume)
        if begun.resumed() is not None and (loader.return_index or not is_stream(loader.dataset)):
            raise ValueError(
                f"an epoch of a {type(loader.dataset).__name__} can't be continued: it has an __iter__ of "
                "its own, or its samples have no index"
            )
        return begun

    def stats(self) -> LoaderStats:
        """Replaced images of all epochs."""
        return LoaderStats(num_replaced=sum(int(counts.sum()) for counts in self._counts))

    def close(self) -> None:
        """Lets go of the worker processes."""
        self._fallback = None

    def _make(self, loader: DataLoader, reason: str, resumed: tuple[int, Order] | None) -> FallbackLoader:
        dataset = loader.effective_dataset()
        batching = batching_of(loader, loader._window)
        if batching.order is not None and is_stream(dataset) and not loader.return_index:
            dataset = BatchedStream(dataset, batching.order, batching.rule, batching.returns_mask, resumed)
        replaces = loader.on_error == "replace" and can_replace(dataset)
        if replaces:
            dataset = with_replacing(dataset, self._counts_for(loader.num_workers))
        with warnings.catch_warnings():
            if reason == self._reason:  # it was said before
                warnings.simplefilter("ignore")
            elif loader.on_error == "replace" and not replaces:
                warnings.warn(_NO_REPLACING, stacklevel=5)
            self._reason = reason
            return fallback_loader(
                _View(loader, self._batches),  # type: ignore[arg-type]  # only attributes are read
                reason,
                dataset=dataset,
                with_index=loader.return_index,
                with_mask=batching.returns_mask,
                views=loader.views,
                repeat=loader.repeat,
                stacklevel=6,
            )

    def _counts_for(self, num_workers: int) -> Tensor:
        if not self._counts or len(self._counts[-1]) != num_workers + 1:
            self._counts.append(new_counts(num_workers))
        return self._counts[-1]

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        PythonRun.__init__(self)


class CountedIterator:
    """torch's iterator over a loader; what it delivers is counted.

    Args:
        iterator: torch's. Its attributes are those of this one, too.
        delivered: Counts.
        num_skipped: So many of the first batches are taken and dropped: a dataset of the user's
            own can't be told to begin later.
        repeat: Batches that count as one.
        num_repeated: So many of those that come first were delivered before.
        finish: What becomes of a batch before it is handed out; None: nothing.
    """

    def __init__(
        self,
        iterator: Any,
        delivered: Delivered,
        num_skipped: int = 0,
        repeat: int = 1,
        num_repeated: int = 0,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        self._finish = finish
        self._iterator = iterator
        self._num_skipped = num_skipped * repeat + num_repeated
        self._repeat = repeat
        self._num_repeated = num_repeated
        self._is_first = True
        self._delivered = delivered

    def __iter__(self) -> CountedIterator:
        return self

    def __len__(self) -> int:
        return len(self._iterator)

    def __next__(self) -> Any:
        try:
            while self._num_skipped:
                self._num_skipped -= 1
                next(self._iterator)
            batch = next(self._iterator)
        except StopIteration:
            self._delivered.is_all = True
            raise
        if self._num_repeated == 0 or self._is_first:
            self._delivered.num_batches += 1
        self._is_first = False
        self._num_repeated = (self._num_repeated + 1) % self._repeat
        self._delivered.num_repeated = self._num_repeated
        return batch if self._finish is None else self._finish(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_iterator"], name)


class _EpochBatches:
    """A batch sampler that gives what was prepared for the epoch; as long as the loader."""

    def __init__(self) -> None:
        self._prepared: Iterator[Any] = iter(())
        self.measured: Any = None

    def prepare(self, batches: Iterator[Any]) -> None:
        self._prepared = batches

    def __iter__(self) -> Iterator[Any]:
        return self._prepared

    def __len__(self) -> int:
        return len(self.measured)


class _View:
    """A loader's attributes, with the epoch's batches in the place of its samplers."""

    def __init__(self, loader: DataLoader, batches: _EpochBatches) -> None:
        self._loader = loader
        batches.measured = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        self.batch_sampler: Iterable[Any] | None = None if loader.batch_sampler is None else batches
        self.sampler: Iterable[Any] = batches if loader.batch_sampler is None else loader.sampler
        self.collate_fn: Callable[[Any], Any] = loader.collate_fn
        if loader.dtype is not None or loader.memory_format is not None:
            self.collate_fn = _Converting(loader.collate_fn, loader.dtype, loader.memory_format)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Converting:
    """A collate_fn whose images come out with another dtype or memory format.

    Raises:
        ValueError: There are no images at the batch's first place, or bytes are asked of floats.
    """

    def __init__(
        self,
        collate_fn: Callable[[Any], Any],
        dtype: torch.dtype | None,
        memory_format: torch.memory_format | None,
    ) -> None:
        self._collate_fn = collate_fn
        self._dtype = dtype
        self._memory_format = memory_format

    def __call__(self, samples: Any) -> Any:
        made = self._collate_fn(samples)
        images = made[0] if isinstance(made, (list, tuple)) and made else made
        if isinstance(images, list) and images:  # views
            images = [self._convert(view) for view in images]
        else:
            images = self._convert(images)
        return type(made)((images, *made[1:])) if isinstance(made, (list, tuple)) else images

    def _convert(self, images: Any) -> Tensor:
        if not isinstance(images, Tensor):
            raise ValueError(
                f"dtype or memory_format is given, but a batch begins with {type(images).__name__}, no tensor"
            )
        if self._dtype == torch.uint8 and images.dtype != torch.uint8:
            raise ValueError(f"dtype is torch.uint8, but the transform gives {images.dtype}")
        layout = self._memory_format if images.dim() == 4 else None
        return images.to(self._dtype or images.dtype, memory_format=layout or torch.preserve_format)
