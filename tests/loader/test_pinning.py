# SPDX-License-Identifier: Apache-2.0
"""Workers have CPUs of their own while there are enough."""

from __future__ import annotations

import os
import pathlib
import threading
from typing import Any

import pytest
from loader_sets import FIXED, hashes

import torch_dts
from torch_dts import _native
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._pinning import cpus_of_workers


@pytest.mark.parametrize("num_cpus", [1, 2, 3, 6, 8, 12])
@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 8])
def test_no_cpu_comes_twice_while_there_are_enough(num_ranks: int, num_cpus: int) -> None:
    cpus = [10 + number for number in range(num_cpus)]
    taken = []
    for rank in range(num_ranks):
        environ = {"LOCAL_WORLD_SIZE": str(num_ranks), "LOCAL_RANK": str(rank)}
        own = cpus_of_workers(num_cpus, cpus, environ)
        assert sorted(own) == cpus  # where the launcher has given each rank CPUs of its own
        taken += own[: num_cpus // num_ranks]
        assert cpus_of_workers(3 * num_cpus, cpus, environ).count(10) == 3
    assert len(set(taken)) == len(taken)


def test_ranks_take_cpus_in_turn() -> None:
    environ = {"LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    nodes = [0, 4, 1, 5, 2, 6, 3, 7]  # CPUs 0 to 3 in one NUMA node, 4 to 7 in the other
    assert cpus_of_workers(4, nodes, environ) == (4, 5, 6, 7)
    assert cpus_of_workers(4, nodes, {"LOCAL_RANK": "nonsense"}) == (0, 4, 1, 5)
    assert cpus_of_workers(0, nodes, {}) == ()
    assert cpus_of_workers(5, [4, 6], {}) == (4, 6, 4, 6, 4)


def worker_threads() -> set[int]:
    return {
        int(task.name)
        for task in pathlib.Path("/proc/self/task").iterdir()
        if (task / "comm").read_text().startswith("dts-work")
    }


def cpus_of_worker_threads(expected: int, others: set[int]) -> list[tuple[int, ...]]:
    """What each but `others` is bound to, as soon as they are all there."""
    for _ in range(500):
        found = [tuple(os.sched_getaffinity(thread)) for thread in worker_threads() - others]
        if len(found) == expected:
            break
        threading.Event().wait(0.01)
    return sorted(found)


@pytest.mark.skipif(
    not pathlib.Path("/proc/self/task").is_dir(), reason="this system lists no threads in /proc"
)
@pytest.mark.parametrize("devices", [None, ["cpu", "cpu"], ["cpu", "cpu", "cpu"]])
def test_threads_are_where_they_should_be(devices: list[Any] | None, blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    arguments: dict[str, Any] = {"batch_size": 3, "num_workers": 5, "devices": devices}
    free, bound = DataLoader(dataset, **arguments), DataLoader(dataset, pin_threads=True, **arguments)
    others = worker_threads()  # of loaders that earlier tests have left
    batches = iter(bound)
    steps = [next(batches)]
    cpus = _native.cpus_for_threads()
    assert cpus_of_worker_threads(5, others) == sorted((cpus[worker % len(cpus)],) for worker in range(5))
    steps += batches
    for number in range(len(devices or [0])):
        got, expected = ([step[number] if devices else step for step in each] for each in (steps, free))
        assert hashes(got) == hashes(expected)
    options = [engine.options.cpus for engine in bound._run._engines._idle]
    assert sorted(options) == sorted(
        tuple(cpus[worker % len(cpus)] for worker in range(first, 5, len(devices or [0])))
        for first in range(len(devices or [0]))
    )
    bound.close()
    free.close()
