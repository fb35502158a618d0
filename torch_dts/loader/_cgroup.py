# SPDX-License-Identifier: Apache-2.0
"""The control groups of this process: where the kernel writes what a container may use."""

from __future__ import annotations

import pathlib
from typing import NamedTuple


class Group(NamedTuple):
    """A control group's folder, and whether it is of the unified hierarchy (version 2)."""

    folder: pathlib.Path
    is_unified: bool

    def read(self, name: str) -> str | None:
        """The text of a file of the group; None where there is none, or it can't be read."""
        try:
            return (self.folder / name).read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return None

    def read_int(self, name: str) -> int | None:
        """The number in a file of the group; None for "max" and where there is none."""
        text = self.read(name)
        return int(text) if text is not None and text.lstrip("-").isdigit() else None


def groups_of(controller: str, root: str = "/") -> list[Group]:
    """The groups of this process for a controller ("cpu", "memory"), from its own up to the top.

    A limit holds for all groups below the one that has it, so a caller looks at each.

    Args:
        controller: As the kernel names it.
        root: Where ``proc`` and ``sys`` are looked for.
    """
    try:
        lines = (pathlib.Path(root) / "proc/self/cgroup").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    mounts = pathlib.Path(root) / "sys/fs/cgroup"
    groups = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            tops = [mounts, mounts / "unified"]
        elif controller in controllers.split(","):
            tops = [mounts / controllers, mounts / controller]
        else:
            continue
        # In a container the path may be the host's, which isn't mounted: the top is what counts then.
        top = next((top for top in tops if (top / "cgroup.procs").exists()), None)
        if top is None:
            continue
        own = pathlib.PurePosixPath(path.lstrip("/"))
        for part in (own, *own.parents):
            if ".." not in part.parts and (top / part).is_dir():
                groups.append(Group(top / part, not controllers))
    return groups
