# SPDX-License-Identifier: Apache-2.0
"""The temporary file for samples without a file."""

from __future__ import annotations

import errno
import io
import os
import pathlib
import tempfile
from typing import BinaryIO

import pytest
import torch

from torch_dts.convert._spool import Spool, as_bytes


def open_raw_full() -> io.RawIOBase:
    """A file that takes no byte."""

    class Full(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def writable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return True

        def seek(self, offset: int, whence: int = 0) -> int:
            return offset

        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    return Full()


def test_bytes_come_back_from_their_places(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path))
    parts = [b"first", b"", bytearray(b"second"), memoryview(b"third!")]
    places = [spool.append(part) for part in parts]
    spool.finish()
    assert places == [(0, 5), (5, 0), (5, 6), (11, 6)]
    assert [spool.read(*place) for place in places] == [b"first", b"", b"second", b"third!"]
    arena = torch.zeros(20, dtype=torch.uint8)
    spool.read_into([11, 0], [2, 10], [6, 5], arena)
    assert bytes(arena.tolist()) == b"\0\0third!\0\0first\0\0\0\0\0"
    spool.close()
    spool.close()


def test_no_name_is_left(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path))
    spool.append(b"x" * 100)
    spool.finish()
    assert os.listdir(tmp_path) == []
    spool.close()


def test_reading_behind_the_end_is_an_error(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path))
    spool.append(b"abc")
    spool.finish()
    with pytest.raises(OSError, match="read 2 of 5 bytes"):
        spool.read(1, 5)
    spool.close()


@pytest.mark.parametrize("size", [1, 1 << 21])
def test_a_full_disk_names_the_folder(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Small samples meet the full disk when the buffer is written, large ones at once."""

    def open_full(**_: object) -> BinaryIO:
        return io.BufferedRandom(open_raw_full(), 1 << 20)

    monkeypatch.setattr(tempfile, "TemporaryFile", open_full)
    spool = Spool(str(tmp_path))

    def fill() -> None:
        spool.append(b"x" * size)
        spool.finish()

    with pytest.raises(OSError, match=r"No space left.*temporary copy of the samples") as caught:
        fill()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path))
    spool.close()


def test_a_folder_that_can_t_be_written(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="temporary copy"):
        Spool(str(tmp_path / "missing"))


def test_as_bytes() -> None:
    assert bytes(as_bytes(torch.tensor([1, 2, 255], dtype=torch.uint8))) == b"\x01\x02\xff"
    assert bytes(as_bytes(torch.arange(6, dtype=torch.uint8)[::2])) == b"\0\2\4"
    assert len(as_bytes(torch.empty(0, dtype=torch.uint8))) == 0
