# SPDX-License-Identifier: Apache-2.0
"""Threads inside of ops when the interpreter ends."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from torch_dts._exit import Exit

PROGRAM = """
import sys, threading, time, torch_dts
from torchvision import transforms as T
transform = T.Compose([T.RandomResizedCrop(64), T.ToTensor()])
maps = torch_dts.DTSDataset(sys.argv[1], transform)
streams = torch_dts.DTSIterableDataset(sys.argv[1], transform)
def run():
    while True:
        for batch in torch_dts.DataLoader({data}, batch_size=4, num_workers={workers}): pass
threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
sys.exit(3)
"""


@pytest.mark.parametrize(("data", "workers"), [("maps", 2), ("maps", 0), ("streams", 2)])
def test_a_daemon_thread_that_iterates(dts_file: Callable[[], pathlib.Path], data: str, workers: int) -> None:
    program = PROGRAM.format(data=data, workers=workers)
    command = [sys.executable, "-c", program, str(dts_file())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


# The op's work is done when the interpreter is taken apart: a module holds the object that lets it go.
LATE = """
import sys, threading, time, types, torch, torch_dts
from torch_dts import _exit, _native
_exit.the_exit.patience_s = 1.0
file = _native.file_open(sys.argv[1])
plan = ("source channels=3 max_pixels=0 pass_order=2\\n"
        "horizontal_flip op=1 p=0.5\\n"
        "resized_crop op=0 height=8 width=8 scale=0.1,1 ratio=0.75,1.25 filter=2\\n"
        "output height=8 width=8 channels=3 dtype=1 layout=0 scale=1\\n")
loader = _native.loader_open(_native.source_dts(file), plan, num_workers=1)
_native.loader_start(loader, "", 0, 0)
def run():
    try:
        _native.loader_next(loader, 1_000_000_000)
    finally:
        print("came back")
threading.Thread(target=run, daemon=True).start()
while not _exit.the_exit._inside:
    time.sleep(0.01)
class Last:
    def __init__(self):
        self.close, self.sleep = torch.ops.torch_dts.loader_close.default, time.sleep
        self.loader = loader
    def __del__(self):
        self.close(self.loader)
        self.sleep(0.3)  # Python gives way to the thread, should it want to run
sys.modules["last"] = types.ModuleType("last")  # goes before torch
sys.modules["last"].last = Last()
sys.exit(3)
"""


def test_an_op_that_outlasts_the_end(dts_file: Callable[[], pathlib.Path]) -> None:
    command = [sys.executable, "-c", LATE, str(dts_file())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


GIVES_UP = """
import sys, threading, torch
from torch_dts import _native
from torch_dts._native import _call
def run(names):
    return _native.probe_files(names).tolist()
def probe():
    try:
        return run([sys.argv[1]])
    except RuntimeError as error:
        return str(error).splitlines()[0]
before, after = [], []
def thread(found):
    one = threading.Thread(target=lambda: found.append(probe()))
    one.start()
    one.join()
thread(before)
_call._end_ops()
thread(after)
print(before == [probe()], after)
"""


def test_ops_of_other_threads_give_up(dts_file: Callable[[], pathlib.Path]) -> None:
    command = [sys.executable, "-c", GIVES_UP, str(dts_file())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    told = ["the interpreter ends: this thread's work is given up"]
    assert (done.stdout, done.stderr) == (f"True {told}\n", "")


def in_thread(run: object) -> list[object]:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(run()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return found


def raises_exit(ending: Exit) -> bool:
    try:
        ending.leave_thread()
    except SystemExit:
        return True
    return False


def test_the_main_thread_always_enters() -> None:
    ending = Exit()
    ending.begin()
    assert ending.enter()
    ending.leave()
    ending.leave_thread()


def test_the_end_waits_for_those_inside_and_lets_no_more_in() -> None:
    ending = Exit()
    woken, entered = threading.Event(), threading.Event()
    left: list[float] = []
    ending.watch(woken.set)

    def inside() -> None:
        assert ending.enter()
        assert ending.enter()  # within another op
        ending.leave()
        entered.set()
        woken.wait(60)
        left.append(time.monotonic())
        ending.leave()

    thread = threading.Thread(target=inside)
    thread.start()
    entered.wait(60)
    ending.begin()
    assert len(left) == 1
    thread.join()
    assert in_thread(ending.enter) == [False]
    assert in_thread(lambda: raises_exit(ending)) == [True]


def test_a_forked_child_waits_for_nobody() -> None:
    ending = Exit()
    assert in_thread(ending.enter) == [True]
    ending.forget()
    began = time.monotonic()
    ending.begin()
    assert time.monotonic() - began < 9


def test_late_threads_are_kept_inside_and_the_others_waited_for() -> None:
    ending = Exit()
    ending.patience_s = 0.0
    asked: list[list[int]] = []
    ended: list[bool] = []
    free = threading.Event()

    def keep(threads: list[int]) -> list[int]:
        asked.append(threads)
        return threads

    ending.ask(lambda: ended.append(ending.has_begun), keep)
    entered = threading.Event()

    def inside() -> None:
        ending.enter()
        entered.set()
        free.wait(60)

    thread = threading.Thread(target=inside)
    thread.start()
    entered.wait(60)
    ending.begin()
    assert ended == [True]
    assert asked == [[thread.ident]]
    free.set()
    thread.join()
