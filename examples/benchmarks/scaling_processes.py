# SPDX-License-Identifier: Apache-2.0
"""Processes that work side by side for scaling.py: the bare work, ranks, and one that strace watches."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

MARK = "/a-mark-of-scaling.py"  # a path that isn't there, asked for

# Called in each process with its number and arguments; makes a function for an epoch, which gives the number
# of images, and one that answers `ask`.
Make = Callable[..., tuple[Callable[[], int], Callable[[], Any]]]


def _serve(number: int, make: Make, arguments: tuple[Any, ...], pipe: Any) -> None:
    """A process: 'run' for an epoch, 'ask' for its answer, anything else ends it."""
    run, answer = make(number, *arguments)
    pipe.send("ready")
    while (word := pipe.recv()) in ("run", "ask"):
        pipe.send(run() if word == "run" else answer())


class Processes:
    """`count` processes that are told when to run."""

    def __init__(self, count: int, make: Make, arguments: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for number in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(number, make, arguments, there), daemon=True)
            process.start()
            there.close()  # so that the end of the process is the end of what can be read
            self._pipes.append(here)
            self._processes.append(process)

    def __enter__(self) -> Processes:
        for pipe in self._pipes:
            pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.send("end")
        for process in self._processes:
            process.join()

    def run_first(self, count: int) -> Callable[[], int]:
        """An epoch of the first `count` at the same time; gives the images of all."""

        def run() -> int:
            for pipe in self._pipes[:count]:
                pipe.send("run")
            return sum(pipe.recv() for pipe in self._pipes[:count])

        return run

    def ask(self) -> list[Any]:
        """What each says."""
        for pipe in self._pipes:
            pipe.send("ask")
        return [pipe.recv() for pipe in self._pipes]


def bare_epochs(number: int, folder: str, num_images: int, batch_size: int) -> tuple[Any, Any]:
    """Decoding to the fused tail over bytes in memory, bound to one CPU."""
    import torch
    from contestants.work import make_transform
    from overhead import bare_work, keep_freed_memory
    from torchvision.datasets import ImageFolder

    import torch_dts

    if hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})
    torch.set_num_threads(1)
    keep_freed_memory()
    plan = torch_dts.transforms.compile(make_transform(224)).plan
    paths = [path for path, _ in ImageFolder(folder).samples[:num_images]]
    work = bare_work(paths, plan.encode(), batch_size)  # type: ignore[union-attr]

    def run() -> int:
        work()
        return len(paths)

    return run, lambda: None


def rank_epochs(
    rank: int, source: str, num_images: int, batch_size: int, num_workers: int, world: int
) -> tuple[Any, Any]:
    """A rank's part of each epoch; answers with the indices of the last one."""
    import torch
    from scaling import open_loader

    torch.set_num_threads(1)
    loader = open_loader(
        source,
        num_images,
        num_workers,
        batch_size=batch_size,
        num_replicas=world,
        rank=rank,
        return_index=True,
    )
    seen: list[int] = []

    def run() -> int:
        seen.clear()
        for images, _, indices in loader:
            assert bool(images[:, 0, 0, 0].isfinite().all())
            seen.extend(indices.tolist())
        return len(seen)

    return run, lambda: list(seen)


def mark() -> None:
    """A line in strace's log."""
    os.access(MARK, os.F_OK)


def count_futex_calls(command: list[str], count: int) -> list[int] | None:
    """Runs the command under strace; the futex calls between each first and second mark.

    None where there is no strace, or it may not trace, or the command did not make `count` pairs of marks.
    """
    strace = shutil.which("strace")
    if strace is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        options = [
            "-f",
            "--seccomp-bpf",
            "-e",
            "trace=futex,access,faccessat,faccessat2",
            "-o",
            os.fspath(log),
        ]
        done = subprocess.run([strace, *options, *command], stdout=subprocess.DEVNULL, check=False)
        if done.returncode or not log.exists():
            return None
        with log.open(encoding="utf-8", errors="replace") as lines:
            counts = between_marks(lines)
    return counts if len(counts) == count else None


def between_marks(lines: Any) -> list[int]:
    """futex calls between each first and second mark in strace's log."""
    counts, is_inside = [], False
    for line in lines:
        if MARK in line:
            is_inside = not is_inside
            if is_inside:
                counts.append(0)
        # A call that another thread interrupts has a second line, "<... futex resumed>".
        elif is_inside and re.search(r"\bfutex\(", line):
            counts[-1] += 1
    return counts
