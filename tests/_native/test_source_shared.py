# SPDX-License-Identifier: Apache-2.0
"""One copy of a file's payload for all processes of a user, and nothing left of it."""

import multiprocessing
import os
import pathlib
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest
import torch

from torch_dts import _native
from torch_dts import open as open_file

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems have no memory that is shared like this"
)

BLOCK = 16 << 20
NUM_BLOCKS = 3


def serve(path: pathlib.Path, connection: Connection) -> None:
    """In another process: opens the source, then does what it is told and answers with numbers."""
    source = _native.source_dts(_native.file_open(path), 2)
    while True:
        command, number = connection.recv()
        if command == "keep":
            connection.send([_native.source_keep(source, number)])
        elif command == "info":
            connection.send([int(fact) for fact in _native.source_info(source)])
        elif command == "read":
            arena, _, sizes, _ = _native.source_read(source, torch.tensor([number]))
            connection.send([_native.crc32(arena[: int(sizes[0])])])


class Worker:
    """Another process with the same source; it has opened it when this returns."""

    def __init__(self, path: pathlib.Path) -> None:
        context = multiprocessing.get_context("forkserver")  # conftest.py says what it has imported
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(path, other), daemon=True)
        self.process.start()
        other.close()
        self.ask("info")

    def ask(self, command: str, number: int = 0) -> list[int]:
        self.connection.send((command, number))
        answer: list[int] = self.connection.recv()
        return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def regions(process: int | str = "self") -> dict[int, int]:
    """The shared memory that the process has mapped: inode -> resident share in bytes (Pss)."""
    found: dict[int, int] = {}
    inode = 0
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            inode = int(words[4]) if line.endswith("/memfd:torch_dts (deleted)") else 0
        elif inode and words[0] == "Pss:":
            found[inode] = found.get(inode, 0) + 1024 * int(words[1])
    return found


def names() -> list[str]:
    """The names under which memory is offered on this machine."""
    return [
        line.split()[-1]
        for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
        if "@torch_dts-" in line
    ]


@pytest.fixture
def source(written: Any) -> Iterator[int]:
    opened = _native.file_open(written.path)
    source = _native.source_dts(opened, 2)
    _native.file_close(opened)
    assert _native.source_info(source).is_shared
    yield source
    _native.source_close(source)
    assert regions() == {}


@pytest.fixture
def workers(written: Any) -> Iterator[list[Worker]]:
    started = [Worker(written.path) for _ in range(2)]
    yield started
    for worker in started:
        worker.kill()


def test_one_copy_for_all_processes(written: Any, source: int, workers: list[Worker]) -> None:
    read_here = _native.source_keep(source, 1)
    read_there = [worker.ask("keep", 1)[0] for worker in workers]
    assert [read_here, *read_there] == [1, 1, 1]
    for worker in workers:
        assert worker.ask("info") == [6, NUM_BLOCKS, BLOCK, NUM_BLOCKS * BLOCK, 1, 1]
        assert worker.ask("keep", 9) == [0]
        for i, data in enumerate(written.samples):
            expected = _native.crc32(torch.frombuffer(bytearray(data), dtype=torch.uint8)) if data else 0
            assert worker.ask("read", i) == [expected]
    assert _native.source_info(source).is_complete
    arena, offsets, sizes, _ = _native.source_read(source, torch.arange(6))
    data = arena.numpy().tobytes()
    ends = zip(offsets.tolist(), sizes.tolist(), strict=True)
    assert [data[at : at + size] for at, size in ends] == written.samples
    # The same memory, and what it takes of the machine is one payload (and one page of states).
    mapped = [regions(), *(regions(worker.process.pid or 0) for worker in workers)]
    assert len({tuple(region) for region in mapped}) == 1
    assert [len(region) for region in mapped] == [1, 1, 1]
    total = sum(share for region in mapped for share in region.values())
    assert total <= NUM_BLOCKS * BLOCK + (64 << 10)


def test_it_is_named_by_user_and_fingerprint(written: Any, source: int) -> None:
    with open_file(written.path) as file:
        assert f"@torch_dts-{os.geteuid()}-{file.fingerprint}" in names()


def test_nothing_is_left_of_processes_that_were_killed(written: Any, workers: list[Worker]) -> None:
    before = set(os.listdir("/dev/shm"))
    maker, other = workers[0], workers[1]
    assert maker.ask("keep", 2) == [2]
    assert other.ask("info")[2:5] == [BLOCK, 2 * BLOCK, 1]
    maker.kill()
    # Who has the memory keeps it, and goes on.
    assert other.ask("keep", 9) == [1]
    assert other.ask("info")[3:] == [NUM_BLOCKS * BLOCK, 1, 1]
    # The name is free, so a newcomer makes another memory.
    newcomer = Worker(written.path)
    assert newcomer.ask("info")[3:] == [0, 1, 0]
    assert set(regions(newcomer.process.pid or 0)) != set(regions(other.process.pid or 0))
    other.kill()
    newcomer.kill()
    with open_file(written.path) as file:
        assert not [name for name in names() if file.fingerprint in name]
    assert set(os.listdir("/dev/shm")) == before


def test_a_process_that_dies_while_it_reads_is_replaced(
    written: Any, tmp_path: pathlib.Path, source: int
) -> None:
    # Killed at no chosen moment: whatever it had begun, the others complete it.
    for _ in range(5):
        worker = Worker(written.path)
        assert worker.ask("info")[4] == 1
        worker.connection.send(("keep", 1))
        worker.kill()
    _native.source_keep(source)
    info = _native.source_info(source)
    assert info.is_complete
    assert info.held_bytes == NUM_BLOCKS * BLOCK
    arena, offsets, sizes, _ = _native.source_read(source, torch.arange(6))
    data = arena.numpy().tobytes()
    ends = zip(offsets.tolist(), sizes.tolist(), strict=True)
    assert [data[at : at + size] for at, size in ends] == written.samples


def test_a_forked_child_neither_ends_nor_keeps_it(written: Any, source: int) -> None:
    _native.source_keep(source, 1)
    child = os.fork()
    if child == 0:
        try:
            same = _native.source_info(source).held_bytes == BLOCK
            _native.source_close(source)
            os._exit(0 if same else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    # Still offered to others.
    worker = Worker(written.path)
    assert worker.ask("info")[3:5] == [BLOCK, 1]
    worker.kill()
    assert _native.source_keep(source) == NUM_BLOCKS - 1


def test_sources_of_one_process_share_it_too(written: Any, source: int) -> None:
    opened = _native.file_open(written.path)
    again = _native.source_dts(opened, 2)
    assert _native.source_keep(again) == NUM_BLOCKS
    assert _native.source_info(source).is_complete
    assert len(regions()) == 1
    _native.source_close(again)
    _native.file_close(opened)
