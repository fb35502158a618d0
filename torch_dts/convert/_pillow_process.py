# SPDX-License-Identifier: Apache-2.0
"""Pillow in worker processes: it holds the interpreter lock where it encodes."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, NamedTuple

import PIL
from PIL import Image, ImageFile

from torch_dts import _raw
from torch_dts._image_errors import image_reason
from torch_dts.convert import _levels, _pillow_worker

_Data = bytes | memoryview


class ExportRule(NamedTuple):
    """What is to be made of an image (see `_levels.export_image`)."""

    level: int = 0
    max_size: int = 0
    is_raw: bool = False


class PillowProcess:
    """One worker process. For one thread; ended by `close`, and by itself when this process ends."""

    def __init__(self) -> None:
        # A script of its own (-I: no settings from outside; the import path is sent). Its own session:
        # Ctrl-C is for this process, which then closes the pipes.
        command = [sys.executable, "-I", os.path.abspath(_pillow_worker.__file__)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        try:
            hello = {
                "path": [os.path.abspath(each) for each in sys.path],
                "levels": os.path.abspath(_levels.__file__),
                "raw": os.path.abspath(_raw.__file__),
                "max_image_pixels": Image.MAX_IMAGE_PIXELS,
                "load_truncated_images": ImageFile.LOAD_TRUNCATED_IMAGES,
            }
            data = json.dumps(hello).encode()
            self._send(struct.pack("<I", len(data)), data)
            answer = json.loads(self._read(*struct.unpack("<I", self._read(4))))
            if answer["pillow"] != PIL.__version__:
                raise RuntimeError(
                    f"Pillow's worker process has Pillow {answer['pillow']}, this process {PIL.__version__}"
                )
        except BaseException:
            self.close()
            raise

    def export(self, images: Sequence[_Data], rule: ExportRule) -> list[bytes | None]:
        """Each image as a JPEG or pixels; None for one that Pillow refused.

        Raises:
            RuntimeError: The process ended.
        """
        sizes = [memoryview(data).nbytes for data in images]
        self._send(struct.pack(f"<IIII{len(sizes)}Q", *rule, len(sizes), *sizes), *images)
        heads = [struct.unpack("<IQ", self._read(12)) for _ in images]
        results = [(ok, self._read(size)) for ok, size in heads]
        return [data if ok else None for ok, data in results]

    def close(self) -> None:
        """Ends the process. Idempotent."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:  # in the middle of an image
            self._process.kill()
            self._process.wait()

    def _send(self, *parts: _Data) -> None:
        pipe = self._pipe(self._process.stdin)
        try:
            for part in parts:
                pipe.write(part)
            pipe.flush()
        except OSError as error:
            raise self._ended() from error

    def _read(self, size: int) -> bytes:
        data = self._pipe(self._process.stdout).read(size)
        if len(data) != size:
            raise self._ended()
        return data

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None or pipe.closed:
            raise ValueError("the worker process is closed")
        return pipe

    def _ended(self) -> RuntimeError:
        code = self._process.wait()
        why = f"by signal {-code}; is there enough memory?" if code < 0 else f"with exit code {code}"
        return RuntimeError(f"a worker process of Pillow ended {why}")


class PillowPool:
    """Exports images on any number of threads, each with a worker process of its own.

    What a worker refuses is tried once more here: this process may know image types that were
    registered in it, and its reason is the one to report.
    """

    def __init__(self, has_processes: bool) -> None:
        """`has_processes`: False: all in the calling thread."""
        self._has_processes = has_processes and bool(sys.executable)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._started: list[PillowProcess] = []

    def export(self, images: Sequence[_Data], rule: ExportRule) -> list[tuple[bytes, str]]:
        """(stored bytes, "") or (b"", reason) for each image. Thread-safe."""
        found: Sequence[bytes | None] = [None] * len(images)
        if self._has_processes and images:
            found = self._process().export(images, rule)
        return [
            (data, "") if data is not None else export_here(image, rule)
            for image, data in zip(images, found, strict=True)
        ]

    def close(self) -> None:
        """Ends the processes. Idempotent."""
        with self._lock:
            started, self._started = self._started, []
        for process in started:
            process.close()

    def _process(self) -> PillowProcess:
        process: PillowProcess | None = getattr(self._own, "process", None)
        if process is None:
            process = PillowProcess()
            with self._lock:
                self._started.append(process)
            self._own.process = process
        return process


def export_here(data: _Data, rule: ExportRule) -> tuple[bytes, str]:
    """(stored bytes, "") or (b"", what is wrong with the image)."""
    try:
        if not rule.is_raw:
            return _levels.export_image(data, rule.level, rule.max_size), ""
        image = _levels.export_pixels(data, rule.level, rule.max_size, is_raw=True)
        return _raw.raw_sample(image), ""
    except MemoryError:
        raise
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged files
        return b"", image_reason(error, data)
