# SPDX-License-Identifier: Apache-2.0
"""One loader in a process of its own, where strace or a slow disk can watch it.

    child.py '{"images": {...}, "form": "LV0", "mode": "partial", "settings": {...}, ...}'

The last line that it prints is JSON: a list with an epoch's images, bytes delivered, seconds, bytes and
calls of reading (rchar and syscr of the process tree), and what a slow disk did, each.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

sys.path.insert(0, os.fspath(pathlib.Path(__file__).parents[1]))

import torch
from measuring import PROC, process_tree

from epoch_parts import slow_disk
from epoch_parts.sets import ImageSet
from epoch_parts.ways import Settings, make_loader, run_epoch


def read_counts() -> tuple[int, int]:
    """Bytes that read calls of the process tree returned so far, and such calls (Linux)."""
    num_bytes = num_calls = 0
    for number in process_tree():
        try:
            lines = (PROC / str(number) / "io").read_text().splitlines()
        except OSError:
            continue  # it ended meanwhile
        counts = dict(line.split(": ", 1) for line in lines)
        num_bytes += int(counts["rchar"])
        num_calls += int(counts["syscr"])
    return num_bytes, num_calls


def started(
    images: ImageSet,
    form: str,
    mode: str,
    settings: Settings,
    num_epochs: int,
    *,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
    counts_reads: bool = False,
) -> list[dict[str, Any]]:
    """Runs a child and returns what it printed.

    Args:
        before: A command that runs the child, such as strace and its options.
        environment: Variables beside those of this process.
        more: Arguments of torch_dts.DataLoader.
        counts_reads: With the read calls and their bytes (looking for them makes calls too).

    Raises:
        RuntimeError: The child failed, with what it wrote.
    """
    job = {
        "images": dataclasses.asdict(images),
        "form": form,
        "mode": mode,
        "settings": dataclasses.asdict(settings),
        "more": dict(more or {}),
        "num_epochs": num_epochs,
        "counts_reads": counts_reads,
    }
    done = subprocess.run(
        [*before, sys.executable, __file__, json.dumps(job)],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{form}, {mode}: the process ended with {done.returncode}: {done.stderr[-2000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    loader = make_loader(
        ImageSet(**job["images"]), job["form"], job["mode"], Settings(**job["settings"]), **job["more"]
    )
    epochs = []
    for _ in range(job["num_epochs"]):
        before, disk_before = read_counts() if job["counts_reads"] else (0, 0), slow_disk.counts_here()
        counts = run_epoch(loader)
        after, disk_after = read_counts() if job["counts_reads"] else (0, 0), slow_disk.counts_here()
        reads = {"read_bytes": after[0] - before[0], "read_calls": after[1] - before[1]}
        disk = {name: value - disk_before[name] for name, value in disk_after.items()}
        epochs.append({**dataclasses.asdict(counts), **reads, "disk": disk})
    print(json.dumps(epochs))


if __name__ == "__main__":
    main()
