# SPDX-License-Identifier: Apache-2.0
"""Which tar archives a source names: one path, a list of paths, a glob or a brace pattern."""

from __future__ import annotations

import errno
import glob
import itertools
import os
import re
from collections.abc import Iterable

from torch_dts._paths import display
from torch_dts.convert._folder import is_path

MAX_ARCHIVES = 1 << 20
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_TAR_HEADER_BYTES = 512
# First bytes of what holds archives or is one, but has to be unpacked first.
_PACKED = {
    b"\x1f\x8b": ("gzip", "gzip -dk"),
    b"BZh": ("bzip2", "bzip2 -dk"),
    b"\xfd7zXZ\0": ("xz", "xz -dk"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -d"),
}


def archive_paths(source: object) -> list[str] | None:
    """The archives a source names, in order; None where it names none.

    Raises:
        ValueError: A compressed archive, or one that is named twice.
        FileNotFoundError: A pattern that no file fits, or files of it that are not there.
        TypeError: A list in which some paths are no tar archives.
    """
    if is_path(source):
        paths = _expand(_as_text(source))
        if paths is None:
            return None
        if len(paths) == 1 and paths[0] == _as_text(source):
            return paths if os.path.isfile(paths[0]) and is_archive(paths[0]) else None
    elif isinstance(source, (list, tuple)) and source and all(map(is_path, source)):
        paths = list(itertools.chain.from_iterable(_expand_existing(each) for each in source))
    else:
        return None
    for path in paths:
        if not os.path.isfile(path) or not is_archive(path):
            is_set = os.path.isdir(path) or path.endswith(".dts")
            advice = "; join data sets with torch.utils.data.ConcatDataset" if is_set else ""
            what = "a folder" if os.path.isdir(path) else "no tar archive"
            raise TypeError(
                f"several paths must all name tar archives, but {display(path)!r} is {what}{advice}"
            )
    _refuse_twice(paths)
    return paths


def is_archive(path: str) -> bool:
    """True for a tar archive, by its name or its first bytes.

    Raises:
        ValueError: It is compressed, or a zip.
    """
    with open(path, "rb") as file:
        head = file.read(_TAR_HEADER_BYTES)
    for magic, (name, command) in _PACKED.items():
        if head.startswith(magic):
            raise ValueError(
                f"{display(path)} is compressed ({name}), so its files can't be read where they lie: run "
                f"'{command} {display(path)}' and pass the .tar, or unpack it and pass the folder"
            )
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{display(path)} is a zip archive: unpack it and pass the folder")
    return path.lower().endswith(".tar") or head[257:262] == b"ustar"


def _as_text(source: object) -> str:
    return os.path.expanduser(os.fsdecode(source))  # type: ignore[arg-type]


def _expand_existing(source: object) -> list[str]:
    path = _as_text(source)
    paths = _expand(path) or [path]
    if not os.path.lexists(paths[0]):
        raise FileNotFoundError(errno.ENOENT, "no such file", paths[0])
    return paths


def _expand(path: str) -> list[str] | None:
    """What a pattern stands for; [path] for what exists under its own name, None for what can't be."""
    if "\0" in path or not path:
        return None
    if os.path.lexists(path):
        return [path]
    if _BRACES.search(path):
        paths = list(expand_braces(path))
        missing = [each for each in paths if not glob.has_magic(each) and not os.path.exists(each)]
        if missing:
            raise FileNotFoundError(
                errno.ENOENT,
                f"{len(missing):,} of the {len(paths):,} files of the pattern {display(path)!r} are missing, "
                f"first",
                missing[0],
            )
        return list(itertools.chain.from_iterable(_glob(each) for each in paths))
    return _glob(path) if glob.has_magic(path) else None


def _glob(pattern: str) -> list[str]:
    if os.path.exists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file fits the pattern", pattern)
    return found


def expand_braces(pattern: str) -> Iterable[str]:
    """ "s-{08..10}.tar" -> s-08.tar, s-09.tar, s-10.tar; "{a,b}" -> a, b; several braces in one pattern.

    Raises:
        ValueError: Braces of another form, or more than 2**20 files.
    """
    parts = _BRACES.split(pattern)
    choices = [[part] if number % 2 == 0 else _choices(part, pattern) for number, part in enumerate(parts)]
    count = 1
    for each in choices:
        count *= len(each)
    if count > MAX_ARCHIVES:
        raise ValueError(
            f"the pattern {display(pattern)!r} stands for {count:,} files, at most {MAX_ARCHIVES:,}"
        )
    return ("".join(chosen) for chosen in itertools.product(*choices))


def _choices(inner: str, pattern: str) -> list[str]:
    found = _RANGE.fullmatch(inner)
    if found:
        first, last = found.groups()
        if int(first) <= int(last) and int(last) - int(first) < MAX_ARCHIVES:
            width = len(first) if first.startswith("0") else 0
            return [str(number).zfill(width) for number in range(int(first), int(last) + 1)]
    elif "," in inner:
        return inner.split(",")
    raise ValueError(
        f"the braces in {display(pattern)!r} must be a rising range such as {{000..099}} or a list such as "
        f"{{a,b}}"
    )


def _refuse_twice(paths: list[str]) -> None:
    seen: dict[tuple[int, int], str] = {}
    for path in paths:
        found = os.stat(path)
        before = seen.setdefault((found.st_dev, found.st_ino), path)
        if before is not path:
            raise ValueError(f"the archive {display(path)!r} is named twice (first as {display(before)!r})")
