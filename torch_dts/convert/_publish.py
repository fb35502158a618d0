# SPDX-License-Identifier: Apache-2.0
"""Finished volumes get their names together, and those that they replace are not lost on the way.

    x.partial, old x  ->  x.partial, x.replaced  ->  x, x.replaced  ->  x

No call renames several files at once. Whatever stops this in the middle leaves each old volume under its
own name or as `.replaced`, and each new one as `.partial` or under its name: the first volume,
by which a set is opened, goes first and comes last.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

from torch_dts._paths import display
from torch_dts.convert._journal import Journal, published_files
from torch_dts.convert._target import PARTIAL_SUFFIX
from torch_dts.convert._write_file import FileWriter

REPLACED_SUFFIX = ".replaced"


def refuse_replaced(paths: Sequence[str]) -> None:
    """Refuses to write volumes beside old ones that a conversion stopped in the middle has put aside.

    Raises:
        FileExistsError: There are such files.
    """
    for path in paths:
        if os.path.lexists(path + REPLACED_SUFFIX):
            raise FileExistsError(
                errno.EEXIST,
                f"was put aside when a conversion that replaced it was interrupted; rename it to "
                f"{display(os.path.basename(path))!r} to have the old volume back (all of them: the old "
                "set), or delete it",
                path + REPLACED_SUFFIX,
            )


def take_back(paths: Sequence[str]) -> None:
    """Undoes what an interrupted conversion with a journal has published of a set: it goes on from there.

    Args:
        paths: The volumes.

    Raises:
        BlockingIOError: It is still running.
        OSError: A file can't be renamed.
    """
    with published_files(paths[0]) as inodes:
        if len(inodes) != len(paths):
            return
        for path, inode in zip(paths, inodes, strict=True):
            if os.path.lexists(path) and os.lstat(path).st_ino == inode:
                os.rename(path, path + PARTIAL_SUFFIX)
            if os.path.lexists(path + REPLACED_SUFFIX) and not os.path.lexists(path):
                os.rename(path + REPLACED_SUFFIX, path)


def publish_files(paths: Sequence[str], files: Sequence[FileWriter], journal: Journal | None) -> None:
    """All files get their names, or none does and what was there before is there again.

    Args:
        paths: The name of each.
        journal: Then new files that can't stay become partial ones again; else they are deleted.
    """
    if len(files) == 1:
        files[0].publish()  # one rename
        return
    if journal is not None:
        journal.note_publication([os.stat(path + PARTIAL_SUFFIX).st_ino for path in paths])
    aside: list[str] = []
    done: list[str] = []
    try:
        for path in paths:
            if os.path.lexists(path):
                os.rename(path, path + REPLACED_SUFFIX)
                aside.append(path)
        for path, file in reversed(list(zip(paths, files, strict=True))):
            file.publish()
            done.append(path)
    except BaseException:
        for path in done:
            with contextlib.suppress(OSError):
                if journal is None:
                    os.unlink(path)
                else:
                    os.rename(path, path + PARTIAL_SUFFIX)
        for path in aside:
            with contextlib.suppress(OSError):
                os.rename(path + REPLACED_SUFFIX, path)
        raise
    for path in aside:
        with contextlib.suppress(OSError):
            os.unlink(path + REPLACED_SUFFIX)
