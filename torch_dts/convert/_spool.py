# SPDX-License-Identifier: Apache-2.0
"""Samples that have no file of their own, kept in one unnamed temporary file."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from torch_dts._paths import display


class Spool:
    """Encoded samples one behind the other on disk, so that each is asked for once.

    The file has no name (or one that the system removes), lies beside the target and is
    gone when closed, whatever happens. Appending is for one thread; reading is
    thread-safe once `finish` was called.

    Args:
        directory: Where the file is made.
        path: A name for it: then it stays when closed, for a later run to go on with.
        size: Bytes at its beginning that an earlier run put there; the rest is cut off.
    """

    def __init__(self, directory: str, path: str | None = None, size: int = 0) -> None:
        self._directory = directory
        try:
            if path is None:
                file = tempfile.TemporaryFile(dir=directory, buffering=1 << 20)  # noqa: SIM115 (close() does)
            else:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                file = os.fdopen(descriptor, "r+b", buffering=1 << 20)
                file.truncate(size)
                file.seek(size)
        except OSError as error:
            raise self._error(error) from error
        self._file = cast(io.BufferedRandom, file)
        self._lock = threading.Lock()
        self._end = size

    @property
    def size(self) -> int:
        """Bytes of the samples in it."""
        return self._end

    def append(self, data: bytes | bytearray | memoryview) -> tuple[int, int]:
        """Writes one sample. Returns its offset and size in bytes."""
        size = memoryview(data).nbytes
        try:
            self._file.write(data)
        except OSError as error:
            raise self._error(error) from error
        self._end += size
        return self._end - size, size

    def finish(self) -> None:
        """Makes what was appended readable, and safe from the end of this process."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._error(error) from error

    def read(self, offset: int, size: int) -> bytes:
        """The bytes of one sample."""
        out = bytearray(size)
        self._read_into(offset, memoryview(out))
        return bytes(out)

    def read_into(
        self, sources: Sequence[int], offsets: Sequence[int], sizes: Sequence[int], arena: Tensor
    ) -> None:
        """Copies samples from their places in the spool to `offsets` in `arena` (uint8)."""
        view = arena.numpy().data
        for source, offset, size in zip(sources, offsets, sizes, strict=True):
            self._read_into(source, view[offset : offset + size])

    def close(self) -> None:
        """Removes the file. Idempotent."""
        # Closing tries to write what is left, and fails again where the disk was full.
        with contextlib.suppress(OSError):
            self._file.close()

    def _read_into(self, offset: int, view: memoryview) -> None:
        # Seek and read belong together; the lock is cheap beside the page cache's copy.
        with self._lock:
            self._file.seek(offset)
            got = self._file.readinto(view)
        if got != view.nbytes:
            raise OSError(f"temporary file in {display(self._directory)}: read {got} of {view.nbytes} bytes")

    def _error(self, error: OSError) -> OSError:
        text = f"{error.strerror} (temporary copy of the samples beside the target)"
        return OSError(error.errno, text, self._directory or os.curdir)


def as_bytes(tensor: Tensor) -> memoryview:
    """The content of a 1-D uint8 tensor as bytes; no copy where it is contiguous and on the CPU."""
    return tensor.detach().to("cpu", torch.uint8).contiguous().numpy().data
