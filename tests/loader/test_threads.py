# SPDX-License-Identifier: Apache-2.0
"""The default number of threads, on made-up machines."""

from __future__ import annotations

import math
import os
import pathlib

import pytest

from torch_dts.loader import _threads
from torch_dts.loader._threads import (
    cpu_quota,
    default_num_workers,
    default_reader_threads,
    usable_cpus,
    useful_workers,
)


@pytest.fixture
def cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lets this process use 64 CPUs."""
    monkeypatch.setattr(_threads.os, "sched_getaffinity", lambda _: set(range(64)), raising=False)


def unified(root: pathlib.Path, path: str, **quotas: str) -> str:
    """A tree with groups "a" and "a/b" of version 2; quotas by group name ("top", "a", "b")."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"0::{path}\n")
    top = root / "sys/fs/cgroup"
    (top / "a/b").mkdir(parents=True)
    (top / "cgroup.procs").write_text("")
    folders = {"top": top, "a": top / "a", "b": top / "a/b"}
    for name, quota in quotas.items():
        (folders[name] / "cpu.max").write_text(quota + "\n")
    return str(root)


@pytest.mark.parametrize(
    ("path", "quotas", "expected"),
    [
        ("/a/b", {"b": "200000 100000"}, 2),
        ("/a/b", {"b": "max 100000", "a": "150000 100000"}, 2),  # part of a CPU counts as one
        ("/a/b", {"b": "800000 100000", "top": "300000 100000"}, 3),
        ("/a", {"b": "100000 100000"}, math.inf),  # of another group
        ("/not/mounted/here", {"top": "400000 100000"}, 4),  # the host's path inside a container
        ("/../a", {"top": "400000 100000", "a": "100000 100000"}, 4),
        ("/a/b", {"b": "50000 200000"}, 1),
        ("/a/b", {"b": ""}, math.inf),
        ("/a/b", {"b": "nonsense"}, math.inf),
    ],
)
def test_quota_of_version_2(
    tmp_path: pathlib.Path, path: str, quotas: dict[str, str], expected: float
) -> None:
    assert cpu_quota(unified(tmp_path, path, **quotas)) == expected


@pytest.mark.parametrize(("quota", "expected"), [("250000", 3), ("-1", math.inf), ("0", math.inf)])
def test_quota_of_version_1(tmp_path: pathlib.Path, quota: str, expected: float) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("5:memory:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/\n")
    group = tmp_path / "sys/fs/cgroup/cpu,cpuacct/x"
    group.mkdir(parents=True)
    (group.parent / "cgroup.procs").write_text("")
    (group / "cpu.cfs_quota_us").write_text(quota)
    (group / "cpu.cfs_period_us").write_text("100000")
    assert cpu_quota(str(tmp_path)) == expected


def test_no_groups_no_quota(tmp_path: pathlib.Path) -> None:
    assert cpu_quota(str(tmp_path)) == math.inf


@pytest.mark.usefixtures("cpus")
@pytest.mark.parametrize(
    ("quota", "ranks", "expected"),
    [
        ("max 100000", None, 64),
        ("200000 100000", None, 2),
        ("200000 100000", "4", 1),
        ("max 100000", "8", 8),
        ("max 100000", "3", 21),
        ("max 100000", "nonsense", 64),
        ("max 100000", "0", 64),
    ],
)
def test_workers_from_affinity_quota_and_ranks(
    tmp_path: pathlib.Path, quota: str, ranks: str | None, expected: int
) -> None:
    environ = {} if ranks is None else {"LOCAL_WORLD_SIZE": ranks}
    assert default_num_workers(unified(tmp_path, "/a/b", b=quota), environ) == expected


@pytest.mark.usefixtures("cpus")
@pytest.mark.parametrize(
    ("quota", "expected"), [("max 100000", 64), ("250000 100000", 3), ("1000 100000", 1)]
)
def test_cpus_of_this_process(tmp_path: pathlib.Path, quota: str, expected: int) -> None:
    assert usable_cpus(unified(tmp_path, "/a/b", b=quota)) == expected


@pytest.mark.parametrize(
    ("num_workers", "num_devices", "num_cpus", "expected"),
    [(256, 1, 2, 2), (2, 1, 64, 2), (1, 1, 1, 1), (0, 1, 8, 0), (16, 4, 2, 4), (3, 4, 2, 3), (16, 4, 8, 8)],
)
def test_no_more_workers_than_cpus(num_workers: int, num_devices: int, num_cpus: int, expected: int) -> None:
    assert useful_workers(num_workers, num_devices, num_cpus) == expected


def test_workers_of_this_machine() -> None:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert 1 <= default_num_workers(environ={}) <= usable


@pytest.mark.parametrize(
    ("has_blocks", "num_workers", "expected"), [(True, 16, 1), (False, 0, 1), (False, 2, 2), (False, 64, 4)]
)
def test_readers(has_blocks: bool, num_workers: int, expected: int) -> None:
    assert default_reader_threads(has_blocks, num_workers) == expected
