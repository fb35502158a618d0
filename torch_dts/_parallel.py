# SPDX-License-Identifier: Apache-2.0
"""Bounded work in threads, results in order.

The native calls release the interpreter lock, so threads are enough.
"""

from __future__ import annotations

import operator
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_READERS = 8  # a disk or the memory bus is the limit long before more help


def check_num_workers(num_workers: int | None, most: int = MOST_READERS) -> int:
    """`num_workers` itself (0 counts as 1), or for None the CPUs this process may use, `most` at most.

    Raises:
        ValueError: It is below 0.
        TypeError: It is no integer.
    """
    if num_workers is None:
        return min(most, _usable_cpus())
    # Bools of NumPy and torch are numbers to operator.index in some versions.
    is_bool = isinstance(num_workers, bool) or "bool" in str(getattr(num_workers, "dtype", ""))
    try:
        if is_bool:
            raise TypeError
        number = operator.index(num_workers)
    except TypeError:
        raise TypeError(f"num_workers is {num_workers!r}, expected an int or None") from None
    if number < 0:
        raise ValueError(f"num_workers is {number}, expected at least 0")
    return max(1, number)


def map_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], num_workers: int
) -> Iterator[tuple[Item, Result]]:
    """Yields ``(item, work(item))`` in the order of `items`, worked on in threads.

    At most ``2 * num_workers`` items are begun and not yet taken. The first exception
    of `work` comes out here; items not yet begun are then dropped, as they are when the
    caller stops early, and those that run are waited for.
    """
    with ThreadPoolExecutor(num_workers, thread_name_prefix="torch_dts") as pool:
        pending: deque[tuple[Item, Future[Result]]] = deque()
        try:
            for item in items:
                pending.append((item, pool.submit(work, item)))
                if len(pending) >= 2 * num_workers:
                    item, future = pending.popleft()
                    yield item, future.result()
            while pending:
                item, future = pending.popleft()
                yield item, future.result()
        finally:
            for _, future in pending:
                future.cancel()


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
