# SPDX-License-Identifier: Apache-2.0
"""What counts as available memory, on made-up machines."""

from __future__ import annotations

import pathlib

import pytest

from torch_dts.loader._memory import available_bytes, fits_in_memory

GIB = 1 << 30


def machine(root: pathlib.Path, available: int | None, cgroup: str = "0::/job\n") -> str:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    if available is not None:
        text = f"MemTotal: 99999999 kB\nMemAvailable:   {available // 1024} kB\nBuffers: 1 kB\n"
        (root / "proc/meminfo").write_text(text)
    return str(root)


def limited(root: pathlib.Path, folder: str, **files: str) -> None:
    group = root / "sys/fs/cgroup" / folder
    group.mkdir(parents=True, exist_ok=True)
    (group.parent / "cgroup.procs").write_text("")
    for name, text in files.items():
        (group / name.replace("_", ".", 1)).write_text(text + "\n")


def test_machine_without_groups(tmp_path: pathlib.Path) -> None:
    root = machine(tmp_path, 8 * GIB)
    assert available_bytes(root) == 8 * GIB
    assert fits_in_memory(4 * GIB, root)
    assert not fits_in_memory(4 * GIB + 1, root)


def test_group_of_version_2_leaves_less(tmp_path: pathlib.Path) -> None:
    root = machine(tmp_path, 64 * GIB)
    stat = f"anon 5\ninactive_file {GIB}\nactive_file 77"
    limited(tmp_path, "job", memory_max=str(6 * GIB), memory_current=str(3 * GIB), memory_stat=stat)
    assert available_bytes(root) == 4 * GIB  # 6 - 3, and 1 of it the page cache's


def test_group_of_version_2_without_a_limit(tmp_path: pathlib.Path) -> None:
    root = machine(tmp_path, 2 * GIB)
    limited(tmp_path, "job", memory_max="max", memory_current=str(GIB))
    assert available_bytes(root) == 2 * GIB


def test_group_of_version_1(tmp_path: pathlib.Path) -> None:
    root = machine(tmp_path, 64 * GIB, "9:memory:/job\n3:cpu,cpuacct:/job\n")
    limited(
        tmp_path,
        "memory/job",
        memory_limit_in_bytes=str(4 * GIB),
        memory_usage_in_bytes=str(GIB),
        memory_stat="inactive_file 1\ntotal_inactive_file 4096",
    )
    assert available_bytes(root) == 3 * GIB + 4096


def test_a_group_above_its_limit_leaves_nothing(tmp_path: pathlib.Path) -> None:
    root = machine(tmp_path, 64 * GIB)
    limited(tmp_path, "job", memory_max=str(GIB), memory_current=str(2 * GIB))
    assert available_bytes(root) == 0
    assert not fits_in_memory(1, root)
    assert fits_in_memory(0, root)


@pytest.mark.parametrize("cgroup", ["", "nonsense\n", "0::/job\n"])
def test_unknown_machine_has_nothing_available(tmp_path: pathlib.Path, cgroup: str) -> None:
    assert available_bytes(machine(tmp_path, None, cgroup)) == 0


def test_this_machine() -> None:
    assert 0 < available_bytes() < 2**50
