# SPDX-License-Identifier: Apache-2.0
"""The messages between processes, and a process by itself."""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from torch_dts.loader._foreign_worker import Header, Row, command, first_message, receive, send

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair()
    yield left, right
    left.close()
    right.close()


def image(kind: str = "PNG", mode: str = "RGB") -> tuple[bytes, Image.Image]:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    made = Image.fromarray(pixels).convert(mode)
    file = io.BytesIO()
    made.save(file, kind)
    return file.getvalue(), made


@pytest.fixture
def process(pair: Pair) -> Iterator[socket.socket]:
    mine, theirs = pair
    arguments = [*command(), str(theirs.fileno()), str(os.getpid())]
    with subprocess.Popen(arguments, pass_fds=[theirs.fileno()]) as popen:
        theirs.close()
        yield mine
        mine.close()
        assert popen.wait(20) == 0  # a closed socket ends it


@pytest.mark.parametrize("has_memfd", [True, False])
def test_messages_arrive(pair: Pair, has_memfd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create")
    before = len(os.listdir("/proc/self/fd"))
    rows = [Row(3, 1, 3, 1), Row(0), Row(5)]
    send(pair[0], Header(3, -1, 1, 0), rows, [b"abc", b"hello"], b"rest")
    send(pair[0], Header(0, 0, 0, 0), [], [])
    message = receive(pair[1])
    assert message is not None
    header, found, memory, start, rest = message
    assert header == Header(3, -1, 1, 4)
    assert found == rows
    assert memory[start : start + 8] == b"abchello"
    assert rest == b"rest"
    empty = receive(pair[1])
    assert empty is not None
    assert (empty[1], empty[4]) == ([], b"")
    memory.close()
    empty[2].close()
    assert len(os.listdir("/proc/self/fd")) == before
    pair[0].close()
    assert receive(pair[1]) is None


def test_sending_never_waits(pair: Pair) -> None:
    for _ in range(20):
        send(pair[0], Header(1, 0, 0, 0), [Row(1 << 20)], [bytes(1 << 20)])
    for _ in range(20):
        message = receive(pair[1])
        assert message is not None
        message[2].close()


def test_process_decodes_and_tells_what_pillow_said(process: socket.socket) -> None:
    good, expected = image()
    paletted, _ = image(mode="P")
    warning = io.BytesIO()
    Image.open(io.BytesIO(paletted)).save(warning, "PNG", transparency=bytes(range(200)))
    data = [good, b"bad", warning.getvalue()]
    send(process, Header(0, 0, 0, 0), [], [], first_message("RGB"))
    send(process, Header(3, 1000, 0, 0), [Row(len(each)) for each in data], data)
    message = receive(process)
    assert message is not None
    _, rows, memory, start, rest = message
    assert rows == [Row(90, 6, 5, 3), Row(0), Row(90, 6, 5, 3)]
    assert memory[start : start + 90] == expected.tobytes()
    said = pickle.loads(rest)
    assert [len(each) for each in said] == [0, 0, 1]
    category, text, filename, line = said[2][0]
    assert category is UserWarning
    assert "Transparency" in text
    assert filename.endswith("Image.py")
    assert line > 0


def test_process_decodes_gray(process: socket.socket) -> None:
    data, expected = image(mode="L")
    send(process, Header(0, 0, 0, 0), [], [], first_message("L"))
    send(process, Header(1, -1, 0, 0), [Row(len(data))], [data])
    message = receive(process)
    assert message is not None
    assert message[1] == [Row(30, 6, 5, 1)]
    assert message[2][message[3] : message[3] + 30] == expected.tobytes()


def test_plugins_of_pillow_are_known_there(process: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import ImageFile

    plugin = subprocess  # any module that the process can import, with something callable
    monkeypatch.setitem(Image.OPEN, "MINE", (plugin.Popen, None))
    monkeypatch.setitem(Image.OPEN, "LOCAL", (lambda file, name: ImageFile.ImageFile(file), None))
    path, mode, plugins = pickle.loads(first_message("RGB"))
    assert path == sys.path
    assert mode == "RGB"
    assert [pickle.loads(each) for each in plugins] == [("MINE", (plugin.Popen, None))]
    send(process, Header(0, 0, 0, 0), [], [], first_message("RGB"))
    data, _ = image()
    send(process, Header(1, -1, 0, 0), [Row(len(data))], [data])
    message = receive(process)
    assert message is not None
    assert message[1][0].num_bytes == 90
