# SPDX-License-Identifier: Apache-2.0
"""Threads for a conversion: bounded work in flight, first error stops all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    num_threads: int,
    on_result: Callable[[Task, Result], None],
) -> None:
    """Calls function(task) on `num_threads` threads.

    `on_result` is called by the calling thread, in the order in which tasks end. At most
    2 * num_threads tasks are under way. The first exception of a task or of `on_result`,
    or KeyboardInterrupt, is raised after the tasks that run have ended; no other starts.
    """
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="torch_dts.convert")
    running: dict[Future[Result], Task] = {}

    def take_finished() -> None:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            on_result(running.pop(future), future.result())

    try:
        for task in tasks:
            if len(running) >= 2 * num_threads:
                take_finished()
            running[pool.submit(function, task)] = task
        while running:
            take_finished()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
