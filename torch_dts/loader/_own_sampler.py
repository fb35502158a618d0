# SPDX-License-Identifier: Apache-2.0
"""Which sampler a loader has when none is given, and who counts its epochs."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.data
from torch.utils.data import DistributedSampler, IterableDataset

from torch_dts.datasets import DTSIterableDataset
from torch_dts.loader._arguments import Options, ranks_of, refuse_ranks
from torch_dts.loader._datasets import whole_file
from torch_dts.loader._order import Order
from torch_dts.loader._sampler import (
    DistributedEpochs,
    EpochCounter,
    Epochs,
    PlainSampler,
    ShuffledSampler,
    StreamEpochs,
)


def complete_sampler(
    dataset: Any,
    shuffle: bool | None,
    sampler: Any,
    drop_last: bool,
    options: Options,
    generator: torch.Generator | None,
    batch_size: int | None = 1,
) -> tuple[Any, bool | None]:
    """The sampler and the `shuffle` to give to torch's constructor.

    Args:
        dataset: Of the loader.
        shuffle, sampler, drop_last, generator, batch_size: As the caller gave them.
        options: The arguments beyond torch's.

    Raises:
        ValueError: Ranks are given beside a sampler of other ranks; the dataset is empty and
            to be shuffled (torch's own error).
    """
    if sampler is not None:
        refuse_ranks(options, sampler)
        # A loader built again from its attributes has both.
        return sampler, None if type(sampler) is ShuffledSampler else shuffle
    if isinstance(dataset, IterableDataset):
        return None, shuffle
    ranks = ranks_of(options)
    epochs = EpochCounter(options.seed, generator, is_sharded=ranks is not None)
    num_replicas, rank = ranks or (1, 0)
    order = Order(
        0,  # the sampler asks the dataset in each epoch
        file=whole_file(dataset),
        shuffle=bool(shuffle),
        shuffle_window=options.window,
        num_replicas=num_replicas,
        rank=rank,
        drop_last=drop_last and (ranks is not None or options.devices is not None),
        uneven=options.uneven,
        elastic_batch=(batch_size or 1) if options.order == "elastic" else 0,
    )
    if shuffle:
        return ShuffledSampler(dataset, order, epochs, generator), None
    return PlainSampler(dataset, order, epochs), None


def epochs_of(loader: torch.utils.data.DataLoader[Any], options: Options) -> Epochs:
    """Who says seed and epoch of a loader's iterations."""
    dataset: Any = loader.dataset
    if isinstance(dataset, DTSIterableDataset):
        return StreamEpochs(dataset)
    sampler: Any = getattr(loader.batch_sampler, "sampler", loader.sampler)
    if type(sampler) in (ShuffledSampler, PlainSampler):
        epochs: Epochs = sampler.epochs
        return epochs
    if type(sampler) is DistributedSampler:
        return DistributedEpochs(sampler)
    return EpochCounter(options.seed, loader.generator, isinstance(sampler, DistributedSampler))
