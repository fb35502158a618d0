# SPDX-License-Identifier: Apache-2.0
"""The thread pool: everything done, first error stops, nothing runs on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from torch_dts.convert._pool import run_tasks


@pytest.mark.parametrize("num_threads", [1, 4])
def test_every_task_once(num_threads: int) -> None:
    results: dict[int, int] = {}
    run_tasks(lambda task: task * task, range(50), num_threads, results.__setitem__)
    assert results == {task: task * task for task in range(50)}


def test_results_are_taken_by_the_caller() -> None:
    names = set()
    run_tasks(lambda task: task, range(5), 2, lambda *_: names.add(threading.current_thread().name))
    assert names == {threading.current_thread().name}


def test_no_task() -> None:
    run_tasks(lambda task: task, [], 2, lambda *_: pytest.fail("nothing to take"))


def test_work_in_flight_is_bounded() -> None:
    taken: list[int] = []
    most = 0

    def tasks() -> Iterator[int]:
        nonlocal most
        for task in range(40):
            yield task
            most = max(most, task + 1 - len(taken))

    run_tasks(lambda task: task, tasks(), 3, lambda task, _: taken.append(task))
    assert sorted(taken) == list(range(40))
    assert most <= 6


def test_the_first_error_stops_the_rest() -> None:
    begun: list[int] = []

    def work(task: int) -> None:
        begun.append(task)
        if task == 3:
            raise ValueError(f"task {task}")

    before = threading.active_count()
    with pytest.raises(ValueError, match="task 3"):
        run_tasks(work, range(1000), 2, lambda *_: None)
    assert len(begun) < 20
    assert threading.active_count() == before


def test_an_interrupt_of_the_caller_stops_the_rest() -> None:
    begun: list[int] = []

    def interrupt(task: int, _: None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        run_tasks(begun.append, range(1000), 2, interrupt)
    assert len(begun) < 20
