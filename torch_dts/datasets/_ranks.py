# SPDX-License-Identifier: Apache-2.0
"""Which of how many ranks this process is."""

from __future__ import annotations

import torch.distributed as dist
from torch.utils.data import get_worker_info

from torch_dts.datasets._stream import check_int

Ranks = tuple[int, int]  # number of replicas, rank


class RankChoice:
    """What the caller asked for, and what that means now.

    A process group may be made after the dataset, so with nothing asked for the answer
    is looked up each time. Spawned worker processes have no process group: the answer of
    the process that pickled this travels with it.
    """

    def __init__(self, num_replicas: int | None, rank: int | None) -> None:
        """Takes both or neither.

        Raises:
            ValueError: Only one is given, `num_replicas` is below 1, or `rank` is outside
                of ``[0, num_replicas)``.
        """
        self.asked = _checked(num_replicas, rank)
        self._pickled: Ranks | None = None

    def now(self) -> Ranks:
        """``(num_replicas, rank)``; ``(1, 0)`` where nothing was asked for and no group exists."""
        if self.asked is not None:
            return self.asked
        if dist.is_available() and dist.is_initialized():
            return dist.get_world_size(), dist.get_rank()
        if self._pickled is not None and get_worker_info() is not None:
            return self._pickled
        return 1, 0

    def learn(self, ranks: Ranks | None) -> None:
        """What this worker process was told; None: nothing."""
        if ranks is not None:
            self._pickled = ranks

    def describe(self) -> str:
        """Says rank, number of ranks and where they come from; "" for a single rank."""
        num_replicas, rank = self.now()
        if self.asked is None and num_replicas == 1:
            return ""
        source = "as given" if self.asked is not None else "from torch.distributed"
        return f"Rank: {rank} of {num_replicas} ({source})"

    def __getstate__(self) -> dict[str, Ranks | None]:
        return {"asked": self.asked, "_pickled": self.now()}


def _checked(num_replicas: int | None, rank: int | None) -> Ranks | None:
    if num_replicas is None and rank is None:
        return None
    if num_replicas is None or rank is None:
        raise ValueError(
            f"num_replicas is {num_replicas!r} and rank is {rank!r}: give both, or neither to use "
            "torch.distributed where it is initialised"
        )
    num_replicas = check_int("num_replicas", num_replicas, "an int or None")
    rank = check_int("rank", rank, "an int or None")
    if not 1 <= num_replicas < 2**31:
        raise ValueError(f"Invalid num_replicas {num_replicas}, expected at least 1 and below 2147483648")
    if not 0 <= rank < num_replicas:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
    return num_replicas, rank
