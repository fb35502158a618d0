# SPDX-License-Identifier: Apache-2.0
"""``order="elastic"``: batches of all ranks together that are the same for any number of ranks.

The ranks go through one stream side by side: with G samples in a step of all ranks, step s is
positions s*G to (s+1)*G of it, of which each rank has its batch. What is left behind the last
whole step is shared as any stream is (docs/format.md section 5).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, get_args

import torch
from torch import Tensor

from torch_dts.datasets._shares import RankShare, Uneven, filler_places, rank_range, rank_share

OrderKind = Literal["shuffled", "elastic"]


class Steps(NamedTuple):
    """How ranks go through a stream side by side.

    Attributes:
        first: Position in the stream where they begin.
        num_samples: From there on.
        batch_size: Samples of a rank's batch.
        num_replicas: The ranks.
    """

    first: int
    num_samples: int
    batch_size: int
    num_replicas: int

    @property
    def num_whole(self) -> int:
        """Samples of each rank in whole steps."""
        return self.num_samples // (self.batch_size * self.num_replicas) * self.batch_size

    @property
    def num_tail(self) -> int:
        """Samples behind the whole steps, of all ranks together."""
        return self.num_samples - self.num_whole * self.num_replicas

    def share(self, rank: int, drop_last: bool, uneven: Uneven) -> RankShare:
        """What a rank delivers."""
        num_own, num_fillers = rank_share(self.num_tail, self.num_replicas, rank, drop_last, uneven)
        return RankShare(self.num_whole + num_own, num_fillers)

    def places(self, rank: int) -> Tensor:
        """int64: positions in the stream of what is a rank's own, in the order of delivery."""
        size = self.batch_size
        steps = torch.arange(self.num_whole // size, device="cpu") * (size * self.num_replicas)
        whole = steps[:, None] + torch.arange(rank * size, (rank + 1) * size, device="cpu")
        first, end = rank_range(self.num_tail, self.num_replicas, rank)
        tail = torch.arange(first, end, device="cpu") + self.num_whole * self.num_replicas
        return self.first + torch.cat([whole.flatten(), tail])

    def fillers(self, rank: int, share: RankShare) -> tuple[Tensor, Tensor]:
        """Positions in the stream, and occurrences, of a rank's fillers: samples of its tail again."""
        num_own = share.num_own - self.num_whole
        numbers, occurrences = filler_places(num_own, share.num_fillers)
        start = rank_range(self.num_tail, self.num_replicas, rank)[0]
        return self.first + self.num_whole * self.num_replicas + start + numbers, occurrences


def check_order(order: Any) -> OrderKind:
    """`order`, checked.

    Raises:
        ValueError: It is neither "shuffled" nor "elastic".
    """
    if not isinstance(order, str) or order not in get_args(OrderKind):
        raise ValueError(f"order is {order!r}, expected 'shuffled' or 'elastic'")
    return cast(OrderKind, order)
