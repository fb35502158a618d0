# SPDX-License-Identifier: Apache-2.0
"""The names of a set's volumes: ``train.dts`` in four is ``train-00000-of-00004.dts`` and so on."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

MAX_VOLUMES = 99_999
_ENDING = re.compile(r"^(?P<stem>.+)-(?P<volume>[0-9]{5})-of-(?P<count>[0-9]{5})$", re.DOTALL)


class VolumeName(NamedTuple):
    """A volume's file name, taken apart."""

    path: str
    """The path that the set would have as one file."""
    volume: int
    num_volumes: int


def volume_path(path: str, volume: int, num_volumes: int) -> str:
    """The file of a volume of the set called `path`."""
    stem, ending = os.path.splitext(path)
    return f"{stem}-{volume:05d}-of-{num_volumes:05d}{ending}"


def parse_volume_path(path: str) -> VolumeName | None:
    """What a file name says about a volume; None where it is not a volume's."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    found = _ENDING.match(stem)
    if found is None:
        return None
    return VolumeName(os.path.join(folder, found["stem"] + ending), int(found["volume"]), int(found["count"]))


def set_pattern(path: str) -> str:
    """A file's name, with a star in the place of a volume's number: files of one set have one pattern."""
    name = parse_volume_path(path)
    if name is None:
        return path
    stem, ending = os.path.splitext(name.path)
    return f"{stem}-*-of-{name.num_volumes:05d}{ending}"
