# SPDX-License-Identifier: Apache-2.0
"""Ranks that share an epoch need one seed and one epoch: else some samples come twice and others never.

Compared through the process group's key-value store: whoever comes first writes its seed
down, the others read it. No rank waits for another.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch.distributed as dist

# How many of a kind this process has begun: the same on all ranks of one program.
_begun: Counter[str] = Counter()


def require_same(kind: str, mine: str, num_replicas: int, rank: int) -> None:
    """Compares what this rank has with what the ranks before it have.

    Does nothing where torch.distributed is not initialised with as many ranks.

    Args:
        kind: What it is about; the n-th of a kind is compared with the n-th on other ranks.
        mine: Seed and what else must be equal, in words.
        num_replicas, rank: Who shares the epoch.

    Raises:
        ValueError: Another rank has something else.
    """
    first = found_elsewhere(kind, mine, num_replicas, rank)
    if first is not None:
        raise ValueError(
            f"rank {rank} has {mine}, but another rank has {first}: ranks that share a data set need "
            "the same, or some samples come twice and others never"
        )


def found_elsewhere(kind: str, mine: str, num_replicas: int, rank: int) -> str | None:
    """What another rank has, if it isn't what this one has; None: the same, or nothing yet.

    Args: as of `require_same`.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() != num_replicas:
        return None
    store = _store()
    if store is None:
        return None
    number = _begun[kind]
    _begun[kind] += 1
    first = store.compare_set(f"torch_dts/{kind}/{number}", "", mine).decode()
    return None if first == mine else first


def _store() -> Any:
    """The store of the default process group; None where this torch has none to give."""
    get = getattr(dist.distributed_c10d, "_get_default_store", None)
    return None if get is None else get()
