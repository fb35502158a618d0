# SPDX-License-Identifier: Apache-2.0
"""Cold files: takes files out of the page cache, and counts what is in it.

posix_fadvise(POSIX_FADV_DONTNEED) needs no rights, touches nothing but the files named, and drops
pages that are clean; so files are written out first. mincore then says which pages are still there.
Inodes and directories stay in memory: only /proc/sys/vm/drop_caches drops them, for the whole
machine, and only root may write to it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pathlib
from collections.abc import Iterable

DROP_CACHES = pathlib.Path("/proc/sys/vm/drop_caches")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def resident_bytes(path: str | os.PathLike[str]) -> int:
    """Bytes of a file that are in the page cache, whole pages counted.

    The kernel tells the truth to those who own the file or may write to it, and calls all pages
    resident to others.

    Raises:
        OSError: The file can't be opened or mapped.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return 0
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), f"{path}: mmap failed")
        try:
            pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
            if _libc.mincore(address, size, pages) != 0:
                raise OSError(ctypes.get_errno(), f"{path}: mincore failed")
            return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE
        finally:
            _libc.munmap(address, size)
    finally:
        os.close(descriptor)


def drop(paths: Iterable[str | os.PathLike[str]]) -> float:
    """Drops the files' pages.

    Returns:
        The share of the bytes that is in the page cache all the same, 0.0 where all is gone.
    """
    all_bytes = left = 0
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            all_bytes += os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        left += resident_bytes(path)
    return left / all_bytes if all_bytes else 0.0


def drop_everything() -> None:
    """Drops all clean pages, inodes and directories of the whole machine.

    Raises:
        PermissionError: This process may not.
    """
    os.sync()
    DROP_CACHES.write_text("3\n", encoding="ascii")
