# SPDX-License-Identifier: Apache-2.0
"""How many threads a loader gets when nobody says."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from torch_dts.loader._cgroup import Group, groups_of


def default_num_workers(root: str = "/", environ: Mapping[str, str] = os.environ) -> int:
    """The CPUs this process may use, divided by the ranks on this machine; at least 1.

    CPUs count by the process's affinity and by the quotas of its control groups, a part of
    a CPU as a whole one. The number of ranks is torchrun's ``LOCAL_WORLD_SIZE``.

    Args:
        root: Where ``proc`` and ``sys`` are looked for.
        environ: The environment.
    """
    return max(1, usable_cpus(root) // num_local_ranks(environ))


def usable_cpus(root: str = "/") -> int:
    """The CPUs this process may use, by its affinity and the quotas of its control groups; at least 1."""
    return max(1, int(min(_allowed_cpus(), cpu_quota(root))))


def useful_workers(num_workers: int, num_devices: int, num_cpus: int) -> int:
    """How many of `num_workers` threads can decode at the same time.

    Decoding never waits for anything but a CPU: threads beyond those would take turns on it, each with
    tables and pixels of its own in the cache. Each device keeps at least one.
    """
    return min(num_workers, max(num_cpus, num_devices))


def default_reader_threads(has_blocks: bool, num_workers: int) -> int:
    """Threads that read: one disk stream keeps many decoders busy, single files need more at once."""
    return 1 if has_blocks else max(1, min(4, num_workers))


def cpu_quota(root: str = "/") -> float:
    """The CPUs that the control groups' quotas allow, rounded up; infinity without any."""
    return min((_quota_of(group) for group in groups_of("cpu", root)), default=math.inf)


def _quota_of(group: Group) -> float:
    if group.is_unified:
        words = (group.read("cpu.max") or "max").split()
        quota = int(words[0]) if words[0].isdigit() else 0
        period = int(words[1]) if len(words) > 1 and words[1].isdigit() else 100_000
    else:
        quota = group.read_int("cpu.cfs_quota_us") or 0
        period = group.read_int("cpu.cfs_period_us") or 100_000
    return math.ceil(quota / period) if quota > 0 and period > 0 else math.inf


def num_local_ranks(environ: Mapping[str, str] = os.environ) -> int:
    """The processes of this training run on this machine, as torchrun says."""
    text = environ.get("LOCAL_WORLD_SIZE", "1")
    return max(1, int(text)) if text.isdigit() else 1


def _allowed_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
