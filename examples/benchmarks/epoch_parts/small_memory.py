# SPDX-License-Identifier: Apache-2.0
"""A set four times as large as memory: on a slow disk that is simulated, and in a control group.

The laptop of the article read ImageNet from files in 1610 s and from level 0 in 37.7 s.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
from typing import Any

from results import Table

import torch_dts
from epoch_parts import article, child, slow_disk
from epoch_parts.sets import RAW, ImageSet, name_of
from epoch_parts.ways import TORCH, Settings

TIMES = 4  # the set over the memory
WAYS = (
    ("torch DataLoader", TORCH),
    ("ours, ImageFolder", RAW),
    ("ours, LV0 PARTIAL", name_of(0)),
    ("ours, LV3 PARTIAL", name_of(3)),
)
NUM_EPOCHS = 2
# Puts itself into a control group, then becomes the command that follows.
JOIN = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execvp(sys.argv[2], sys.argv[2:])"


def window_for(memory: int, block_bytes: int) -> int:
    """Blocks of a group, so that two groups take at most 80 % of the memory; at least one."""
    return max(1, int(0.8 * memory) // (2 * block_bytes))


def _arguments(images: ImageSet, form: str, memory: int) -> tuple[dict[str, Any], int]:
    """Arguments of the loader, and the memory that it takes for blocks."""
    if form in (TORCH, RAW):
        return {}, 0
    block_bytes = int(torch_dts.open(images.files[form]).header.block_size)
    window = window_for(memory, block_bytes)
    return {"shuffle_window": window}, 2 * window * block_bytes


def slow_disk_table(images: ImageSet, settings: Settings, disk: slow_disk.Disk) -> Table:
    """Epochs on the simulated disk; its page cache is what blocks leave of a quarter of the set."""
    memory = images.payload_bytes(RAW) // TIMES
    work = "load only" if settings.load_only else "whole pipeline"
    made = Table(
        f"{work}: {images.num_images()} images on a disk with {disk.seek_ms:g} ms an access and"
        f" {disk.bytes_per_s / 1e6:g} MB/s, memory for a quarter of them ({memory / 1e6:.0f} MB)",
        [
            "loader",
            "window",
            "first s",
            "second s",
            "accesses",
            "MB from the disk",
            "disk busy",
            "times torch",
            "times RAW",
            "article: times RAW",
        ],
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shim = slow_disk.compiled(folder)
        if shim is None:
            made.notes.append("Not run: it needs a C compiler.")
            return made
        seconds: dict[str, float] = {}
        for name, form in WAYS:
            more, taken = _arguments(images, form, memory)
            here = slow_disk.Disk(disk.seek_ms, disk.bytes_per_s, max(0, memory - taken))
            slow = images.folder if form in (TORCH, RAW) else images.files[form]
            environment = slow_disk.environment(shim, folder, here, slow)
            first, second = child.started(
                images, form, "partial", settings, NUM_EPOCHS, environment=environment, more=more
            )
            seconds[form] = second["seconds"]
            published = article.SMALL_MEMORY
            made.add(
                name,
                more.get("shuffle_window", ""),
                first["seconds"],
                second["seconds"],
                second["disk"]["seeks"],
                second["disk"]["disk_bytes"] / 1e6,
                f"{100 * second['disk']['busy_ns'] / 1e9 / second['seconds']:.0f} %",
                seconds[TORCH] / second["seconds"],
                seconds[RAW] / second["seconds"] if RAW in seconds else None,
                published["RAW"]["train"] / published["LV0"]["train"] if form == name_of(0) else None,
            )
    made.notes.append(
        "Accesses, bytes and busy time are of the second epoch. Blocks of the loader count as memory, and"
        " the disk's page cache is what they leave; torch's worker processes are not counted. Reading"
        ' inodes and directories costs nothing here. "fully" does not fit.'
    )
    return made


def control_group_table(images: ImageSet, settings: Settings, parent: str | None) -> Table:
    """Epochs under memory.max, on the true disk, in a control group (v2) that the user may write to."""
    made = Table(
        f"{images.num_images()} images in a control group with memory for a quarter of them",
        ["loader", "window", "first s", "second s", "times torch"],
    )
    if parent is None:
        made.notes.append(
            "Not run: --cgroup was not given (a delegated folder of control groups, version 2)."
        )
        return made
    group = pathlib.Path(parent) / f"torch_dts_benchmark_{os.getpid()}"
    # What the process takes before it reads anything: the interpreter, torch and worker processes.
    base_bytes = (settings.num_workers + 1) * 400_000_000
    group.mkdir()
    try:
        memory = images.payload_bytes(RAW) // TIMES
        (group / "memory.max").write_text(str(base_bytes + memory))
        before = [sys.executable, "-c", JOIN, os.fspath(group / "cgroup.procs")]
        base = 0.0
        for name, form in WAYS:
            more, _ = _arguments(images, form, memory)
            first, second = child.started(
                images, form, "partial", settings, NUM_EPOCHS, before=before, more=more
            )
            base = base or second["seconds"]
            made.add(
                name,
                more.get("shuffle_window", ""),
                first["seconds"],
                second["seconds"],
                base / second["seconds"],
            )
        made.notes.append(
            f"memory.max: {(base_bytes + memory) / 1e6:.0f} MB, of which {base_bytes / 1e6:.0f} MB for"
            " the processes themselves."
        )
    finally:
        group.rmdir()
    return made
