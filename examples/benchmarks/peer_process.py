# SPDX-License-Identifier: Apache-2.0
"""A contestant in a process of its own: both ends of it.

The parent writes commands to its standard input, a line of JSON each, and reads answers of the same
form from a pipe. What the contestant prints goes to a log file. It leads a session of its own, so that
it and its workers can be ended together, and it ends when its input does.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

import torch
from contestants import entry
from contestants.work import Work, touch
from measuring import peak_tree_memory, tree_cpu_seconds, tree_memory_bytes

HERE = pathlib.Path(__file__).resolve().parent
QUIET_SECONDS = 0.03


class Failed(Exception):
    """A contestant can't go on; the text says why."""


class PeerProcess:
    """The parent's end."""

    def __init__(self, log: pathlib.Path, script: pathlib.Path = HERE / "peer_process.py") -> None:
        self.log = log
        self.answers, theirs = os.pipe()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(script), str(theirs)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs],
                start_new_session=True,
            )
        os.close(theirs)

    def ask(self, command: str, seconds: float, **arguments: Any) -> dict[str, Any]:
        """Has a command of `Served` done.

        Raises:
            Failed: It took longer, the process ended, or it tells of an error.
        """
        assert self.process.stdin is not None
        data, until = b"", time.monotonic() + seconds
        with contextlib.suppress(OSError):  # it has ended: told below
            self.process.stdin.write(json.dumps([command, arguments]).encode() + b"\n")
            self.process.stdin.flush()
        while not data.endswith(b"\n"):
            if time.monotonic() > until:
                self.close(patience=0)
                raise Failed(f"no answer to {command!r} within {seconds:g} s")
            ended = self.process.poll() is not None  # before looking: it may have answered at last
            if select.select([self.answers], [], [], 0 if ended else 0.2)[0]:
                read = os.read(self.answers, 1 << 16)
                data += read
                ended = not read
            if ended and not data.endswith(b"\n"):
                code = self.process.wait()
                raise Failed(f"its process ended ({code}) during {command!r}{self.tail()}")
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def tail(self) -> str:
        """The last line that it printed."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def hang_up(self) -> None:
        """It ends by itself soon."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def close(self, patience: float = 10) -> None:
        """Ends it and all that it started, by force after some seconds."""
        self.hang_up()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.answers >= 0:
            os.close(self.answers)
            self.answers = -1


class Served:
    """The other end: does the commands for one contestant; making sets for several of a module."""

    def make(self, key: str, work: dict[str, Any]) -> dict[str, Any]:
        """Packs the set, under another name until it is whole."""
        begun = time.perf_counter()
        place = pathlib.Path(work["place"])
        part = place.with_name(f"{place.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        entry(key).load().make(key, Work(**{**work, "place": os.fspath(part)}))
        part.replace(place)
        return {"make_seconds": time.perf_counter() - begun}

    def start(self, key: str, work: dict[str, Any]) -> dict[str, Any]:
        """A fresh loader and its first epoch, which is looked at closely, and whose memory is watched."""
        self.entry, self.work = entry(key), Work(**work)
        module = self.entry.load()
        own = [path for path in pathlib.Path(self.work.place).rglob("*") if path.is_file()]
        samples = self.work.samples()
        for path in own or [pathlib.Path(path) for path, _ in samples]:
            path.read_bytes()  # from the page cache from here on
        found: collections.Counter[int] = collections.Counter()
        idle, first = tree_memory_bytes(), 0.0
        with peak_tree_memory() as peak:
            begun = time.perf_counter()
            self.begin = module.start(key, self.work)
            for images, labels in self.begin():
                float(images[0].flatten()[0])
                first = first or time.perf_counter() - begun
                self.check(images)
                found.update(labels.flatten().tolist())
            highest = max(peak(), tree_memory_bytes())
        expected = collections.Counter(label for _, label in samples)
        if found != expected:
            raise Failed(f"{found.total()} images instead of {expected.total()}, or with other labels")
        return {
            "first_batch_seconds": first,
            "idle_memory_bytes": idle,
            "peak_memory_bytes": highest,
            "set_bytes": sum(path.stat().st_size for path in own) or None,
        }

    def check(self, images: Any) -> None:
        size = self.work.image_size
        if images.shape[1:] != (3, size, size) or str(images.dtype) != f"torch.{self.work.dtype}":
            raise Failed(f"a batch of {images.dtype}, {tuple(images.shape)}")
        low, high = float(images.min()), float(images.max())
        if self.work.is_float() and not -2.2 < low <= high < 2.7:
            raise Failed(f"values from {low} to {high}: not normalised")

    def epoch(self) -> dict[str, Any]:
        """One measured epoch."""
        cpu, begun, num_images = tree_cpu_seconds(), time.perf_counter(), 0
        for images, labels in self.begin():
            num_images += touch(images, labels)
        end = wait_until_quiet() if self.entry.runs_ahead else time.perf_counter()
        return {
            "num_images": num_images,
            "seconds": end - begun,
            "cpu_seconds": tree_cpu_seconds() - cpu,
        }


def wait_until_quiet() -> float:
    """Waits until this process does nothing more; the time at which it last did.

    What works ahead for the next epoch would else take its time from another contestant.
    """
    last, used = time.perf_counter(), own_cpu_seconds()
    while time.perf_counter() - last < QUIET_SECONDS:
        time.sleep(0.005)
        now, used_before, used = time.perf_counter(), used, own_cpu_seconds()
        if used - used_before > 0.001:
            last = now
    return last


def own_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def serve(answers: int) -> None:
    """Reads commands until there are no more; writes an answer to each to the file descriptor."""
    served = Served()
    for line in sys.stdin:
        command, arguments = json.loads(line)
        try:
            answer = getattr(served, command)(**arguments)
        except Failed as error:
            answer = {"error": str(error)}
        except BaseException as error:  # whatever a peer does, the parent is told
            traceback.print_exc()
            text = str(error).strip().splitlines()
            answer = {"error": f"{type(error).__name__}: {text[0][:300] if text else ''}"}
        os.write(answers, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    torch.set_num_threads(1)  # what the loop does with a batch must not count
    serve(int(sys.argv[1]))
