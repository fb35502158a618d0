# SPDX-License-Identifier: Apache-2.0
"""`fallback_loader`: a loader that works as torch's own, in Python, for what native code can't do.

Samples of map-style datasets are seeded one by one, so that the number of workers does not
change them. Everything else is torch's: processes, collating, pinning, errors.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from torch_dts._seeding import States, generator_states, restore_generators, seed_generators
from torch_dts.datasets import DTSDataset
from torch_dts.datasets._pixels import read_samples
from torch_dts.loader._fallback_keys import Seeded, SeededSampler
from torch_dts.loader._fallback_stream import BatchedStream
from torch_dts.loader._fallback_views import (
    MakingTransform,
    RepeatedBatches,
    SplittingCollate,
    asked_for_each,
    prepare_views,
)
from torch_dts.loader._recognise import is_plain_subset
from torch_dts.loader._recognise_own import changed_behaviour

_OWN_ITEMS: dict[str, type | None] = {
    "file": None,
    **dict.fromkeys(("__getitem__", "__getitems__", "_item"), DTSDataset),
}


class FallbackLoader(torch.utils.data.DataLoader[Any]):
    """torch's DataLoader with seeded samples; made by `fallback_loader`."""

    _seeds: SeededSampler | None = None
    _next: tuple[int, int] = (0, 0)  # seed and epoch
    _repeat = 1

    def begin(
        self,
        seed: int,
        epoch: int,
        num_skipped: int = 0,
        earlier: Sequence[Tensor] = (),
        counted_in: Tensor | None = None,
    ) -> None:
        """Sets seed and epoch of the next ``iter()``; without it each has the next epoch.

        Args:
            seed: Any int, taken modulo 2^64.
            epoch: 0 to 2^32 - 1.
            num_skipped, earlier, counted_in: As the attributes of SeededSampler.
        """
        self._next = (seed, epoch)
        if self._seeds is not None:
            self._seeds.num_skipped, self._seeds.earlier = num_skipped, earlier
            self._seeds.counted_in = counted_in

    def __iter__(self) -> Any:
        """Begins an epoch, as torch's."""
        seed, epoch = self._next
        self._next = (seed, (epoch + 1) % (1 << 32))
        if self._seeds is not None:
            self._seeds.seed, self._seeds.epoch = seed, epoch
        batches = self._begun()
        return batches if self._repeat == 1 else RepeatedBatches(batches, self._repeat)

    def _begun(self) -> Any:
        self._drop_dead_workers()
        try:
            return super().__iter__()
        except RuntimeError:  # one that was dying was seen by torch
            if not self._drop_dead_workers():
                raise
            return super().__iter__()

    def _drop_dead_workers(self) -> bool:
        """Persistent workers of which one is gone, as after Ctrl-C, which all of them get, are made anew."""
        kept = self._iterator
        if kept is None or all(worker.is_alive() for worker in getattr(kept, "_workers", ())):
            return False
        self._iterator = None
        return True


def fallback_loader(
    loader: torch.utils.data.DataLoader[Any],
    reason: str,
    *,
    dataset: Any = None,
    with_index: bool = False,
    with_mask: bool = False,
    views: int = 1,
    repeat: int = 1,
    stacklevel: int = 3,
) -> FallbackLoader:
    """The loader that does the work of `loader` in Python; warns once, with the reason.

    Args:
        loader: Its arguments are taken over: the attributes of torch's DataLoader.
        reason: Why it is not done natively.
        dataset: Read instead of ``loader.dataset``.
        with_index: Each item ends with its index in the dataset.
        with_mask: Each item ends with False where it only fills a batch, else True.
        views, repeat: Augmentations of a sample in a batch, batches of the same samples.
        stacklevel: Of the warning.

    Returns:
        A loader to keep as long as `loader` (it owns persistent workers) and to iterate
        over once an epoch, after `FallbackLoader.begin`.

    Raises:
        ValueError: `with_index` or `with_mask` for an iterable dataset, whose items have neither;
            views that can't be had (`prepare_views`).
    """
    warnings.warn(
        f"this DataLoader works as torch's own, in Python: {reason}", UserWarning, stacklevel=stacklevel
    )
    if dataset is None:
        dataset = loader.dataset
    original = dataset
    dataset, making, shape = prepare_views(dataset, views, repeat)
    collate_fn: Any = loader.collate_fn
    if making is not None or shape.total > 1:
        collate_fn = SplittingCollate(collate_fn, shape, is_batched=_is_batched(loader, dataset))
    arguments: dict[str, Any] = {
        "num_workers": loader.num_workers,
        "collate_fn": collate_fn,
        "pin_memory": loader.pin_memory,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
        "pin_memory_device": loader.pin_memory_device,
        "in_order": loader.in_order,
    }
    if loader.num_workers > 0:
        arguments["multiprocessing_context"] = loader.multiprocessing_context
        arguments["prefetch_factor"] = loader.prefetch_factor
        arguments["persistent_workers"] = loader.persistent_workers
    if isinstance(dataset, IterableDataset):
        if with_index:
            raise ValueError(
                f"return_index=True, but the items of a {type(dataset).__name__} that is read in Python "
                "have no index: let the dataset give it"
            )
        made = _iterable_loader(loader, dataset, arguments, with_mask)
        made._repeat = repeat
        return made
    seeded = SeededDataset(dataset, loader.num_workers == 0, with_index, with_mask, making, original)
    if loader.num_workers > 0:
        arguments["worker_init_fn"] = _ShowDataset(loader.worker_init_fn)
    else:
        arguments["collate_fn"] = _Restoring(seeded, collate_fn)
    if loader.batch_sampler is not None:
        seeds = SeededSampler(loader.batch_sampler, True, dataset, shape.total)
        arguments["batch_sampler"] = seeds
    else:
        seeds = SeededSampler(loader.sampler, False, dataset, shape.total)
        arguments |= {"batch_size": None, "sampler": seeds}
    made = FallbackLoader(seeded, **arguments)
    made._seeds = seeds
    made._repeat = repeat
    return made


def _iterable_loader(
    loader: torch.utils.data.DataLoader[Any], dataset: Any, arguments: dict[str, Any], with_mask: bool
) -> FallbackLoader:
    if isinstance(dataset, BatchedStream):  # it knows where batches end
        arguments["worker_init_fn"] = _ShowDataset(loader.worker_init_fn)
        return FallbackLoader(dataset, batch_size=loader.batch_size, **arguments)
    last_batch = getattr(loader, "last_batch", "partial")
    if with_mask or last_batch == "fill":
        raise ValueError(
            f"uneven='exact', last_batch='fill' and return_mask=True can't be had of a "
            f"{type(dataset).__name__} that is read in Python: it alone knows what it delivers"
        )
    drops = loader.drop_last or last_batch == "drop"
    return FallbackLoader(dataset, batch_size=loader.batch_size, drop_last=drops, **arguments)


class SeededDataset(Dataset[Any]):
    """A dataset whose items are asked for with seeds.

    Args:
        dataset: The user's.
        is_lent: The global generators are the training's, not a worker process's. Their
            states are taken before the samples and put back by `restore`, which
            `_Restoring` calls when the batch is collated: collating draws from the stream
            of the last sample in either case.
        with_index: Each item ends with its index.
        with_mask: Each item ends with whether it counts.
        making: The dataset's transform, where it makes several augmentations.
        original: What is shown as the dataset; None: `dataset`.
    """

    def __init__(
        self,
        dataset: Any,
        is_lent: bool,
        with_index: bool = False,
        with_mask: bool = False,
        making: MakingTransform | None = None,
        original: Any = None,
    ) -> None:
        self.dataset = dataset
        self.original = dataset if original is None else original
        self._making = making
        self._with_index = with_index
        self._with_mask = with_mask
        self._is_lent = is_lent
        self._states: States | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, key: Seeded) -> Any:
        with _Lent(self):
            is_asked = key.more_seeds and self._making is None
            items = asked_for_each(key, self._single) if is_asked else self._single(key)
            return self._completed(items, [key.index], key.num_fillers)[0]

    def __getitems__(self, key: Seeded) -> Any:
        with _Lent(self):
            is_asked = key.more_seeds and self._making is None
            items = asked_for_each(key, self._batch) if is_asked else self._batch(key)
            return self._completed(items, key.index, key.num_fillers)

    def _batch(self, key: Seeded) -> Any:
        if not _has_batches(self.dataset):
            return list(self._one_by_one(key))
        found = _find_own(self.dataset, key.index)
        if found is not None:
            return self._read_own(*found, key)
        # Who makes whole batches gets them, as from torch; they are seeded as a whole.
        if key.seeds:
            seed_generators(key.seeds[0])
        return self.dataset.__getitems__(key.index)

    def restore(self) -> None:
        """Puts the generators back into the states they were lent in."""
        states, self._states = self._states, None
        if states is not None:
            restore_generators(states)

    def keep(self) -> None:
        """Takes the states that `restore` puts back."""
        if self._is_lent:
            self._states = generator_states()

    def _completed(self, items: Any, indices: Any, num_fillers: int) -> Any:
        if self._with_index:
            items = list(map(_with_last, items, indices))
        if self._with_mask:
            num_own = len(items) - num_fillers
            items = [_with_last(item, place < num_own) for place, item in enumerate(items)]
        return items

    def _single(self, key: Seeded) -> list[Any]:
        self._seed(key, 0)
        return [self.dataset[key.index]]

    def _one_by_one(self, key: Seeded) -> Iterator[Any]:
        for place, index in enumerate(key.index):
            self._seed(key, place)
            yield self.dataset[index]

    def _read_own(self, dataset: DTSDataset, indices: Sequence[int], key: Seeded) -> list[Any]:
        items = []
        for place, (index, data) in enumerate(zip(indices, read_samples(dataset.file, indices), strict=True)):
            self._seed(key, place)
            items.append(dataset._item(operator.index(index), data))
        return items

    def _seed(self, key: Seeded, place: int) -> None:
        seed_generators(key.seeds[place])
        if self._making is not None:
            self._making.seeds = (key.seeds[place], *(seeds[place] for seeds in key.more_seeds))


def _with_last(item: Any, value: Any) -> Any:
    return (*item, value) if isinstance(item, (tuple, list)) else (item, value)


class _Lent:
    """Samples are made inside; an error gives the generators back."""

    def __init__(self, seeded: SeededDataset) -> None:
        self._seeded = seeded

    def __enter__(self) -> None:
        self._seeded.keep()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._seeded.restore()


def _has_batches(dataset: Any) -> bool:
    """Whether the items of a batch are made together; torch's Subset only passes them on."""
    while is_plain_subset(dataset):
        dataset = dataset.dataset
    return callable(getattr(dataset, "__getitems__", None))


def _find_own(dataset: Any, indices: Sequence[int]) -> tuple[DTSDataset, Sequence[int]] | None:
    """A DTSDataset below Subsets, with its indices: its samples are read together, but made one by one."""
    while is_plain_subset(dataset):
        indices = [dataset.indices[index] for index in indices]
        dataset = dataset.dataset
    if isinstance(dataset, DTSDataset) and not changed_behaviour(dataset, _OWN_ITEMS):
        return dataset, indices
    return None


def _is_batched(loader: torch.utils.data.DataLoader[Any], dataset: Any) -> bool:
    if isinstance(dataset, IterableDataset):
        return loader.batch_size is not None
    return loader.batch_sampler is not None


class _Restoring:
    """A collate_fn for the process of the training: afterwards the generators are as before."""

    def __init__(self, seeded: SeededDataset, collate_fn: Callable[[Any], Any]) -> None:
        self._seeded = seeded
        self._collate_fn = collate_fn

    def __call__(self, items: Any) -> Any:
        try:
            return self._collate_fn(items)
        finally:
            self._seeded.restore()


class _ShowDataset:
    """A worker_init_fn: get_worker_info().dataset is the user's dataset, as with torch's loader."""

    def __init__(self, worker_init_fn: Callable[[int], Any] | None) -> None:
        self._worker_init_fn = worker_init_fn

    def __call__(self, worker: int) -> None:
        info = get_worker_info()
        if info is not None and isinstance(info.dataset, SeededDataset):
            object.__setattr__(info, "dataset", info.dataset.original)  # it refuses a plain assignment
        elif info is not None and isinstance(info.dataset, BatchedStream):
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self._worker_init_fn is not None:
            self._worker_init_fn(worker)
