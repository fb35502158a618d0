# SPDX-License-Identifier: Apache-2.0
"""Which data stay in memory: the decision of ``mode="auto"``."""

from __future__ import annotations

import math
import pathlib
import re
from typing import Literal

from torch_dts.loader._cgroup import Group, groups_of

Mode = Literal["auto", "fully", "partial"]

# The rest is for batches, the model and other processes; what a rank holds is one copy for
# all of the machine, so ranks don't divide it.
SHARE = 0.5


def fits_in_memory(num_bytes: int, root: str = "/") -> bool:
    """Whether ``mode="auto"`` keeps so many bytes: at most half of what is available.

    Args:
        num_bytes: What keeping all would take, beyond what is held already.
        root: Where ``proc`` and ``sys`` are looked for.
    """
    return num_bytes <= SHARE * available_bytes(root)


def available_bytes(root: str = "/") -> float:
    """Memory a process can still take: the machine's, and what its control groups leave.

    Pages of files that the kernel can drop count as available. 0 where nothing is known.
    """
    limits = [_left_in(group) for group in groups_of("memory", root)]
    machine = _machine_bytes(root)
    if machine is not None:
        limits.append(machine)
    known = [limit for limit in limits if limit < math.inf]
    return max(0.0, min(known, default=0.0))


def _machine_bytes(root: str) -> float | None:
    try:
        text = (pathlib.Path(root) / "proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024.0 if found else None


def _left_in(group: Group) -> float:
    names = ("memory.max", "memory.current", "inactive_file")
    if not group.is_unified:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    limit, usage = group.read_int(names[0]), group.read_int(names[1])
    if limit is None or usage is None:
        return math.inf
    # Usage counts the page cache too, most of which goes when memory is asked for.
    found = re.search(rf"^{names[2]} (\d+)$", group.read("memory.stat") or "", re.MULTILINE)
    return limit - usage + (int(found[1]) if found else 0)
