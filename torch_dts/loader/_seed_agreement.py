# SPDX-License-Identifier: Apache-2.0
"""Ranks that share an epoch need one seed: with two, some samples would come twice and others never.

Compared through the process group's key-value store: whoever comes first writes its seed
down, the others read it. No rank waits for another.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch.distributed as dist

from torch_dts.loader._order import Order

# How many loaders of a kind this process has begun: the same on all ranks of one program.
_begun: Counter[str] = Counter()


def require_same_seed(order: Order, seed: int) -> None:
    """Compares this rank's seed and shuffle window with those of the ranks before it.

    Does nothing where torch.distributed is not initialised with as many ranks as the order has.

    Raises:
        ValueError: Another rank has another seed or window.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() != order.num_replicas:
        return
    store = _store()
    if store is None:
        return
    fingerprint = "" if order.file is None else order.file.fingerprint
    kind = f"torch_dts/seed/{order.num_samples}/{fingerprint}/{order.shuffle}"
    mine = f"seed {seed % 2**64}, shuffle_window {order.shuffle_window or 'all'}"
    number = _begun[kind]
    _begun[kind] += 1
    first = store.compare_set(f"{kind}/{number}", "", mine).decode()
    if first != mine:
        raise ValueError(
            f"rank {order.rank} has {mine}, but another rank has {first}: ranks that share a data set need "
            "the same, or some samples come twice and others never"
        )


def _store() -> Any:
    """The store of the default process group; None where this torch has none to give."""
    get = getattr(dist.distributed_c10d, "_get_default_store", None)
    return None if get is None else get()
