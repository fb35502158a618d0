# SPDX-License-Identifier: Apache-2.0
"""Printing that never fails: closed pipes, names that the terminal can't show."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import TextIO


def make_printable() -> None:
    """Characters that stdout or stderr can't encode come out escaped instead of as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def emit(text: str) -> None:
    """Prints a line (or several) to stdout."""
    _write(sys.stdout, text)


def emit_error(text: str) -> None:
    """Prints a line (or several) to stderr."""
    _write(sys.stderr, text)


def flush() -> None:
    """Writes out what is left, while a closed pipe can still be dealt with.

    Raises:
        OSError: It can't be written, as on a full disk.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _quietly(stream.flush, stream)


def human_bytes(num_bytes: float) -> str:
    """A size as people read it: ``512 bytes``, ``1.5 KiB``, ``137.0 GiB``."""
    if num_bytes < 1024:
        return f"{num_bytes:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        num_bytes /= 1024
        if num_bytes < 1024:
            return f"{num_bytes:.1f} {unit}"
    return f"{num_bytes / 1024:.1f} TiB"


def two_columns(rows: Iterable[tuple[str, str]]) -> str:
    """Lines with the names in one column and the values in the next."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # None: the process was started with it closed
        _quietly(lambda: stream.write(text + "\n"), stream)


def _quietly(write: Callable[[], object], stream: TextIO) -> None:
    try:
        write()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        # The reader (`| head`) has enough: what follows goes nowhere, the work goes on.
        if not isinstance(error, BrokenPipeError):
            raise
