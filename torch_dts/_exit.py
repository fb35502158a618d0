# SPDX-License-Identifier: Apache-2.0
"""Daemon threads at the end of the interpreter: none may be inside of an op when it is taken apart.

A thread that comes back from an op asks for the GIL. While the interpreter is taken apart it
does not get it: Python ends the thread there, below C++ frames that can't be left in this way,
and the whole process aborts. So the end lets no more of them in, asks the ops to give up between
two images or blocks, and waits. A thread that is still inside of an op after that stays there
(csrc/ops/ending.h): when its op is done it sleeps, and never asks for the GIL. What the end can't
help: such a thread may still be reading or decoding one image while the C++ libraries are ended; and
threads that call ``torch.ops.torch_dts`` themselves are not known here, and may still abort the process.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable

_PATIENCE_S = 10.0  # of the end, with threads that don't come back


class Exit:
    """Knows the threads, apart from the main one, that are inside; and whether the end has begun."""

    def __init__(self) -> None:
        self._inside: dict[int, int] = {}  # how deep, by thread; each step is one whole operation
        self._closers: list[Callable[[], None]] = []
        self._end_ops: Callable[[], None] = _nothing
        self._keep: Callable[[list[int]], Iterable[int]] = _none
        self.patience_s = _PATIENCE_S
        self.has_begun = False

    def watch(self, close: Callable[[], None]) -> None:
        """Calls `close` when the interpreter ends, before it waits for threads: it wakes them."""
        self._closers.append(close)

    def ask(self, end_ops: Callable[[], None], keep: Callable[[list[int]], Iterable[int]]) -> None:
        """How the end talks to ops.

        Args:
            end_ops: Asks all that run in other threads to give up.
            keep: Takes threads; those of them that are inside of an op never come back from it, and
                it returns which these are.
        """
        self._end_ops, self._keep = end_ops, keep

    def enter(self) -> bool:
        """A thread goes inside; False: it must not, for the interpreter ends without it."""
        thread = threading.get_ident()
        if thread == threading.main_thread().ident:
            return True
        self._inside[thread] = self._inside.get(thread, 0) + 1
        if self.has_begun and self._inside[thread] == 1:
            del self._inside[thread]
            return False
        return True

    def leave(self) -> None:
        """A thread comes out, after an `enter` that returned True."""
        thread = threading.get_ident()
        depth = self._inside.get(thread, 1) - 1  # of the main thread there is nothing
        if depth:
            self._inside[thread] = depth
        else:
            self._inside.pop(thread, None)

    def leave_thread(self) -> None:
        """Ends, without a word, a daemon thread that goes on while the interpreter ends.

        Raises:
            SystemExit: This is such a thread, and it is not inside any more.
        """
        thread = threading.get_ident()
        if self.has_begun and thread not in self._inside and thread != threading.main_thread().ident:
            raise SystemExit

    def forget(self) -> None:
        """In a forked child the other threads do not exist."""
        self._inside.clear()

    def begin(self) -> None:
        """The interpreter ends: wakes the threads inside, waits for them, and keeps the late ones inside.

        A thread that is neither in an op nor out, but in Python code between two ops, is waited
        for once more as long: it may be about to ask for the GIL.
        """
        self.has_begun = True
        self._end_ops()
        for close in self._closers:
            close()
        self._wait(self._threads)
        kept: set[int] = set()

        def left() -> list[int]:
            kept.update(self._keep(self._threads()))
            return [thread for thread in self._threads() if thread not in kept]

        self._wait(left)

    def _threads(self) -> list[int]:
        return list(self._inside)

    def _wait(self, threads: Callable[[], list[int]]) -> None:
        """Returns when there are none of them, or its patience is over."""
        end = time.monotonic() + self.patience_s
        while threads() and time.monotonic() < end:
            time.sleep(0.002)


def _nothing() -> None:
    pass


def _none(threads: list[int]) -> Iterable[int]:
    return ()


the_exit = Exit()
# Python runs what was registered last first, and all finalizers where the first one was made:
# they close files that threads inside still read.
weakref.finalize(the_exit, bool)
atexit.register(the_exit.begin)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=the_exit.forget)
