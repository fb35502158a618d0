#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_dts beside the other image loaders, each in the form that its docs recommend, in one run.

    python examples/benchmarks/peers.py DATA [--images 1500] [--rounds 3] [--num-workers 2] [--work DIR]
    python examples/benchmarks/peers.py DATA --only torch,ours,dali --json peers.json --plot peers.svg

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py). The work is the same for
all: RandomResizedCrop(224), flip, normalised float32 in batches of 256, every batch touched. Each
contestant has a process of its own. The first epoch of a fresh loader warms up, is checked (number of
images, labels, type, size, range) and has its memory watched; then all have their turn in every round.
Who is not installed or fails is named and does not end the run; Ctrl-C ends it with what is known. Sets are
packed once and kept under --work.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from bar_chart import Bar, bar_chart
from contestants import ENTRIES, Entry, chosen
from contestants.work import Work
from measuring import machine
from peer_process import Failed, PeerProcess
from results import Table, of_rows, save
from torchvision.datasets import ImageFolder

BASE = "torch"


@dataclasses.dataclass
class Result:
    """What is known of one contestant; `error` says why it did not take part to the end."""

    entry: Entry
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    rounds: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    error: str | None = None

    def rates(self) -> list[float]:
        return [each["num_images"] / each["seconds"] for each in self.rounds]

    def cpu_ms(self) -> float:
        return statistics.median(1000 * each["cpu_seconds"] / each["num_images"] for each in self.rounds)

    def counts(self) -> bool:
        return self.error is None and bool(self.rounds)


def some_images(data: str, num_images: int | None, place: pathlib.Path) -> str:
    """DATA, or a copy of as many of its images, evenly taken, made once."""
    samples = ImageFolder(data).samples
    if num_images is None or num_images >= len(samples):
        return data
    folder = place / "images"
    if not folder.exists():
        part = place / "images.part"
        shutil.rmtree(part, ignore_errors=True)
        for i in range(num_images):
            path = pathlib.Path(samples[i * len(samples) // num_images][0])
            target = part / path.relative_to(data)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        part.replace(folder)
    return os.fspath(folder)


def place_for(work: pathlib.Path, data: str, num_images: int | None) -> pathlib.Path:
    """A folder for what is made of these images; others get another one."""
    samples = ImageFolder(data).samples
    digest = hashlib.sha256()
    for path, label in samples:
        status = os.stat(path)
        digest.update(f"{path}\0{label}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    place = work / f"{digest.hexdigest()[:12]}-{num_images or len(samples)}"
    place.mkdir(parents=True, exist_ok=True)
    return place


class Competition:
    """Has the contestants' processes, and ends them; a context manager."""

    def __init__(self, entries: Sequence[Entry], work: Work, place: pathlib.Path, seconds: float) -> None:
        self.results = [Result(entry, error=entry.missing()) for entry in entries]
        self.work, self.place, self.seconds = work, place, seconds
        self.processes: dict[str, PeerProcess] = {}

    def __enter__(self) -> Competition:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.hang_up()  # all at once, so that they end side by side
        for process in self.processes.values():
            process.close()

    def work_of(self, entry: Entry) -> Work:
        """With the folder of its set."""
        name = f"{entry.key}-{self.work.raw_size}" if entry.key in ("raw", "ffcv_raw") else entry.key
        return dataclasses.replace(self.work, place=os.fspath(self.place / name))

    def ask(self, result: Result, process: PeerProcess, command: str, **arguments: Any) -> dict[str, Any]:
        """What it answers; where it fails, nothing, and the result says why."""
        try:
            return process.ask(command, self.seconds, **arguments)
        except Failed as error:
            result.error = str(error)
            print(f"{result.entry.title}: {error}", flush=True)
            return {}

    def running(self) -> list[Result]:
        return [result for result in self.results if result.error is None]

    def pack(self) -> None:
        """The sets that are not there yet; a process for each module."""
        for module in dict.fromkeys(result.entry.module for result in self.running()):
            missing = [
                (result, self.work_of(result.entry))
                for result in self.running()
                if result.entry.module == module and result.entry.packs
            ]
            missing = [(result, work) for result, work in missing if not os.path.exists(work.place)]
            if not missing:
                continue
            maker = PeerProcess(self.place / f"{module}.packing.log")
            try:
                for result, work in missing:
                    print(f"packing: {result.entry.title}", flush=True)
                    arguments = {"key": result.entry.key, "work": dataclasses.asdict(work)}
                    result.facts.update(self.ask(result, maker, "make", **arguments))
            finally:
                maker.close()

    def start(self) -> None:
        """A process for each contestant, and its first epoch."""
        for result in self.running():
            entry = result.entry
            print(f"starting: {entry.title}", flush=True)
            process = self.processes[entry.key] = PeerProcess(self.place / f"{entry.key}.log")
            arguments = {"key": entry.key, "work": dataclasses.asdict(self.work_of(entry))}
            result.facts.update(self.ask(result, process, "start", **arguments))

    def run(self, num_rounds: int) -> None:
        """In each round another one begins."""
        for number in range(num_rounds):
            running = self.running()
            first = number * len(running) // num_rounds
            for result in [*running[first:], *running[:first]]:
                answer = self.ask(result, self.processes[result.entry.key], "epoch")
                if answer:
                    result.rounds.append(answer)
            print(f"round {number + 1} of {num_rounds} is over", flush=True)


def tables(results: Sequence[Result], num_images: int, source_bytes: int) -> list[Table]:
    """What was found, every round of it, how each loader is used, and who is left out."""
    ran = [result for result in results if result.counts()]
    base = statistics.median(next((r for r in ran if r.entry.key == BASE), ran[0]).rates()) if ran else 1.0
    rows, rounds = [], []
    for result in ran:
        rates, facts, title = result.rates(), result.facts, result.entry.title
        rate, peak = statistics.median(rates), facts["peak_memory_bytes"]
        rows.append(
            {
                "loader": title,
                "images/s": rate,
                "lowest": min(rates),
                "highest": max(rates),
                "ratio": rate / base,
                "CPU ms/image": result.cpu_ms(),
                "peak MB": peak / 1e6,
                "MB over idle": (peak - facts["idle_memory_bytes"]) / 1e6,
                "first batch s": facts["first_batch_seconds"],
                "bytes/source": (facts["set_bytes"] or source_bytes) / source_bytes,
            }
        )
        rounds += [{"loader": title, "round": i, **each} for i, each in enumerate(result.rounds, 1)]
    found, all_rounds = Table("", ["loader"]), Table("", ["loader"])  # where nobody ran
    if ran:
        found, all_rounds = of_rows("", rows), of_rows("", rounds)
    found.title, all_rounds.title = f"Peers: {num_images:,} images, {source_bytes / 1e6:.1f} MB", "Rounds"
    found.notes = [f"Left out: {r.entry.title}: {r.error}" for r in results if not r.counts()]
    forms = [
        {
            "loader": result.entry.title,
            "how it is used": result.entry.form,
            "packed in s": result.facts.get("make_seconds"),
            "left out": result.error,
        }
        for result in results
    ]
    return [found, all_rounds, of_rows("Forms", forms)]


def plot(results: Sequence[Result], dtype: str) -> str:
    """The fastest first."""
    bars = [
        Bar(
            result.entry.title,
            statistics.median(result.rates()),
            min(result.rates()),
            max(result.rates()),
            result.entry.module == "ours",
        )
        for result in results
        if result.counts()
    ]
    return bar_chart(f"Images per second, {dtype}", sorted(bars, key=lambda bar: -bar.value))


def parse(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("data", help="a folder of class folders of JPEGs")
    add("--only", help=f"some of {', '.join(entry.key for entry in ENTRIES)}; ours stands for all of ours")
    add("--images", type=int, help="as many of the images, evenly taken (default: all)")
    add("--rounds", type=int, default=3)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    add("--num-workers", type=int, default=cpus, help="threads or processes (default: the CPUs there are)")
    add("--batch-size", type=int, default=256)
    add("--image-size", type=int, default=224)
    add("--raw-size", type=int, default=400, help="longest side of raw images (default: 400)")
    add("--dtype", choices=("float32", "uint8"), default="float32", help="uint8: without normalising")
    add("--timeout", type=float, default=900, help="seconds for an epoch or for packing a set")
    add("--work", help="where sets are kept from run to run (default: a temporary folder)")
    add("--json", help="a file for every figure")
    add("--plot", help="an SVG file for a chart")
    arguments = parser.parse_args(given)
    try:
        arguments.entries = chosen(arguments.only)
    except ValueError as error:
        parser.error(str(error))
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    arguments = parse(given)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = place_for(
            pathlib.Path(arguments.work or temporary).absolute(), arguments.data, arguments.images
        )
        folder = some_images(arguments.data, arguments.images, place)
        work = Work(
            os.path.abspath(folder),
            "",
            arguments.batch_size,
            arguments.image_size,
            arguments.num_workers,
            arguments.dtype,
            arguments.raw_size,
        )
        sizes = [os.path.getsize(path) for path, _ in work.samples()]
        with Competition(arguments.entries, work, place, arguments.timeout) as competition:
            results = competition.results
            try:
                competition.pack()
                competition.start()
                competition.run(arguments.rounds)
            except KeyboardInterrupt:
                print("interrupted: what is known by now", flush=True)
    found = tables(results, len(sizes), sum(sizes))
    found[0].title += (
        f", {work.num_workers} workers, batches of {work.batch_size}, {work.image_size} x {work.image_size} "
        f"{work.dtype}, {arguments.rounds} rounds"
    )
    print(found[0].markdown())
    if arguments.json:
        save(arguments.json, "peers", found)
    if arguments.plot:
        pathlib.Path(arguments.plot).write_text(plot(results, arguments.dtype), encoding="utf-8")
    return 0 if any(result.counts() for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
