# SPDX-License-Identifier: Apache-2.0
"""Ranks whose loaders have different seeds are told so."""

from __future__ import annotations

from torch_dts.datasets._agreement import require_same
from torch_dts.loader._order import Order


def require_same_seed(order: Order, seed: int, num_devices: int = 1) -> None:
    """Compares this process's seed and shuffle window with those of the ranks before it.

    Does nothing where torch.distributed is not initialised with as many processes as the order has.

    Args:
        order: Of the process's first device.
        seed: Of the order.
        num_devices: Of each process; each is a rank of the order.

    Raises:
        ValueError: Another rank has another seed or window.
    """
    fingerprint = "" if order.file is None else order.file.fingerprint
    require_same(
        f"seed/{order.num_samples}/{fingerprint}/{order.shuffle}",
        f"seed {seed % 2**64}, shuffle_window {order.shuffle_window or 'all'}",
        order.num_replicas // num_devices,
        order.rank // num_devices,
    )
