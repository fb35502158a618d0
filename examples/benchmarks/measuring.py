# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: the machine's name, and CPU time and memory of a process tree."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import resource
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

PROC = pathlib.Path("/proc")


def machine() -> str:
    """CPU, number of usable CPUs, system and versions."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cpus} CPUs, {platform.system()} {platform.machine()}, torch {torch.__version__}"


def peak_memory_bytes() -> int:
    """Highest resident memory of this process so far."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def process_tree() -> list[int]:
    """This process, first, and all below it (Linux)."""
    parents: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended meanwhile
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    tree, found = [], [os.getpid()]
    while found:
        tree.append(found.pop())
        found += parents.get(tree[-1], [])
    return tree


def tree_cpu_seconds() -> float:
    """CPU time of the process tree so far, those included that ended and were waited for."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ticks = 0
    for number in process_tree()[1:]:
        try:
            fields = (PROC / str(number) / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # utime, stime, and the same of children that were waited for
        ticks += sum(int(field) for field in fields[11:15])
    return sum(used.ru_utime + used.ru_stime for used in own) + ticks / os.sysconf("SC_CLK_TCK")


def tree_memory_bytes() -> int:
    """Memory of the process tree now, pages that processes share counted once."""
    total = 0
    for number in process_tree():
        try:
            lines = (PROC / str(number) / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
    return total


@contextmanager
def peak_tree_memory() -> Iterator[Callable[[], int]]:
    """Watches the process tree ten times a second; the value's call gives the highest seen."""
    highest, done = [tree_memory_bytes()], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            highest[0] = max(highest[0], tree_memory_bytes())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: highest[0]
    finally:
        done.set()
        thread.join()


@dataclasses.dataclass
class Round:
    """One epoch of one contestant."""

    num_images: int
    seconds: float
    cpu_seconds: float


@dataclasses.dataclass
class Contestant:
    """A way to load; `run` does one epoch, touches every batch, and returns the number of images."""

    name: str
    run: Callable[[], int]
    rounds: list[Round] = dataclasses.field(default_factory=list)

    def measure(self) -> None:
        """One more epoch."""
        cpu, start = tree_cpu_seconds(), time.perf_counter()
        num_images = self.run()
        self.rounds.append(Round(num_images, time.perf_counter() - start, tree_cpu_seconds() - cpu))

    def rate(self) -> float:
        """Images per second, the median."""
        return statistics.median(r.num_images / r.seconds for r in self.rounds)

    def cpu_ms(self) -> float:
        """CPU milliseconds an image, the median."""
        return statistics.median(1000 * r.cpu_seconds / r.num_images for r in self.rounds)


def in_turns(contestants: list[Contestant], num_rounds: int) -> None:
    """A warm-up epoch of each, then `num_rounds` rounds in which each has its turn, another one first."""
    for contestant in contestants:
        contestant.run()
    for number in range(num_rounds):
        first = number % len(contestants)
        for contestant in [*contestants[first:], *contestants[:first]]:
            contestant.measure()


def table(contestants: list[Contestant]) -> str:
    """Rate, spread, CPU time and ratio to the first contestant, a line each."""
    base = contestants[0].rate()
    lines = [f"{'':<34}{'images/s':>9} {'lowest..highest':>16} {'CPU ms/image':>13} {'ratio':>6}"]
    for one in contestants:
        rates = [r.num_images / r.seconds for r in one.rounds]
        spread = f"{min(rates):.0f}..{max(rates):.0f}"
        lines.append(
            f"{one.name:<34}{one.rate():9.0f} {spread:>16} {one.cpu_ms():13.3f} {one.rate() / base:6.2f}"
        )
    return "\n".join(lines)
