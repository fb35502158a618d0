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
