# SPDX-License-Identifier: Apache-2.0
"""An epoch of a loader: which samples in which batches, from its samplers and its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.utils.data
from torch.utils.data import BatchSampler

from torch_dts.datasets import DTSIterableDataset
from torch_dts.loader._datasets import whole_file
from torch_dts.loader._order import Order
from torch_dts.loader._pieces import Piece, planned_pieces, sampled_pieces
from torch_dts.loader._sampler import (
    Epochs,
    PlainSampler,
    ShuffledSampler,
    distributed_order,
    is_distributed_shuffle,
    stream_order,
)
from torch_dts.loader._seed_agreement import require_same_seed
from torch_dts.loader._source import LoaderSource


@dataclass(frozen=True)
class Batching:
    """How a loader makes batches.

    Attributes:
        order: The order, where it is known; None: `batches` says.
        batches: The indices of each batch, for each epoch anew.
        batch_size: Samples of a batch; of a batch sampler of the user's: unknown, 1.
        drop_last: Leave the last batch out where it isn't full.
        is_batched: False (``batch_size=None``): samples come one by one.
    """

    order: Order | None
    batches: Iterable[Iterable[int]]
    batch_size: int
    drop_last: bool
    is_batched: bool


@dataclass(frozen=True)
class Epoch:
    """An epoch that has begun.

    Attributes:
        seed: Of the random choices about samples.
        epoch: Its number.
        pieces: What goes to the native loader.
        reads_blocks: Blocks are among it.
    """

    seed: int
    epoch: int
    pieces: Iterator[Piece]
    reads_blocks: bool = False


def batching_of(loader: torch.utils.data.DataLoader[Any], window: int) -> Batching:
    """Reads the samplers of a loader.

    Args:
        loader: Its dataset, samplers, batch_size and drop_last are looked at.
        window: The shuffle window in blocks, for a sampler whose place our order takes.
    """
    dataset: Any = loader.dataset
    batch_sampler: Any = loader.batch_sampler
    is_batched = batch_sampler is not None
    if isinstance(dataset, DTSIterableDataset):
        order = stream_order(dataset, loader.drop_last)
        return Batching(order, (), loader.batch_size or 1, loader.drop_last, is_batched)
    if is_batched and type(batch_sampler) is not BatchSampler:
        return Batching(None, batch_sampler, 1, False, True)
    sampler: Any = batch_sampler.sampler if is_batched else loader.sampler
    batch_size = batch_sampler.batch_size if is_batched else 1
    drop_last = batch_sampler.drop_last if is_batched else False
    batches = batch_sampler if is_batched else _Singly(sampler)
    return Batching(known_order(sampler, dataset, window), batches, batch_size, drop_last, is_batched)


def known_order(sampler: Any, dataset: Any, window: int) -> Order | None:
    """The order that a sampler stands for; None: its indices have to be asked for."""
    file = whole_file(dataset)
    if type(sampler) in (ShuffledSampler, PlainSampler):
        order: Order = sampler.order
        return order if order.num_samples == len(dataset) and order.file is file else None
    if is_distributed_shuffle(sampler) and len(sampler.dataset) == len(dataset):
        return distributed_order(sampler, Order(len(dataset), file=file, shuffle_window=window))
    return None


def begin_epoch(
    batching: Batching, epochs: Epochs, seed: int | None, source: LoaderSource, is_first: bool
) -> Epoch:
    """Claims the next epoch.

    Args:
        batching: From `batching_of`.
        epochs: Counts them.
        seed: The loader's own; where ranks are those of a DistributedSampler it decides the
            choices about samples, and the sampler's seed the order.
        source: What is read.
        is_first: Compare seeds with other ranks.

    Raises:
        ValueError: Another rank has another seed.
    """
    order_seed, epoch = epochs.claim()
    choice_seed = order_seed if seed is None else seed
    order = batching.order
    if order is None:
        pieces = sampled_pieces(iter(batching.batches), source.sample_map, source.mean_bytes)
        return Epoch(choice_seed, epoch, pieces)
    if is_first and order.num_replicas > 1:
        require_same_seed(order, order_seed)
    pieces = planned_pieces(
        order,
        source.sample_map,
        order_seed,
        epoch,
        batching.batch_size,
        batching.drop_last,
        source.mean_bytes,
    )
    return Epoch(choice_seed, epoch, pieces, order.has_groups)


class PythonEpoch(NamedTuple):
    """An epoch of a map-style dataset for a loader that works in Python.

    Attributes:
        seed, epoch: Of the random choices about samples.
        batches: The dataset indices of each batch; with ``batch_size=None`` the indices
            themselves. What a sampler of the user's gives is passed on as it is.
    """

    seed: int
    epoch: int
    batches: Iterator[Any]


def begin_python_epoch(
    loader: torch.utils.data.DataLoader[Any], epochs: Epochs, seed: int | None, window: int
) -> PythonEpoch:
    """As `begin_epoch`: the same order, the same batches, the same seeds."""
    batching = batching_of(loader, window)
    order_seed, epoch = epochs.claim()
    choice_seed = order_seed if seed is None else seed
    order = batching.order
    if order is None:
        given: Any = loader.batch_sampler if batching.is_batched else loader.sampler
        return PythonEpoch(choice_seed, epoch, iter(given))
    if order.num_replicas > 1:
        require_same_seed(order, order_seed)
    indices = order.to_dataset(order.stream(order_seed, epoch).ids)
    if not batching.is_batched:
        return PythonEpoch(choice_seed, epoch, iter(indices.tolist()))
    batches = torch.split(indices, batching.batch_size) if indices.numel() else ()
    whole = (part for part in batches if not batching.drop_last or part.numel() == batching.batch_size)
    return PythonEpoch(choice_seed, epoch, (part.tolist() for part in whole))


class _Singly:
    """A sampler's indices as batches of one."""

    def __init__(self, sampler: Iterable[int]) -> None:
        self._sampler = sampler

    def __iter__(self) -> Iterator[list[int]]:
        return ([index] for index in self._sampler)
