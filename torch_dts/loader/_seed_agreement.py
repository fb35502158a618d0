# SPDX-License-Identifier: Apache-2.0
"""Ranks whose loaders have different seeds are told so."""

from __future__ import annotations

from torch_dts.datasets._agreement import require_same
from torch_dts.loader._order import Order


def require_same_seed(order: Order, seed: int, num_devices: int = 1) -> None:
    """Compares what decides this process's order with that of the ranks before it.

    That is seed, shuffle window, and where they aren't the usual ones order and rules for uneven ranks.

    Does nothing where torch.distributed is not initialised with as many processes as the order has.

    Args:
        order: Of the process's first device.
        seed: Of the order.
        num_devices: Of each process; each is a rank of the order.

    Raises:
        ValueError: Another rank has another one.
    """
    said = [f"seed {seed % 2**64}", f"shuffle_window {order.shuffle_window or 'all'}"]
    if order.elastic_batch:
        said.append(f"order elastic with batch_size {order.elastic_batch}")
    if order.uneven != "fill":
        said.append(f"uneven {order.uneven}")
    if order.drop_last:
        said.append("drop_last")
    require_same(f"seed/{kind_of(order)}", ", ".join(said), *processes_of(order, num_devices))


def kind_of(order: Order) -> str:
    """The data of an order, by which loaders of other ranks are found."""
    fingerprint = "" if order.file is None else order.file.fingerprint
    return f"{order.num_samples}/{fingerprint}/{order.shuffle}"


def processes_of(order: Order, num_devices: int) -> tuple[int, int]:
    """The number of processes that share an order, and which of them this is."""
    return order.num_replicas // num_devices, order.rank // num_devices
