# SPDX-License-Identifier: Apache-2.0
"""A DTSIterableDataset for a loader that works in Python: dealt to its workers batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from torch_dts.datasets import DTSIterableDataset
from torch_dts.datasets._chunks import Share
from torch_dts.loader._batch_plan import BatchRule, plan_share
from torch_dts.loader._order import Order


class BatchedStream(IterableDataset[Any]):
    """The samples of a DTSIterableDataset as a native loader would deliver them.

    Each worker makes whole batches of the order, so that their number changes nothing.

    Args:
        dataset: The user's.
        order: Of the rank.
        rule: How batches are made.
        with_mask: Each item ends with False where it only fills a batch, else True.
    """

    def __init__(self, dataset: DTSIterableDataset, order: Order, rule: BatchRule, with_mask: bool) -> None:
        self.dataset = dataset
        self._share = plan_share(order, rule)
        self._batch_size = rule.batch_size
        self._with_mask = with_mask

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, num_workers = (0, 1) if info is None else (info.id, info.num_workers)
        items = self.dataset._begin(Share(worker, num_workers, self._batch_size), self._share)
        return self._masked(items, worker, num_workers) if self._with_mask else items

    def _masked(self, items: Iterator[tuple[Any, Any]], worker: int, num_workers: int) -> Iterator[Any]:
        size = self._batch_size
        for first in range(worker * size, self._share.num_samples, num_workers * size):
            for position in range(first, min(first + size, self._share.num_samples)):
                yield (*next(items), position < self._share.num_own)


def is_stream(dataset: Any) -> bool:
    """Whether a dataset delivers what a DTSIterableDataset does, by its own ``__iter__``."""
    return isinstance(dataset, DTSIterableDataset) and type(dataset).__iter__ is DTSIterableDataset.__iter__
