# SPDX-License-Identifier: Apache-2.0
"""Loaders that are left, broken off, forked, pickled, interrupted or closed: no hang, nothing left."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_PHOTOS, RANDOM, hashes, same
from PIL import Image
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader import _engine
from torch_dts.loader._data_loader import DataLoader

TASKS = pathlib.Path("/proc/self/task")
needs_tasks = pytest.mark.skipif(not TASKS.is_dir(), reason="this system does not list its threads in /proc")


def file_loader(path: pathlib.Path, **kwargs: Any) -> DataLoader:
    dataset = torch_dts.DTSDataset(path, RANDOM)
    return DataLoader(dataset, **{"batch_size": 4, "shuffle": True, "seed": 5, "num_workers": 2, **kwargs})


def num_threads() -> int:
    return len(os.listdir(TASKS))


def settled(count: Callable[[], int], expected: int) -> int:
    """`count()`, after up to 5 s for it to come down to `expected`: threads leave /proc late."""
    end = time.monotonic() + 5
    while count() > expected and time.monotonic() < end:
        time.sleep(0.01)
    return count()


@needs_tasks
def test_breaking_off_leaves_nothing(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    for _ in range(20):
        next(iter(loader))
    gc.collect()
    threads, handles = num_threads(), len(os.listdir("/proc/self/fd"))
    for _ in range(300):
        next(iter(loader))
    assert num_threads() == threads
    assert len(os.listdir("/proc/self/fd")) == handles
    loader.set_epoch(0)
    assert hashes(loader) == hashes(file_loader(photos_file))


def test_breaking_off_leaves_no_samples_for_python(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(6):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "a" / f"{number}.tif")
    loader = DataLoader(ImageFolder(tmp_path, FIXED), 1, num_workers=1)
    for _ in range(4):
        next(iter(loader))
    workers = loader._run._foreign._workers
    assert workers is not None
    assert workers._pool is not None
    assert (workers._pool._wanted, workers._pool._done) == (set(), {})
    assert len(list(loader)) == 6


@needs_tasks
def test_threads_end_with_the_loader(photos_file: pathlib.Path) -> None:
    list(file_loader(photos_file))  # whatever torch starts itself is there now
    gc.collect()
    threads = num_threads()
    for leave in ("exhausted", "broken off", "closed", "kept iterator"):
        loader = file_loader(photos_file, num_workers=3)
        batches = iter(loader)
        next(batches)
        assert num_threads() >= threads + 3
        if leave == "exhausted":
            assert len(list(batches)) == 5
        elif leave == "closed":
            loader.close()
        del loader
        if leave == "kept iterator":
            assert len(list(batches)) == 5
        del batches
        gc.collect()
        assert settled(num_threads, threads) == threads, leave


def test_two_iterators_at_once(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    expected = [hashes(loader) for _ in range(2)]
    loader = file_loader(photos_file)
    one, other = iter(loader), iter(loader)
    batches = [(next(one), next(other)) for _ in range(6)]
    assert hashes(batch for batch, _ in batches) == expected[0]
    assert hashes(batch for _, batch in batches) == expected[1]
    assert next(one, None) is next(other, None) is None


def test_an_exception_in_the_loop_ends_the_epoch(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="division"):
            [1 // (1 - number) for number, _ in enumerate(loader)]
    loader.set_epoch(0)
    assert hashes(loader) == hashes(file_loader(photos_file))


def test_errors_of_the_callers_functions_do_not_end_the_epoch(photos: pathlib.Path) -> None:
    def collate(samples: list[Any]) -> Any:
        if samples[0][1] == 1:
            raise KeyError("no such class")
        return len(samples)

    loader = DataLoader(ImageFolder(photos, FIXED), 8, collate_fn=collate, num_workers=1)
    batches = iter(loader)
    assert next(batches) == 8
    with pytest.raises(KeyError, match="no such class"):
        next(batches)
    assert next(batches) == 7


def test_closing(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    expected = hashes(loader)
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.close()
    with pytest.raises(RuntimeError, match="the loader was closed while it was iterated"):
        next(batches)
    loader.set_epoch(0)
    assert hashes(loader) == expected
    assert loader.stats().num_images > NUM_PHOTOS


def test_many_loaders(photos_file: pathlib.Path) -> None:
    expected = hashes(file_loader(photos_file))
    assert all(hashes(file_loader(photos_file)) == expected for _ in range(30))


def test_iterators_in_several_threads(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    expected = [hashes(loader) for _ in range(15)]
    loader.set_epoch(0)
    found: list[list[str]] = []

    def read() -> None:
        for _ in range(5):
            found.append(hashes(loader))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(expected)


# ---- time ----


def test_a_batch_that_does_not_come_in_time(photos: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = DataLoader(ImageFolder(photos, FIXED), 4, num_workers=1, timeout=0.3)
    expected = list(loader)
    native_next = _engine.Engine.next
    is_blocked = True

    def blocked(engine: Any, timeout_ms: int) -> Any:
        if is_blocked:
            time.sleep(timeout_ms / 1000)
            empty = torch.empty(0, dtype=torch.int64)
            return _engine.TIMEOUT, [], empty, empty, empty
        return native_next(engine, timeout_ms)

    monkeypatch.setattr(_engine.Engine, "next", blocked)
    batches = iter(loader)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.3 seconds"):
        next(batches)
    assert 0.3 <= time.monotonic() - began < 5
    is_blocked = False
    assert same(list(batches), expected)  # it was only late


# ---- processes ----


def child_of(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child, which has 60 s."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = pickle.dumps(work())
        except BaseException as error:
            result = pickle.dumps(repr(error))
        os.write(writing, result)
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + 60
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.01)
    with os.fdopen(reading, "rb") as pipe:
        return pickle.loads(pipe.read())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.parametrize("mode", ["partial", "fully"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads(mode: Any, blocks_file: pathlib.Path) -> None:
    loader = file_loader(blocks_file, mode=mode)
    expected = hashes(loader)
    loader.set_epoch(0)
    batches = iter(loader)
    first = next(batches)

    def work() -> Any:
        try:
            next(batches)
        except RuntimeError as error:
            text = str(error)
        loader.set_epoch(0)
        return text, hashes(loader)

    text, found = child_of(work)
    assert text.startswith("this iterator was made in another process")
    assert found == expected
    assert hashes([first, *batches]) == expected


def hash_in_child(loader: DataLoader, queue: Any) -> None:
    queue.put(hashes(loader))


def test_fresh_processes_get_the_loader_by_pickle(photos_file: pathlib.Path, fresh: Any) -> None:
    loader = file_loader(photos_file)
    batches = iter(loader)
    next(batches)
    queue = fresh.Queue()
    child = fresh.Process(target=hash_in_child, args=(loader, queue))
    child.start()
    found = queue.get(timeout=120)
    child.join(60)
    assert child.exitcode == 0
    assert found == hashes(loader)


class Wrapped(torch.utils.data.IterableDataset[Any]):
    """A loader inside of torch's own."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader

    def __iter__(self) -> Any:
        return iter(self.loader)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_inside_of_torchs_worker_processes(photos_file: pathlib.Path) -> None:
    loader = file_loader(photos_file)
    list(loader)
    loader.set_epoch(0)
    outer = torch.utils.data.DataLoader(Wrapped(loader), batch_size=None, num_workers=1)
    assert hashes(outer) == hashes(file_loader(photos_file))


# Imports once, then runs each case in a forked child that exits as a program does.
PROGRAM = """
import json, os, signal, sys, tempfile, threading, time, torch_dts
from torch_dts.loader import _engine
from torch_dts.loader._data_loader import DataLoader
from torchvision import transforms
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
transform = transforms.Compose([transforms.RandomResizedCrop(16), transforms.ToTensor()])
parents = DataLoader(torch_dts.DTSDataset(sys.argv[1], transform), 4, mode="partial", num_workers=2)
running = iter(parents)
next(running)
results = []
for case in json.loads(sys.argv[2]):
    written = tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
        loader = DataLoader(torch_dts.DTSDataset(sys.argv[1], transform), 4, shuffle=True, num_workers=2)
        batches = iter(loader)
        next(batches)
        exec(case, globals())
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    written.seek(0)
    results.append((status, written.read().decode()))
assert len(list(running)) == 5
print(json.dumps(results))
"""

EXITS = {
    "other = iter(loader)\nnext(other)\nloader.self = loader\nbatches.self = batches\nsys.exit(3)": (3, ""),
    # a daemon thread that is iterating at the exit
    "def forever():\n"
    "    while True:\n"
    "        for _ in loader: pass\n"
    "threading.Thread(target=forever, daemon=True).start()\n"
    "time.sleep(0.2)": (0, ""),
    # what a running loader of its parent gives a child
    "del batches\nprint(len(list(parents)), [len(b) for _, b in parents])": (0, "6 [4, 4, 4, 4, 4, 3]\n"),
    # a thread lets go of an iterator when the end has begun
    "from torch_dts._exit import the_exit\n"
    "held = [batches]\n"
    "del batches\n"
    "the_exit.has_begun = True\n"
    "thread = threading.Thread(target=held.clear)\n"
    "thread.start()\n"
    "thread.join()\n"
    "sys.exit(4)": (4, ""),
    # Ctrl-C during a wait: at once, and the next loop works
    "def blocked(engine, timeout_ms):\n"
    "    time.sleep(timeout_ms / 1000)\n"
    "    return (_engine.TIMEOUT, *native(engine, 0)[1:])\n"
    "native, _engine.Engine.next = _engine.Engine.next, blocked\n"
    "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
    "began = time.monotonic()\n"
    "try:\n"
    "    next(batches)\n"
    "except KeyboardInterrupt:\n"
    "    took = time.monotonic() - began\n"
    "    _engine.Engine.next = native\n"
    "    print(took < 5, len(list(batches)), len(list(loader)))": (0, "True 0 6\n"),
    # nobody catches it: Python ends the process by the signal
    "os.kill(os.getpid(), signal.SIGINT)\nfor _ in loader: pass": (-signal.SIGINT, ""),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
def test_exits(photos_file: pathlib.Path) -> None:
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(photos_file), json.dumps(list(EXITS))],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    results = [(status, text) for status, text in json.loads(program.stdout)]
    *others, interrupted = results
    assert others == list(EXITS.values())[:-1]
    # Uncaught, its traceback is all there is to read.
    assert interrupted[0] == -signal.SIGINT
    assert interrupted[1].startswith("Traceback")
    assert interrupted[1].strip().endswith("KeyboardInterrupt")
