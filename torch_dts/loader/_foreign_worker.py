# SPDX-License-Identifier: Apache-2.0
"""A process that decodes images with Pillow, and the messages to and from it.

The process runs this file alone: neither torch nor the user's script is imported, so that it
starts in a tenth of a second and takes little memory. A message is a header through a socket
and a file in memory beside it, so that sending never waits for the other side to read.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

_HEADER = struct.Struct("<4q")
_ROW = struct.Struct("<4q")
_PARENT_CHECK_SECONDS = 5.0


class Header(NamedTuple):
    """The fixed part of a message.

    Attributes:
        num_samples: Rows of its table.
        max_pixels: Pillow's limit on pixels in the process that asks; -1: none. In an
            answer: 0.
        load_truncated: Whether Pillow is to take files that end too early.
        rest_bytes: Pickled objects behind the samples.
    """

    num_samples: int
    max_pixels: int
    load_truncated: int
    rest_bytes: int


class Row(NamedTuple):
    """A sample in a message: its bytes are behind the table, without gaps.

    Attributes:
        num_bytes: Encoded; in an answer the pixels, 0 where Pillow raised an error.
        height, width, channels: Of the pixels; 0 in a request.
    """

    num_bytes: int
    height: int = 0
    width: int = 0
    channels: int = 0


def send(
    to: socket.socket, header: Header, rows: list[Row], data: Iterable[bytes], rest: bytes = b""
) -> None:
    """Sends a message; OSError where the other side is gone."""
    descriptor = _memory_file()
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(b"".join(_ROW.pack(*row) for row in rows))
            for piece in data:
                file.write(piece)
            file.write(rest or b"\0")  # an empty file can't be mapped
        socket.send_fds(to, [_HEADER.pack(*header._replace(rest_bytes=len(rest)))], [descriptor])
    finally:
        os.close(descriptor)


def receive(source: socket.socket) -> tuple[Header, list[Row], mmap.mmap, int, bytes] | None:
    """The next message: header, table, file, where the samples begin in it, the rest.

    None where the other side closed the socket. OSError (TimeoutError) as the socket's.
    """
    head, descriptors, _, _ = socket.recv_fds(source, _HEADER.size, 1)
    try:
        while head and len(head) < _HEADER.size:
            more = source.recv(_HEADER.size - len(head))
            head = head + more if more else b""
        if not head or not descriptors:
            return None
        memory = mmap.mmap(descriptors[0], 0)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    header = Header(*_HEADER.unpack(head))
    start = header.num_samples * _ROW.size
    rows = [Row(*fields) for fields in _ROW.iter_unpack(memory[:start])]
    end = start + sum(row.num_bytes for row in rows)
    return header, rows, memory, start, memory[end : end + header.rest_bytes]


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torch_dts")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def command() -> list[str]:
    """The command that starts a process; the descriptor of its socket is to be appended."""
    code = (
        "import sys; sys.path.pop(0); import runpy; "  # the working directory may hold any names
        f"runpy.run_path({os.path.abspath(__file__)!r}, run_name='__main__')"
    )
    return [sys.executable, "-c", code]


def first_message(mode: str) -> bytes:
    """What the process needs to know: where modules are, the mode, plugins of Pillow's.

    Args:
        mode: Of the images: RGB or L.
    """
    from PIL import Image

    plugins = []
    for name, opener in Image.OPEN.items():
        if not str(getattr(opener[0], "__module__", "")).startswith("PIL."):
            # One that can't be sent is missing there; its files are then decoded here.
            with contextlib.suppress(Exception):
                plugins.append(pickle.dumps((name, opener)))
    return pickle.dumps((list(sys.path), mode, plugins))


def _serve(me: socket.socket, parent: int) -> None:
    me.settimeout(_PARENT_CHECK_SECONDS)
    begun = receive(me)
    if begun is None:
        return
    sys.path[:], mode, plugins = pickle.loads(begun[-1])
    from PIL import Image

    Image.init()
    for plugin in plugins:
        with contextlib.suppress(Exception):
            name, (factory, accept) = pickle.loads(plugin)
            Image.register_open(name, factory, accept)
    while True:
        try:
            message = receive(me)
        except TimeoutError:
            # A fork of the parent may hold the socket open after the parent's death.
            if os.getppid() != parent:
                return
            continue
        if message is None:
            return
        _answer(me, message, mode)


def _answer(me: socket.socket, message: tuple[Header, list[Row], mmap.mmap, int, bytes], mode: str) -> None:
    from PIL import Image, ImageFile

    header, rows, memory, start, _ = message
    Image.MAX_IMAGE_PIXELS = None if header.max_pixels < 0 else header.max_pixels
    ImageFile.LOAD_TRUNCATED_IMAGES = bool(header.load_truncated)
    answers, pixels, said = [], [], []
    for row in rows:
        data = memory[start : start + row.num_bytes]
        start += row.num_bytes
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                image = Image.open(io.BytesIO(data)).convert(mode)
                pixels.append(image.tobytes())
                answers.append(Row(len(pixels[-1]), image.height, image.width, len(mode)))
            except Exception:  # it is raised anew where the sample is asked for
                answers.append(Row(0))
        said.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        send(me, Header(len(rows), 0, 0, 0), answers, pixels, _pickled(said))


def _pickled(said: list[Any]) -> bytes:
    if not any(said):
        return b""
    try:
        return pickle.dumps(said)
    except Exception:  # a warning of a class that can't be sent
        return pickle.dumps([[(UserWarning, *rest) for _, *rest in each] for each in said])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _socket:
        _serve(_socket, int(sys.argv[2]))
