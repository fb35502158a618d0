# SPDX-License-Identifier: Apache-2.0
"""One conversion at a time writes a file: locks that the kernel gives back, however a process ends.

    <target>.lock   an empty file, locked from the first look at the target to the end, then deleted

A killed conversion leaves the file, which locks nothing any more and is taken over by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import stat
from collections.abc import Iterator, Sequence

LOCK_SUFFIX = ".lock"


@contextlib.contextmanager
def locked_targets(paths: Sequence[str]) -> Iterator[None]:
    """Nobody else converts to any of these files meanwhile, in this process or another.

    Raises:
        BlockingIOError: Another conversion is writing one of them.
        OSError: There is no place for the file of a lock.
    """
    with contextlib.ExitStack() as stack:
        for path in paths:
            stack.enter_context(_locked(path))
        yield


def open_locked(path: str, target: str) -> io.BufferedRandom:
    """Opens or makes a file to read and write, locked until it is closed.

    Where the file system has no locks, it is open without one.

    Args:
        target: The file that errors name.

    Raises:
        BlockingIOError: It is locked by another conversion.
        OSError: It can't be opened.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _lock(descriptor, target)
            # Its owner may have deleted it since it was opened: then the lock keeps nobody out.
            if _is_at(path, descriptor):
                return os.fdopen(descriptor, "r+b")
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextlib.contextmanager
def _locked(target: str) -> Iterator[None]:
    path, owner = target + LOCK_SUFFIX, os.getpid()
    with open_locked(path, target) as file:
        try:
            yield
        finally:
            # A forked child holds a copy of this; the lock is its parent's. Another's file stays.
            if os.getpid() == owner:
                found = os.fstat(file.fileno())
                with contextlib.suppress(FileNotFoundError):
                    if stat.S_ISREG(found.st_mode) and not found.st_size and _is_at(path, file.fileno()):
                        os.unlink(path)
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)  # for copies in forked processes, too


def _lock(descriptor: int, target: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise BlockingIOError(
                errno.EWOULDBLOCK, "another conversion is writing this file now", target
            ) from error
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
