# SPDX-License-Identifier: Apache-2.0
"""An epoch as pieces for the native loader: units of samples to read, and the batches they fill.

Two kinds of epochs: those whose order is known from the start, and those of a foreign
sampler, whose indices are asked for a few batches ahead (it may be endless).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from torch_dts.loader._batch_plan import BatchRule, IndexBatch
from torch_dts.loader._order import Order, Reading, Stream, cut_units, unit_samples

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
        num_fillers: The last so many samples come once more.
    """

    samples: Tensor
    occurrences: Tensor
    batch_sizes: Tensor
    unit_sizes: Tensor
    unit_num_blocks: Tensor
    blocks: Tensor
    indices: Tensor
    num_fillers: int = 0

    def is_own(self) -> Tensor:
        """bool ``[k]``: the samples that are no fillers."""
        numbers = torch.arange(self.samples.numel(), device="cpu")
        return numbers < self.samples.numel() - self.num_fillers


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

    def checked(self, indices: Sequence[Any], sampler: str = "the sampler") -> Tensor:
        """A sampler's indices as int64, negative ones counted from the end.

        Args:
            sampler: What errors call it.

        Raises:
            IndexError: The dataset has no such sample.
            TypeError: One is no integer.
        """
        try:
            found = torch.tensor(
                [operator.index(index) for index in indices], dtype=torch.int64, device="cpu"
            )
        except (TypeError, ValueError):  # ValueError: beyond 64 bits
            raise self._refused(indices, sampler) from None
        if bool(((found < -self.num_samples) | (found >= self.num_samples)).any()):
            raise self._refused(indices, sampler)
        return torch.where(found < 0, found + self.num_samples, found)

    def _refused(self, indices: Sequence[Any], sampler: str) -> TypeError | IndexError:
        """The error of the first index that is none."""
        for index in indices:
            try:
                number = operator.index(index)
            except TypeError:
                return TypeError(
                    f"{sampler} gave index {index!r} ({type(index).__name__}), expected an integer"
                )
            if not -self.num_samples <= number < self.num_samples:
                return IndexError(
                    f"{sampler} gave index {number}, but the dataset has {self.num_samples} samples"
                )
        return TypeError(f"{sampler} gave indices that change while they are looked at")


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
    stream: Stream,
    sample_map: SampleMap,
    rule: BatchRule,
    reading: Reading,
    earlier: Iterable[Tensor] = (),
) -> Iterator[Piece]:
    """The pieces of an epoch whose order is known.

    Args:
        order: Of this rank.
        stream: Its samples and fillers (`plan_share`), batches of which are cut one behind the other.
        sample_map: From the dataset to the source.
        rule: The size of the batches.
        reading: How samples are read together.
        earlier: int64: ids of what was delivered of the epoch before.
    """
    num_left = stream.ids.numel() + stream.fillers.numel()
    counter = OccurrenceCounter() if sample_map.has_duplicates else None
    counted = None
    if counter is not None and stream.whole is not None and stream.places is not None:
        whole = stream.whole if order.has_stored_ids else sample_map.to_source(stream.whole)
        counted = counter.count(whole)[stream.places]
    elif counter is not None:
        for ids in earlier:
            counter.count(ids if order.has_stored_ids else sample_map.to_source(ids))
    num_open = 0  # samples of a batch that isn't full yet
    num_filled = 0  # fillers so far
    for unit in cut_units(stream, rule.batch_size, reading):
        count = unit.ids.numel()
        num_left -= count
        num_batches, num_open = divmod(num_open + count, rule.batch_size)
        batch_sizes = [rule.batch_size] * num_batches
        if num_left == 0 and num_open:
            batch_sizes.append(num_open)
        samples = unit.ids if order.has_stored_ids else sample_map.to_source(unit.ids)
        if counted is not None:
            occurrences, counted = counted[:count], counted[count:]
        else:
            occurrences = _NO_IDS if counter is None else counter.count(samples)
        if unit.is_filler:
            planned = stream.filler_occurrences[num_filled : num_filled + count]
            num_filled += count
            if counted is not None:
                occurrences = occurrences + planned
            else:  # lent ones came on another rank
                occurrences = planned if counter is None else occurrences + stream.are_lent
            occurrences = occurrences % _COUNTED
        yield Piece(
            samples=samples.contiguous(),
            occurrences=occurrences.contiguous(),
            batch_sizes=_int64(batch_sizes),
            unit_sizes=_int64([count]),
            unit_num_blocks=_int64([unit.blocks.numel()]),
            blocks=unit.blocks,
            indices=order.to_dataset(unit.ids),
            num_fillers=count if unit.is_filler else 0,
        )


def sampled_pieces(
    batches: Iterable[IndexBatch],
    sample_map: SampleMap,
    mean_bytes: float,
    num_skipped: int = 0,
    whole_batches: bool = False,
    sampler: str = "the sampler",
) -> Iterator[Piece]:
    """The pieces of an epoch that a sampler decides: one for each of its batches.

    Args:
        batches: Dataset indices of each batch.
        sample_map: From the dataset to the source.
        mean_bytes: Of an encoded sample.
        num_skipped: So many of the first batches are only counted.
        whole_batches: The samples of a batch are read together.
        sampler: What errors call what the batches come from.

    Raises:
        IndexError: An index is outside of the dataset, or a batch is empty.
        TypeError: An index is no integer.
    """
    step = unit_samples(mean_bytes)
    counter = OccurrenceCounter()
    batches = iter(batches)
    # Counted in one go: an epoch may be continued behind very many.
    skipped = [index for batch in islice(batches, num_skipped) for index in batch.indices]
    counter.count(sample_map.to_source(sample_map.checked(skipped, sampler)))
    for batch in batches:
        indices = sample_map.checked(batch.indices, sampler)
        if indices.numel() == 0:
            raise IndexError(f"{sampler} gave an empty batch")
        samples = sample_map.to_source(indices).contiguous()
        occurrences = counter.count(samples)
        together = samples.numel() if whole_batches else step
        unit_sizes = [part.numel() for part in torch.split(samples, together)]
        yield Piece(
            samples=samples,
            occurrences=occurrences,
            batch_sizes=_int64([samples.numel()]),
            unit_sizes=_int64(unit_sizes),
            unit_num_blocks=_int64([0] * len(unit_sizes)),
            blocks=_NO_IDS,
            indices=indices,
            num_fillers=batch.num_fillers,
        )


def _int64(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int64, device="cpu")
