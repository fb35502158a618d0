# SPDX-License-Identifier: Apache-2.0
"""Runs processes as if some files lay on a slow disk with a small page cache (slow_disk.c).

The shim is compiled when it is needed. It delays reads for real, so that a loader meets the disk as it
would meet a true one, also where it decides by what has arrived already.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("slow_disk.c")
PAGE_BYTES = 16384
COUNTS = ("seeks", "disk_bytes", "asked_bytes", "reads", "busy_ns")
_HEADER = struct.Struct("=5Q7q")  # counts, then seek_ns, bytes_per_s, capacity, free_at, arm x 2, num_pages
_ROOM_BYTES = 4096 + 4 * (1 << 16)  # more than what lies before the pages
_PAGE_STATE_BYTES = 32


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk with one arm, and the memory that is left for its pages."""

    seek_ms: float = 8.0
    bytes_per_s: float = 150e6
    cache_bytes: int = 0

    def seconds(self, seeks: int, num_bytes: int) -> float:
        """What the disk needs for so many accesses and bytes."""
        return seeks * self.seek_ms / 1000 + num_bytes / self.bytes_per_s


def compiled(folder: pathlib.Path) -> pathlib.Path | None:
    """The shim, in a folder; None where there is no C compiler.

    Raises:
        RuntimeError: The compiler refuses it.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    target = folder / "slow_disk.so"
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
    done = subprocess.run(
        [compiler, *options, str(SOURCE), "-o", str(target), "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{SOURCE} does not compile: {done.stderr}")
    return target


def environment(shim: pathlib.Path, folder: pathlib.Path, disk: Disk, slow: str) -> dict[str, str]:
    """Variables for a process whose files with names that begin with `slow` are on the disk, all cold.

    Args:
        folder: Where the disk's state lies; it is a new one with each call.
    """
    capacity = disk.cache_bytes // PAGE_BYTES
    state = folder / "slow_disk.state"
    with open(state, "wb") as file:
        file.write(
            _HEADER.pack(0, 0, 0, 0, 0, int(disk.seek_ms * 1e6), int(disk.bytes_per_s), capacity, 0, 0, 0, -1)
        )
        file.truncate(_ROOM_BYTES + _PAGE_STATE_BYTES * capacity)
    return {"LD_PRELOAD": str(shim), "SLOW_DISK_STATE": str(state), "SLOW_DISK_FOLDER": slow}


def counts_in(state: str | os.PathLike[str]) -> dict[str, int]:
    """What the disk did since its state was made, by the names in COUNTS."""
    with open(state, "rb") as file:
        return dict(zip(COUNTS, _HEADER.unpack(file.read(_HEADER.size)), strict=False))


def counts_here() -> dict[str, int]:
    """The same for the disk under this process; empty where there is none."""
    state = os.environ.get("SLOW_DISK_STATE")
    return {} if state is None else counts_in(state)
