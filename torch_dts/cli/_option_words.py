# SPDX-License-Identifier: Apache-2.0
"""Messages of the library with arguments in Python's spelling -> those of the command line.

overwrite=True -> --overwrite, on_error='skip' -> --on-error skip, block_size=32 * 2**20 -> --block-size 32MiB
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection

_MIB = 1 << 20
_NO_OPTIONS = frozenset({"command", "run", "source", "file", "directory"})
_OTHER_NAMES = {"output": "path"}  # as Python calls it
# Not inside of a path or a word, such as "data/split=train/x.jpg".
_BEFORE, _AFTER = r"(?<![\w/\\'\"=.-])", r"(?![\w/\\])"
_VALUE = r"'(?P<text>[^'\s]*)'|(?P<mib>\d+) \* 2\*\*20|(?P<number>\d+(?:\.\d+)?)|(?P<word>True|False|None)"


def option_names(args: argparse.Namespace) -> list[str]:
    """What the command's options are called in Python."""
    return [_OTHER_NAMES.get(name, name) for name in vars(args) if name not in _NO_OPTIONS]


def as_options(text: str, names: Collection[str]) -> str:
    """The text with `names`, where they are followed by "=", as the options that they are.

    Args:
        names: Of arguments that are options of the command, in Python's spelling.
    """
    if not names:
        return text
    which = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    pattern = re.compile(rf"{_BEFORE}(?P<name>{which})=(?:(?:{_VALUE}){_AFTER}|(?=[\s,;:.)]|$))")
    return pattern.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name = "output" if found["name"] == "path" else found["name"]
    option = "--" + name.replace("_", "-")
    if found["word"] == "False" or (found["word"] == "None" and found["name"] != "restart_interval"):
        return f"no {option}"
    if found["word"] == "None":
        return f"{option} none"
    if found["mib"]:
        return f"{option} {found['mib']}MiB"
    if found["number"] and found["name"] == "block_size" and int(found["number"]) % _MIB == 0:
        return f"{option} {int(found['number']) // _MIB}MiB"
    value = found["text"] or found["number"]
    return f"{option} {value}" if value else option
