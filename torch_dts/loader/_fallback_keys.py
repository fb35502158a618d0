# SPDX-License-Identifier: Apache-2.0
"""What goes to the dataset of a loader that works in Python: indices, each with its seed.

The seeds are a function of (seed, epoch, index, occurrence) and are made where the order is,
so that neither the number of workers nor who does a sample changes it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, Subset

from torch_dts._seeding import sample_seeds
from torch_dts.loader._batch_plan import IndexBatch
from torch_dts.loader._recognise import is_plain_concat, is_plain_subset
from torch_dts.loader._recognise_labels import NotReadable, int_tensor

_MOST_COUNTED = 1 << 26  # larger indices are counted in a dict


class Seeded(NamedTuple):
    """What the sampler gave, and a seed for each index in it.

    Attributes:
        index: A batch of indices, or one index.
        seeds: One for each index of the batch; one.
        num_fillers: The last so many items only fill the batch.
        more_seeds: As `seeds`, of view 1, 2, ...
    """

    index: Any
    seeds: list[int]
    num_fillers: int = 0
    more_seeds: tuple[list[int], ...] = ()


class SeededSampler:
    """The batches, or the single indices, of a sampler with their seeds.

    An index that is no integer (a name, say) has the seed of its position in the epoch.

    Args:
        sampler: A batch sampler, or a sampler.
        is_batched: Which of the two.
        dataset: Tells which index random choices go by (docs/format.md section 5).
        num_views: Of each sample.

    Attributes:
        seed, epoch: Of the iterations that begin from now on.
        num_skipped: So many of the sampler's first items are left out, and only counted.
        earlier: Indices that count as delivered before.
        counted_in: Indices of the epoch of all ranks, where occurrences count in it.
    """

    def __init__(self, sampler: Iterable[Any], is_batched: bool, dataset: Any, num_views: int = 1) -> None:
        self._sampler = sampler
        self._is_batched = is_batched
        self._dataset = dataset
        self._num_views = num_views
        self.seed = 0
        self.epoch = 0
        self.num_skipped = 0
        self.earlier: Iterable[Tensor] = ()
        self.counted_in: Tensor | None = None

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Seeded]:
        # No generator: seed and epoch are those of now. torch begins an iteration twice.
        return self._seeded(iter(self._sampler), self.seed, self.epoch)

    def _seeded(self, given: Iterator[Any], seed: int, epoch: int) -> Iterator[Seeded]:
        choices = choice_indices(self._dataset)
        counts = Occurrences()
        position = 0
        num_skipped = self.num_skipped
        whole = None
        if self.counted_in is not None:
            whole = np.asarray(counts.count(_chosen(self.counted_in.numpy(), choices)))
        for indices in self.earlier:
            counts.count(_chosen(indices.numpy(), choices))
            position += indices.numel()
        for number, index in enumerate(given):
            planned = index if isinstance(index, IndexBatch) else None
            num_fillers = 0 if planned is None else planned.num_fillers
            if planned is not None:
                items = planned.indices
                index = items if self._is_batched else items[0]
            elif self._is_batched:
                index, items = _items(index)
            else:
                items = [index]
            numbers = _numbers(items, position, choices)
            position += len(items)
            if planned is not None and planned.places is not None and whole is not None:
                occurrences = whole[planned.places.numpy()]
                if num_fillers and planned.filler_occurrences is not None:
                    occurrences[-num_fillers:] += planned.filler_occurrences.numpy()
            else:
                occurrences = counts.count(numbers)
            if number < num_skipped:
                continue
            if planned is not None and planned.num_before and num_fillers:
                occurrences = np.asarray(occurrences)
                occurrences[-num_fillers:] += planned.num_before
            first, *more = (
                sample_seeds(numbers, occurrences, seed, epoch, view) for view in range(self._num_views)
            )
            yield Seeded(index, first, num_fillers, tuple(more))


def _items(batch: Any) -> tuple[Any, list[Any]]:
    """The batch, and the indices in it; an iterator, which gives them once, is replaced by a list."""
    if type(batch) is list:
        return batch, batch
    try:
        items = list(batch)
    except TypeError:  # the dataset knows what it is
        return batch, [batch]
    return (items if isinstance(batch, Iterator) else batch), items


def _numbers(items: list[Any], position: int, choices: Tensor | None) -> np.ndarray[Any, Any]:
    """int64 ``[n]``: the index that the random choices of each item go by."""
    try:
        if set(map(type, items)) - {int}:
            items = [operator.index(item) for item in items]
        numbers = np.array(items, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        return np.arange(position, position + len(items), dtype=np.int64)
    return _chosen(numbers, choices)


def _chosen(numbers: np.ndarray[Any, Any], choices: Tensor | None) -> np.ndarray[Any, Any]:
    if choices is None or not len(numbers):
        return numbers
    if -choices.numel() <= numbers.min() and numbers.max() < choices.numel():
        chosen: np.ndarray[Any, Any] = choices.numpy()[numbers]
        return chosen
    return numbers  # the dataset will say that there is no such sample


class Occurrences:
    """Counts how often each index came before."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.uint16)  # modulo 2^16, as the format has it
        self._others: dict[int, int] = {}

    def count(self, numbers: np.ndarray[Any, Any]) -> Any:
        """int64 ``[n]``: for each of `numbers`, how often it came in this and earlier calls."""
        is_small = (numbers >= 0) & (numbers < _MOST_COUNTED)
        if not is_small.all():
            return [self._count_one(number) for number in numbers.tolist()]
        return self._count_small(numbers) if len(numbers) else numbers

    def _count_small(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if numbers.max() >= len(self._counts):
            self._counts.resize(max(2 * len(self._counts), int(numbers.max()) + 1), refcheck=False)
        before: np.ndarray[Any, Any] = self._counts[numbers].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        starts = np.flatnonzero(is_first)
        if len(starts) < len(numbers):  # some come more than once in this batch
            before[order] += np.arange(len(numbers)) - starts[np.cumsum(is_first) - 1]
        np.add.at(self._counts, numbers, 1)
        return before

    def _count_one(self, number: int) -> int:
        if 0 <= number < _MOST_COUNTED:
            return int(self._count_small(np.array([number]))[0])
        before = self._others.get(number, 0)
        self._others[number] = before + 1
        return before


def choice_indices(dataset: Any) -> Tensor | None:
    """int64 ``[len(dataset)]``: the index that random choices go by; None: the dataset's own.

    In a Subset it is that of the dataset below; in a ConcatDataset the datasets below its
    parts are counted one behind the other.
    """
    if is_plain_subset(dataset):
        return _of_subset(dataset)
    if is_plain_concat(dataset):
        return _of_concat(dataset)
    return None


def _of_subset(dataset: Subset[Any]) -> Tensor | None:
    below = choice_indices(dataset.dataset)
    try:
        length = _length(dataset.dataset) if below is None else below.numel()
        indices = int_tensor(dataset.indices, "the indices")
    except (NotReadable, TypeError, NotImplementedError):
        return None
    indices = torch.where(indices < 0, indices + length, indices)
    if indices.numel() and (indices.min() < 0 or indices.max() >= length):
        return None
    return indices if below is None else below[indices]


def _of_concat(dataset: ConcatDataset[Any]) -> Tensor | None:
    parts = [choice_indices(part) for part in dataset.datasets]
    if all(part is None for part in parts):
        return None
    starts = [0, *accumulate(map(_extent, dataset.datasets))]
    lengths = map(_length, dataset.datasets)
    whole = [
        torch.arange(length, device="cpu") if part is None else part
        for part, length in zip(parts, lengths, strict=True)
    ]
    return torch.cat([part + start for part, start in zip(whole, starts, strict=False)])


def _length(dataset: Any) -> int:
    return len(dataset)


def _extent(dataset: Any) -> int:
    """How many samples the datasets below have."""
    if is_plain_subset(dataset):
        return _extent(dataset.dataset)
    if is_plain_concat(dataset):
        return sum(map(_extent, dataset.datasets))
    return _length(dataset)
