# SPDX-License-Identifier: Apache-2.0
"""Process groups that are made too late, or not at all, for a dataset that asks them for its ranks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch.distributed as dist
from torch.utils.data import get_worker_info

if TYPE_CHECKING:
    from torch_dts.datasets._epochs import EpochClock
    from torch_dts.datasets._ranks import RankChoice


class GroupWatch:
    """Warns of epochs that were meant to be shared and aren't.

    Args:
        ranks: Of the dataset.
        clock: Of the dataset; its board reaches the workers.
    """

    def __init__(self, ranks: RankChoice, clock: EpochClock) -> None:
        self._ranks = ranks
        self._clock = clock
        self._has_warned = False

    def begin(self, environ: Mapping[str, str] = os.environ) -> None:
        """An epoch begins in this process: here, or here for all workers of a loader."""
        info = get_worker_info()
        if self._ranks.asked is not None or _has_group():
            return
        if info is not None:
            self._ranks.learn(self._clock.ranks)
        if self._ranks.now() != (1, 0):
            return
        self._clock.note_alone()
        text = environ.get("WORLD_SIZE", "")
        if text.isdigit() and int(text) > 1 and (info is None or info.id == 0):
            self._warn(
                f"WORLD_SIZE is {text}, but torch.distributed is not initialised: each process delivers all "
                "samples. Call init_process_group before the first epoch, or give num_replicas and rank"
            )

    def look(self) -> None:
        """Looks for a group, where the process that makes the workers comes by."""
        if self._ranks.asked is not None or not _has_group() or get_worker_info() is not None:
            return
        num_replicas, rank = self._ranks.now()
        if num_replicas == 1:
            return
        self._clock.tell_ranks(num_replicas, rank)
        if self._clock.was_alone:
            self._warn(
                "the dataset was iterated before the process group was made: each rank had all samples then. "
                f"From the next epoch on this is rank {rank} of {num_replicas}"
            )

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(text, stacklevel=4)


def _has_group() -> bool:
    return dist.is_available() and dist.is_initialized()
