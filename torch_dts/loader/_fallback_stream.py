# SPDX-License-Identifier: Apache-2.0
"""A DTSIterableDataset for a loader that works in Python: dealt to its workers batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from torch_dts.datasets import DTSIterableDataset
from torch_dts.datasets._chunks import Share
from torch_dts.datasets._shares import Part, RankShare
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
        resumed: An epoch, and the order of what is left of it.
    """

    def __init__(
        self,
        dataset: DTSIterableDataset,
        order: Order,
        rule: BatchRule,
        with_mask: bool,
        resumed: tuple[int, Order] | None = None,
    ) -> None:
        self.dataset = dataset
        self._order = order
        self._rule = rule
        self._with_mask = with_mask
        self._resumed = resumed

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, num_workers = (0, 1) if info is None else (info.id, info.num_workers)
        order, share = self._order, plan_share(self._order, self._rule)

        def plan(epoch: int) -> tuple[tuple[Part, ...], RankShare]:
            nonlocal order, share
            if self._resumed is not None and self._resumed[0] == epoch:
                order = self._resumed[1]
                share = plan_share(order, self._rule)
            return (*order.before, Part(order.num_replicas, order.num_skipped)), share

        items = self.dataset._begin(Share(worker, num_workers, self._rule.batch_size), plan)
        if not self._with_mask:
            return items
        first = order.num_skipped
        return self._masked(items, share.num_samples - first, share.num_own - first, worker, num_workers)

    def _masked(
        self, items: Iterator[Any], num_samples: int, num_own: int, worker: int, num_workers: int
    ) -> Iterator[Any]:
        size = self._rule.batch_size
        for first in range(worker * size, num_samples, num_workers * size):
            for position in range(first, min(first + size, num_samples)):
                yield (*next(items), position < num_own)


def is_stream(dataset: Any) -> bool:
    """Whether a dataset delivers what a DTSIterableDataset does, by its own ``__iter__``."""
    return isinstance(dataset, DTSIterableDataset) and type(dataset).__iter__ is DTSIterableDataset.__iter__
