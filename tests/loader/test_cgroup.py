# SPDX-License-Identifier: Apache-2.0
"""Which control groups a process is in, on made-up machines."""

from __future__ import annotations

import pathlib

from torch_dts.loader._cgroup import groups_of


def tree(root: pathlib.Path, cgroup: str, *folders: str) -> pathlib.Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    mounts = root / "sys/fs/cgroup"
    for folder in folders:
        (mounts / folder).mkdir(parents=True)
        (mounts / folder.split("/")[0] / "cgroup.procs").touch()
    return mounts


def test_from_the_own_group_to_the_top(tmp_path: pathlib.Path) -> None:
    mounts = tree(tmp_path, "0::/a/b\n", "a/b")
    (mounts / "cgroup.procs").touch()
    groups = groups_of("cpu", str(tmp_path))
    assert [group.folder for group in groups] == [mounts / "a/b", mounts / "a", mounts]
    assert all(group.is_unified for group in groups)


def test_hybrid_machines_have_both_versions(tmp_path: pathlib.Path) -> None:
    mounts = tree(tmp_path, "3:cpu,cpuacct:/x\n2:cpuset:/\n0::/y\n", "cpu,cpuacct/x", "unified/y", "cpuset")
    groups = groups_of("cpu", str(tmp_path))
    assert [(group.folder, group.is_unified) for group in groups] == [
        (mounts / "cpu,cpuacct/x", False),
        (mounts / "cpu,cpuacct", False),
        (mounts / "unified/y", True),
        (mounts / "unified", True),
    ]


def test_files_of_a_group(tmp_path: pathlib.Path) -> None:
    mounts = tree(tmp_path, "0::/\n", "x")
    (mounts / "cgroup.procs").touch()
    (mounts / "memory.max").write_text("12\n")
    (mounts / "memory.high").write_text("max\n")
    (group,) = groups_of("memory", str(tmp_path))
    assert group.read("memory.high") == "max"
    assert group.read("absent") is None
    assert [group.read_int(name) for name in ("memory.max", "memory.high", "absent")] == [12, None, None]


def test_no_groups(tmp_path: pathlib.Path) -> None:
    assert groups_of("cpu", str(tmp_path)) == []
