# SPDX-License-Identifier: Apache-2.0
"""From a path to the files of one data set: a file, the volumes of a set by folder, glob or first volume."""

from __future__ import annotations

import errno
import glob
import os
import struct
from collections.abc import Sequence
from typing import NamedTuple

from torch_dts import _native
from torch_dts._paths import display
from torch_dts.file._volume_names import parse_volume_path, set_pattern, volume_path

_NAMES_SHOWN = 5


class ExactFiles(os.PathLike[str]):
    """Takes the place of a path where the files are known already: no other file is looked for.

    Args:
        files: One file, or all volumes of a set.
        path: What to call them; None: the first file.
    """

    def __init__(self, files: Sequence[str], path: str | None = None) -> None:
        self.files = tuple(files)
        self._path = self.files[0] if path is None else path

    def __fspath__(self) -> str:
        return self._path


class MissingVolumesError(FileNotFoundError):
    """Volumes of a set are not there.

    Attributes:
        files: Those that are.
    """

    files: tuple[str, ...] = ()


class Claim(NamedTuple):
    """What a file says about the set it is of."""

    num_volumes: int
    volume: int


def find_files(path: str, is_rescue: bool = False) -> list[str]:
    """The files of the one data set that `path` names.

    A file is taken as it is, unless it is the first volume of a set: then the others are
    beside it. A folder, or a glob of a name that no file has, must give one file or exactly the
    volumes of one set.

    Args:
        path: Of a file or folder, or a glob.
        is_rescue: A first volume whose others can't be found is taken by itself.

    Raises:
        FileNotFoundError: There is no such file; MissingVolumesError: a volume is missing.
        ValueError: There are several data sets, or the first volume has another name than
            `torch_dts.convert` gave it.
        CorruptFileError: A damaged header tells of volumes that are not there.
    """
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            names = sorted(each.name for each in entries if each.name.endswith(".dts") and each.is_file())
        return _one_set(path, [os.path.join(path, name) for name in names], "the folder has no .dts file")
    if glob.has_magic(path) and not os.path.lexists(path):
        return _one_set(path, sorted(glob.glob(path)), "no file has such a name")
    claim = read_claim(path)
    if claim is None or claim.num_volumes == 1 or claim.volume != 0:
        return [path]
    try:
        return _beside_first(path, claim.num_volumes)
    except (MissingVolumesError, ValueError):
        if is_rescue:
            return [path]
        # A damaged header may count volumes that never were.
        _native.file_close(_native.file_open(path))
        raise


def read_claim(path: str) -> Claim | None:
    """Which volume a file is; None for what can't be read or is no file of blocks: opening it says why."""
    if not os.path.isfile(path):  # opening a FIFO would wait for ever
        return None
    try:
        with open(path, "rb") as file:
            start = file.read(64)
    except OSError:
        return None
    if len(start) < 64 or start[:4] != b".DTS" or start[8:16] != b"IMAGENET":
        return None
    num_volumes, volume = struct.unpack_from("<II", start, 56)
    return Claim(num_volumes, volume) if volume < num_volumes else None


def missing_volumes(files: Sequence[str]) -> tuple[list[int], int]:
    """Which volumes are not among files of one set, and how many it has ([], 1: they are not of a set)."""
    claims = [read_claim(path) for path in files]
    num_volumes = max((claim.num_volumes for claim in claims if claim is not None), default=1)
    if num_volumes == 1:
        return [], 1
    found = {claim.volume for claim in claims if claim is not None}
    # A damaged header counts the volumes as it likes, so the list is not made before it is needed.
    most = min(num_volumes, len(found) + _NAMES_SHOWN + 1)
    return [number for number in range(most) if number not in found], num_volumes


def missing_error(missing: Sequence[int], num_volumes: int, files: Sequence[str]) -> MissingVolumesError:
    """The error about volumes that are not there.

    Args:
        missing: Their numbers.
        files: Those that are there.
    """
    like = files[0]
    name = parse_volume_path(like)
    first = like if name is None else volume_path(name.path, missing[0], num_volumes)
    numbers = ", ".join(map(str, missing[:_NAMES_SHOWN])) + (", ..." if len(missing) > _NAMES_SHOWN else "")
    which = (
        f"volume {numbers} of {num_volumes} is"
        if len(missing) == 1
        else f"volumes {numbers} of {num_volumes} are"
    )
    text = f"{which} missing; a set is read when all its volumes are there"
    error = MissingVolumesError(errno.ENOENT, text, display(first))
    error.files = tuple(files)
    return error


def _beside_first(path: str, num_volumes: int) -> list[str]:
    name = parse_volume_path(path)
    if name is None or name.num_volumes != num_volumes or name.volume != 0:
        wanted = volume_path("NAME.dts", 0, num_volumes)
        raise ValueError(
            f"{display(path)} is the first of {num_volumes} volumes, but its name is not like {wanted}, so "
            "it does not tell the names of the others: open their folder, or a glob of all of them"
        )
    # A volume that is there under its name needs no look inside: opening all finds what is wrong.
    # As many as a name can count, at most.
    all_files = [volume_path(name.path, number, num_volumes) for number in range(num_volumes)]
    files = [each for each in all_files if os.path.lexists(each)]
    if len(files) < num_volumes:
        there = set(files)
        missing = [number for number, each in enumerate(all_files) if each not in there]
        raise missing_error(missing, num_volumes, files)
    return files


def _one_set(path: str, files: list[str], if_none: str) -> list[str]:
    if not files:
        raise FileNotFoundError(errno.ENOENT, if_none, display(path))
    claims = [read_claim(each) for each in files]
    numbers = [claim for claim in claims if claim is not None and claim.num_volumes > 1]
    is_set = len(numbers) == len(files) and len(set(numbers)) == len(files) == numbers[0].num_volumes
    if is_set and len({claim.num_volumes for claim in numbers}) == 1:
        return files
    patterns = list(dict.fromkeys(map(set_pattern, files)))
    if len(patterns) > 1:
        names = ", ".join(display(os.path.basename(each)) for each in patterns[:_NAMES_SHOWN])
        more = ", ..." if len(patterns) > _NAMES_SHOWN else ""
        raise ValueError(f"{display(path)} has {len(patterns)} data sets ({names}{more}): name one of them")
    missing, num_volumes = missing_volumes(files)
    if missing:
        raise missing_error(missing, num_volumes, files)
    return files
