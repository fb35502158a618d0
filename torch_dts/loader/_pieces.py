# SPDX-License-Identifier: Apache-2.0
"""An epoch as pieces for the native loader: units of samples to read, and the batches they fill.

Two kinds of epochs: those whose order is known from the start, and those of a foreign
sampler, whose indices are asked for a few batches ahead (it may be endless).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_dts.loader._order import Order, cut_units, unit_samples

_NO_IDS = torch.empty(0, dtype=torch.int64, device="cpu")
_COUNTED = 1 << 16  # occurrences are counted modulo this


@dataclass(frozen=True)
class Piece:
    """What is appended to the native loader at once (the arguments of ``loader_append``).

    Attributes:
        samples: int64 ``[k]``, samples of the source in the order of delivery.
        occurrences: int64 ``[k]``, or empty: all 0.
        batch_sizes: int64 ``[b]``: batches that are complete with this piece.
        unit_sizes, unit_num_blocks: int64 ``[u]``: how samples and blocks are cut into units.
        blocks: int64: blocks of the units, read whole.
        indices: int64 ``[k]``: the samples' indices in the dataset.
    """

    samples: Tensor
    occurrences: Tensor
    batch_sizes: Tensor
    unit_sizes: Tensor
    unit_num_blocks: Tensor
    blocks: Tensor
    indices: Tensor


class SampleMap:
    """From what an order counts to the samples of a source.

    Args:
        samples: int64 ``[len(dataset)]``: the source's sample of each index; None: the same.
        num_samples: ``len(dataset)``.
    """

    def __init__(self, samples: Tensor | None, num_samples: int) -> None:
        self.samples = samples
        self.num_samples = num_samples
        # A Subset may name a sample twice; that changes what "how often it came before" means.
        self.has_duplicates = samples is not None and torch.unique(samples).numel() < samples.numel()

    def to_source(self, indices: Tensor) -> Tensor:
        """The source's samples of dataset indices."""
        return indices if self.samples is None else self.samples[indices]

    def checked(self, indices: Iterable[int]) -> Tensor:
        """A sampler's indices as int64, negative ones counted from the end.

        Raises:
            IndexError: The dataset has no such sample.
            TypeError: One is no integer.
        """
        found = torch.tensor([operator.index(index) for index in indices], dtype=torch.int64, device="cpu")
        wrong = (found < -self.num_samples) | (found >= self.num_samples)
        if bool(wrong.any()):
            index = int(found[wrong][0])
            raise IndexError(
                f"the sampler gave index {index}, but the dataset has {self.num_samples} samples"
            )
        return torch.where(found < 0, found + self.num_samples, found)


class OccurrenceCounter:
    """How often a sample came earlier in an epoch, modulo 65536."""

    def __init__(self) -> None:
        self._counts = torch.zeros(0, dtype=torch.int32, device="cpu")

    def count(self, samples: Tensor) -> Tensor:
        """int64, as `samples`: how often each came before, in earlier calls and in this one."""
        if samples.numel() == 0:
            return _NO_IDS
        highest = int(samples.max())
        if highest >= self._counts.numel():  # grows by doubling: batches come one by one
            grown = torch.zeros(max(highest + 1, 2 * self._counts.numel()), dtype=torch.int32, device="cpu")
            grown[: self._counts.numel()] = self._counts
            self._counts = grown
        by_sample = torch.argsort(samples, stable=True)
        ordered = samples[by_sample]
        _, counts = torch.unique_consecutive(ordered, return_counts=True)
        first = counts.cumsum(0) - counts
        before = torch.arange(samples.numel(), device="cpu") - torch.repeat_interleave(first, counts)
        occurrences = torch.empty_like(samples)
        occurrences[by_sample] = self._counts[ordered].to(torch.int64) + before
        self._counts[ordered[first]] += counts.to(torch.int32)
        return occurrences % _COUNTED


def planned_pieces(
    order: Order,
    sample_map: SampleMap,
    seed: int,
    epoch: int,
    batch_size: int,
    drop_last: bool,
    mean_bytes: float,
) -> Iterator[Piece]:
    """The pieces of an epoch whose order is known.

    Args:
        order: Of this rank.
        sample_map: From the dataset to the source.
        seed, epoch: Of the order.
        batch_size: Samples of a batch.
        drop_last: Leave the last batch out where it isn't full.
        mean_bytes: Of an encoded sample; decides how many are read together.
    """
    stream = order.stream(seed, epoch)
    num_left = stream.ids.numel()
    if drop_last and num_left % batch_size:
        num_left -= num_left % batch_size
    counter = OccurrenceCounter() if sample_map.has_duplicates else None
    num_open = 0  # samples of a batch that isn't full yet
    for unit in cut_units(stream, batch_size, mean_bytes):
        ids = unit.ids[:num_left]
        if ids.numel() == 0:
            return
        num_left -= ids.numel()
        num_batches, num_open = divmod(num_open + ids.numel(), batch_size)
        batch_sizes = [batch_size] * num_batches
        if num_left == 0 and num_open:
            batch_sizes.append(num_open)
        samples = ids if order.has_stored_ids else sample_map.to_source(ids)
        occurrences = _NO_IDS if counter is None else counter.count(samples)
        if unit.is_filler:  # it came before, here or (where this rank has no samples) on another rank
            occurrences = torch.ones_like(samples) if counter is None else occurrences.clamp(min=1)
        yield Piece(
            samples=samples.contiguous(),
            occurrences=occurrences,
            batch_sizes=_int64(batch_sizes),
            unit_sizes=_int64([ids.numel()]),
            unit_num_blocks=_int64([unit.blocks.numel()]),
            blocks=unit.blocks,
            indices=order.to_dataset(ids),
        )


def sampled_pieces(
    batches: Iterable[Iterable[int]], sample_map: SampleMap, mean_bytes: float
) -> Iterator[Piece]:
    """The pieces of an epoch that a sampler decides: one for each of its batches.

    Args:
        batches: Dataset indices of each batch.
        sample_map: From the dataset to the source.
        mean_bytes: Of an encoded sample.

    Raises:
        IndexError: An index is outside of the dataset, or a batch is empty.
        TypeError: An index is no integer.
    """
    step = unit_samples(mean_bytes)
    counter = OccurrenceCounter()
    for batch in batches:
        indices = sample_map.checked(batch)
        if indices.numel() == 0:
            raise IndexError("the batch sampler gave an empty batch")
        samples = sample_map.to_source(indices).contiguous()
        unit_sizes = [part.numel() for part in torch.split(samples, step)]
        yield Piece(
            samples=samples,
            occurrences=counter.count(samples),
            batch_sizes=_int64([samples.numel()]),
            unit_sizes=_int64(unit_sizes),
            unit_num_blocks=_int64([0] * len(unit_sizes)),
            blocks=_NO_IDS,
            indices=indices,
        )


def _int64(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int64, device="cpu")
