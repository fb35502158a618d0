# SPDX-License-Identifier: Apache-2.0
"""Processes that decode images with Pillow, and the thread that feeds them and runs the plan.

The thread starts the processes as samples come, gives each a few samples at a time, and
does the native part of the work to what they send back, so that whoever asks for a sample
finds it done.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageFile

from torch_dts.loader import _foreign_worker as protocol

_MOST_SAMPLES = 8  # of a message
_MOST_BYTES = 8 << 20
_MOST_MESSAGES = 2  # in a process at a time: one being decoded, one waiting
_EXIT_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Task:
    """A sample to decode.

    Attributes:
        key: Of the caller's.
        data: Encoded.
        index, occurrence, seed, epoch: Its random choices.
    """

    key: Hashable
    data: bytes
    index: int
    occurrence: int
    seed: int
    epoch: int


@dataclass(frozen=True, eq=False)
class Pixels:
    """What a process sent back.

    Attributes:
        memory: Holds the pixels of all samples.
        start: Where they begin.
        rows: One for each sample.
    """

    memory: Any
    start: int
    rows: list[protocol.Row]


@dataclass(frozen=True, eq=False)
class Done:
    """A task that is finished.

    Attributes:
        task: The task.
        images: The result of each view; None where it is to be done (and to fail) where it is asked for.
        warned: Category, text, file and line of Pillow's warnings.
        error: Why the task was not done.
    """

    task: Task
    images: Any = None
    warned: tuple[tuple[type[Warning], str, str, int], ...] = ()
    error: Exception | None = None


class _Process:
    def __init__(self, mode: str) -> None:
        self.socket, theirs = socket.socketpair()
        try:
            self.popen = subprocess.Popen(
                [*protocol.command(), str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        except BaseException:
            self.socket.close()
            raise
        finally:
            theirs.close()
        self.messages: deque[list[Task]] = deque()
        # A process that ended at once is found when its tasks are sent, or its socket is read.
        with contextlib.suppress(OSError):
            protocol.send(self.socket, protocol.Header(0, 0, 0, 0), [], [], protocol.first_message(mode))

    def send(self, tasks: list[Task]) -> None:
        limit = Image.MAX_IMAGE_PIXELS
        header = protocol.Header(
            len(tasks), -1 if limit is None else int(limit), int(ImageFile.LOAD_TRUNCATED_IMAGES), 0
        )
        self.messages.append(tasks)
        rows = [protocol.Row(len(task.data)) for task in tasks]
        protocol.send(self.socket, header, rows, [task.data for task in tasks])

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.socket.close()
        self.popen.kill()
        self.popen.wait()

    def how_it_ended(self) -> str:
        try:
            code = self.popen.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"


class ProcessPool:
    """See the head of the file.

    Args:
        num_processes: At most; they are started when there is work for them.
        mode: Of the images: RGB or L.
        finish: Makes the results of a message; runs in the pool's thread.

    Thread-safe. After a fork the child can only forget it.
    """

    def __init__(
        self, num_processes: int, mode: str, finish: Callable[[list[Task], Pixels], list[Any]]
    ) -> None:
        self._num_processes = num_processes
        self._mode = mode
        self._finish = finish
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._queue: deque[Task] = deque()
        self._done: dict[Hashable, Done] = {}
        self._wanted: set[Hashable] = set()
        self._is_stopping = False
        self._processes: list[_Process] = []
        self._selector = selectors.DefaultSelector()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="torch_dts foreign", daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Hands in a task; its key must not be under way."""
        with self._changed:
            self._queue.append(task)
            self._wanted.add(task.key)
        self._ring()

    def take(self, key: Hashable) -> Done:
        """Waits for a task and returns it, once.

        Raises:
            KeyError: It was not handed in.
            RuntimeError: The pool was stopped.
        """
        with self._changed:
            if key not in self._wanted:
                raise KeyError(key)
            # Waits return to Python now and then, where signals are looked at.
            while key not in self._done and not self._is_stopping:
                self._changed.wait(0.1)
            self._wanted.discard(key)
            if key not in self._done:
                raise RuntimeError("the processes that decode images with Pillow were closed")
            return self._done.pop(key)

    def discard(self, key: Hashable) -> None:
        """Forgets a task, whatever became of it."""
        with self._changed:
            self._wanted.discard(key)
            self._done.pop(key, None)

    @property
    def pids(self) -> list[int]:
        """The processes that were started and not found dead."""
        return [process.popen.pid for process in list(self._processes)]

    def stop(self) -> None:
        """Ends the processes and the thread. In a forked child: lets go of the connections."""
        if os.getpid() != self._pid:
            for process in self._processes:
                process.socket.close()
                process.popen.returncode = 0  # the parent's, not ours to wait for
            return
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        self._ring()
        if threading.current_thread() is not self._thread:  # garbage is collected in any thread
            self._thread.join()

    def _ring(self) -> None:
        try:
            self._ringer.send(b"\0")
        except (BlockingIOError, OSError):
            return  # it rings already, or nobody listens any more

    # ---- the thread ----

    def _run(self) -> None:
        # A process inherits this: Ctrl-C is for the one that trains, which ends the others.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            while not self._is_stopping:
                for selected, _ in self._selector.select():
                    if selected.fileobj is self._bell:
                        self._bell.recv(4096)
                    else:
                        self._hear(selected.data)
                self._dispatch()
        finally:
            with self._changed:  # whatever ended the loop, nobody is to wait for it
                self._is_stopping = True
                self._changed.notify_all()
            for process in self._processes:
                process.end()
            self._processes.clear()
            self._selector.close()
            self._bell.close()
            self._ringer.close()

    def _dispatch(self) -> None:
        while self._queue and not self._is_stopping:
            process = self._free_process()
            if process is None:
                return
            tasks = self._next_tasks()
            if not tasks:
                return
            try:
                process.send(tasks)
            except OSError:
                self._bury(process)

    def _free_process(self) -> _Process | None:
        best = min(self._processes, key=lambda process: len(process.messages), default=None)
        if (best is None or best.messages) and len(self._processes) < self._num_processes:
            try:
                started = _Process(self._mode)
            except OSError as error:
                if best is None:
                    self._fail_all(RuntimeError(f"no process for Pillow could be started ({error})"))
                    return None
            else:
                self._processes.append(started)
                self._selector.register(started.socket, selectors.EVENT_READ, started)
                return started
        return best if best is not None and len(best.messages) < _MOST_MESSAGES else None

    def _next_tasks(self) -> list[Task]:
        tasks: list[Task] = []
        num_bytes = 0
        with self._changed:
            share = len(self._queue) // (_MOST_MESSAGES * max(1, self._num_processes))
            while self._queue and len(tasks) < min(_MOST_SAMPLES, max(1, share)) and num_bytes < _MOST_BYTES:
                task = self._queue.popleft()
                if task.key in self._wanted:
                    tasks.append(task)
                    num_bytes += len(task.data)
        return tasks

    def _hear(self, process: _Process) -> None:
        if process not in self._processes:  # it was buried since the socket was looked at
            return
        try:
            message = protocol.receive(process.socket)
        except OSError:
            message = None
        if message is None:
            self._bury(process)
            return
        _, rows, memory, start, rest = message
        tasks = process.messages.popleft()
        self._dispatch()  # the process goes on while its results are worked on
        warned = pickle.loads(rest) if rest else [()] * len(tasks)
        try:
            images = self._finish(tasks, Pixels(memory, start, rows))
        except Exception as error:
            self._fail(tasks, error)
            return
        self._deliver(
            [Done(task, image, tuple(w)) for task, image, w in zip(tasks, images, warned, strict=True)]
        )

    def _bury(self, process: _Process) -> None:
        how = process.how_it_ended()
        self._selector.unregister(process.socket)
        process.end()
        self._processes.remove(process)
        error = RuntimeError(
            f"a process that decodes images with Pillow (pid {process.popen.pid}) {how}; this may be for "
            "want of memory, or an image that breaks a library Pillow uses"
        )
        self._fail([task for tasks in process.messages for task in tasks], error)

    def _fail_all(self, error: Exception) -> None:
        """Fails what waits to be sent."""
        with self._changed:
            tasks = list(self._queue)
            self._queue.clear()
        self._fail(tasks, error)

    def _fail(self, tasks: list[Task], error: Exception) -> None:
        self._deliver([Done(task, error=error) for task in tasks])

    def _deliver(self, finished: list[Done]) -> None:
        with self._changed:
            for done in finished:
                if done.task.key in self._wanted:
                    self._done[done.task.key] = done
            self._changed.notify_all()
