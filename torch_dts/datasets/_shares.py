# SPDX-License-Identifier: Apache-2.0
"""How much of an epoch a rank delivers, and which of its samples it delivers once more to be equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, cast, get_args

import torch
from torch import Tensor

Uneven = Literal["fill", "exact"]


MOST_REPLICAS = 1 << 20  # of a part: the ranks' shares are listed


class Part(NamedTuple):
    """What some number of ranks did of an epoch.

    Attributes:
        num_replicas: The ranks.
        consumed: Samples that each has delivered, fillers counted.
    """

    num_replicas: int
    consumed: int


def num_left_after(num_samples: int, parts: Iterable[Part]) -> int:
    """Samples of an epoch of `num_samples` that are left after `parts`."""
    for num_replicas, consumed in parts:
        least, num_longer = divmod(num_samples, num_replicas)
        num_samples = num_longer * max(0, least + 1 - consumed) + (num_replicas - num_longer) * max(
            0, least - consumed
        )
    return num_samples


class RankShare(NamedTuple):
    """Samples that a rank delivers: the first `num_own` of its range, then `num_fillers` again.

    Attributes:
        num_own: Its own samples, each once.
        num_fillers: Samples that come once more behind them.
    """

    num_own: int
    num_fillers: int = 0

    @property
    def num_samples(self) -> int:
        """All that is delivered."""
        return self.num_own + self.num_fillers


def rank_range(num_samples: int, num_replicas: int, rank: int) -> tuple[int, int]:
    """First and end position of a rank in a stream."""
    return rank * num_samples // num_replicas, (rank + 1) * num_samples // num_replicas


def rank_share(
    num_samples: int, num_replicas: int, rank: int, drop_last: bool = False, uneven: Uneven = "fill"
) -> RankShare:
    """What a rank delivers.

    Args:
        num_samples: Of the stream that the ranks share.
        num_replicas, rank: Of how many ranks which one.
        drop_last: Each rank delivers ``num_samples // num_replicas``.
        uneven: "fill": each delivers as many as the longest, a short one its first sample
            once more. "exact": each delivers its range.
    """
    first, end = rank_range(num_samples, num_replicas, rank)
    if drop_last:
        return RankShare(num_samples // num_replicas)
    if uneven == "exact":
        return RankShare(end - first)
    longest = -(-num_samples // num_replicas)
    return RankShare(end - first, longest - (end - first))


def filler_places(num_own: int, num_fillers: int) -> tuple[Tensor, Tensor]:
    """Which of a rank's samples come once more, and as which repetition.

    Args:
        num_own: Of the rank; 0: its fillers are all one sample, of another rank.
        num_fillers: How many are needed.

    Returns:
        int64 ``[num_fillers]``: place in the order of delivery; int64 ``[num_fillers]``:
        occurrence, how often it came before in the epoch.
    """
    numbers = torch.arange(num_fillers, device="cpu")
    if num_own == 0:
        return torch.zeros_like(numbers), numbers + 1
    return numbers % num_own, 1 + numbers // num_own


def check_uneven(uneven: Any, drop_last: bool) -> Uneven:
    """`uneven`, checked.

    Raises:
        ValueError: It is neither "fill" nor "exact", or "exact" beside ``drop_last=True``.
    """
    if not isinstance(uneven, str) or uneven not in get_args(Uneven):
        raise ValueError(f"uneven is {uneven!r}, expected 'fill' or 'exact'")
    if uneven == "exact" and drop_last:
        raise ValueError(
            "uneven='exact' delivers every sample once, and drop_last=True leaves some out: give one of "
            "the two"
        )
    return cast(Uneven, uneven)
