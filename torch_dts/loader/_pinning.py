# SPDX-License-Identifier: Apache-2.0
"""Which CPU each worker thread is bound to (``pin_threads=True``)."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping, Sequence

from torch_dts import _native
from torch_dts.loader._threads import num_local_ranks


def cpus_of_workers(
    num_workers: int, cpus: Sequence[int] | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[int, ...]:
    """The CPU of each worker of a process.

    Each has one of its own while there are enough. torchrun's local ranks take them in turn,
    in case they share them, so that with two ranks and two NUMA nodes each rank has a node.

    Args:
        num_workers: Of all engines of the process.
        cpus: Those to be had, in the order to take them; None: those of this process.
        environ: The environment: ``LOCAL_WORLD_SIZE`` and ``LOCAL_RANK``.
    """
    cpus = _cpus_of_process(os.getpid()) if cpus is None else cpus
    num_ranks = num_local_ranks(environ)
    text = environ.get("LOCAL_RANK", "0")
    rank = int(text) % num_ranks if text.isdigit() else 0
    # Every num_ranks-th one; where they come round to the first, from the next one on.
    num_rounds = math.gcd(num_ranks, len(cpus))
    round_length = len(cpus) // num_rounds
    places = (
        rank + worker * num_ranks + worker // round_length % num_rounds for worker in range(num_workers)
    )
    return tuple(cpus[place % len(cpus)] for place in places)


@functools.lru_cache(maxsize=1)
def _cpus_of_process(pid: int) -> tuple[int, ...]:
    return tuple(_native.cpus_for_threads())


def cpus_near(pci_bus_id: str, num_workers: int) -> tuple[int, ...]:
    """As `cpus_of_workers`, of the CPUs beside a device."""
    return cpus_of_workers(num_workers, _native.cpus_for_threads(pci_bus_id))
