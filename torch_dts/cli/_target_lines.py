# SPDX-License-Identifier: Apache-2.0
"""``--targets FILE``: a class number or name a line, for ``convert(targets=)``."""

from __future__ import annotations

import os
import re

from torch_dts._paths import display

_MAX_FILE_BYTES = 1 << 30
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


def read_target_lines(path: str) -> list[int] | list[str]:
    """The lines of a text file, as numbers where all are such; spaces around them don't count.

    Raises:
        ValueError: An empty file or line, or no text.
        OSError: The file can't be read.
    """
    where = f"the file of targets {display(path)!r}"
    if os.path.getsize(path) > _MAX_FILE_BYTES:
        raise ValueError(f"{where} has {os.path.getsize(path):,} bytes, at most 2**30 are read")
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
        text = file.read()
    if "\0" in text:
        raise ValueError(f"{where} holds a NUL byte: it is no text")
    # Not splitlines(), which takes characters of names for line ends.
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if lines == [""]:
        raise ValueError(f"{where} is empty")
    if "" in lines:
        raise ValueError(
            f"{where}, line {lines.index('') + 1} is empty: there must be one class number or class name a "
            "line, for each sample in the order of the source"
        )
    return [int(line) for line in lines] if all(map(_WHOLE.fullmatch, lines)) else lines
