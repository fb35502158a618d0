# SPDX-License-Identifier: Apache-2.0
"""The pool of processes: results by key, deaths, and that nobody waits for ever."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PIL import Image

from torch_dts.loader._foreign_pool import Pixels, ProcessPool, Task

Finish = Callable[[list[Task], Pixels], list[Any]]


def sizes(tasks: list[Task], pixels: Pixels) -> list[Any]:
    return [row[1:] if row.num_bytes else None for row in pixels.rows]


def task(key: Any, width: int = 2, data: bytes | None = None) -> Task:
    file = io.BytesIO()
    Image.new("RGB", (width, 3)).save(file, "BMP")
    return Task(key, file.getvalue() if data is None else data, 0, 0, 0, 0)


@pytest.fixture
def make() -> Iterator[Callable[..., ProcessPool]]:
    pools: list[ProcessPool] = []

    def make_pool(num_processes: int = 1, finish: Finish = sizes) -> ProcessPool:
        pools.append(ProcessPool(num_processes, "RGB", finish))
        return pools[-1]

    yield make_pool
    for pool in pools:
        pool.stop()


def test_results_by_key(make: Callable[..., ProcessPool]) -> None:
    pool = make(2)
    assert pool.pids == []
    for i in range(50):
        pool.submit(task(i, width=i + 1))
    pool.submit(task("bad", data=b"bad"))
    for i in reversed(range(50)):
        done = pool.take(i)
        assert (done.images, done.error, done.task.key) == ((3, i + 1, 3), None, i)
    assert pool.take("bad").images is None
    assert 1 <= len(pool.pids) <= 2
    with pytest.raises(KeyError, match="49"):
        pool.take(49)


def test_one_sample_starts_one_process(make: Callable[..., ProcessPool]) -> None:
    pool = make(3)
    for i in range(5):
        pool.submit(task(i))
        pool.take(i)
    assert len(pool.pids) == 1


def test_death_fails_what_it_had_and_no_more(make: Callable[..., ProcessPool]) -> None:
    pool = make()
    pool.submit(task("first"))
    pool.take("first")
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    pool.submit(task("lost"))
    time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    error = pool.take("lost").error
    assert isinstance(error, RuntimeError)
    assert f"(pid {pid}) was killed by SIGKILL" in str(error)
    pool.submit(task("next"))
    assert pool.take("next").images == (3, 2, 3)


@pytest.mark.parametrize("is_greeted", [True, False])
def test_process_that_ends_by_itself(
    make: Callable[..., ProcessPool], monkeypatch: pytest.MonkeyPatch, is_greeted: bool
) -> None:
    class GoneAtOnce(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    if not is_greeted:
        monkeypatch.setattr(subprocess, "Popen", GoneAtOnce)
    monkeypatch.setattr("torch_dts.loader._foreign_worker.command", lambda: ["/bin/sh", "-c", "exit 3", "sh"])
    pool = make()
    pool.submit(task(0))
    assert "ended with exit code 3" in str(pool.take(0).error)


def test_process_that_cannot_start(make: Callable[..., ProcessPool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_dts.loader._foreign_worker.command", lambda: ["/no/such/program"])
    pool = make(2)
    for i in range(30):
        pool.submit(task(i))
    for i in range(30):
        assert "no process for Pillow could be started" in str(pool.take(i).error)


def test_errors_of_the_native_part_are_the_tasks(make: Callable[..., ProcessPool]) -> None:
    def fail(tasks: list[Task], pixels: Pixels) -> list[Any]:
        raise ValueError("a wrong plan")

    pool = make(finish=fail)
    pool.submit(task(0))
    assert str(pool.take(0).error) == "a wrong plan"


def test_stop_ends_waiting_and_processes(make: Callable[..., ProcessPool]) -> None:
    pool = make()
    pool.submit(task(0))
    pool.take(0)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    pool.submit(task(1))
    timer = threading.Timer(0.2, pool.stop)
    timer.start()
    with pytest.raises(RuntimeError, match="were closed"):
        pool.take(1)
    timer.join()
    pool.stop()
    assert not os.path.exists(f"/proc/{pid}")
    assert "torch_dts foreign" not in [
        thread.name for thread in threading.enumerate() if thread is pool._thread
    ]


def test_ctrl_c_reaches_no_process(make: Callable[..., ProcessPool]) -> None:
    pool = make()
    pool.submit(task(0))
    pool.take(0)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGINT)
    pool.submit(task(1))
    assert pool.take(1).images == (3, 2, 3)
    assert pool.pids == [pid]


def test_nothing_outlives_its_program() -> None:
    code = (
        "import io, os, signal, sys\n"
        "from PIL import Image\n"
        "from torch_dts.loader._foreign_pool import ProcessPool, Task\n"
        "file = io.BytesIO(); Image.new('RGB', (2, 2)).save(file, 'BMP')\n"
        "for how in ('exit', 'kill'):\n"
        "    program = os.fork()\n"
        "    if program:\n"
        "        os.waitpid(program, 0)\n"
        "        continue\n"
        "    pool = ProcessPool(1, 'RGB', lambda tasks, pixels: [1 for _ in tasks])\n"
        "    pool.submit(Task(0, file.getvalue(), 0, 0, 0, 0)); pool.take(0)\n"
        "    print(pool.pids[0], flush=True)\n"
        "    if how == 'kill': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    break\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    pids = list(map(int, done.stdout.split()))
    assert len(pids) == 2
    for pid in pids:
        for _ in range(200):
            if not os.path.exists(f"/proc/{pid}"):
                break
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{pid}")
