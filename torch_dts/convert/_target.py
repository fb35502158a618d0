# SPDX-License-Identifier: Apache-2.0
"""Where the output goes, and what it must not replace."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from torch import Tensor

from torch_dts._paths import display
from torch_dts.convert._folder import GivenPath, check_root, folder_root, is_path
from torch_dts.convert._stored import nested_files

PARTIAL_SUFFIX = ".partial"


def find_target(path: object, source: object) -> str:
    """The path of the file to write, which is not looked at yet.

    Args:
        path: As given by the user, "~" is expanded; None: `<root>.dts` beside the source folder.

    Raises:
        TypeError: A path of another type.
        ValueError: path=None for a source that is not one folder; an empty source.
        OSError: The source is no folder.
    """
    root = source.beside if isinstance(source, GivenPath) else folder_root(source)
    if is_path(source) and root is not None:
        if not root or "\0" in root:
            raise ValueError(f"source must name a folder, not {root!r}" if root else "source is empty")
        check_root(root)
    if path is None:
        target = _beside(root)
    elif is_path(path):
        target = os.path.expanduser(os.fsdecode(path))  # type: ignore[arg-type]
    else:
        raise TypeError(f"path must be a str, an os.PathLike or None, not {path!r}")
    return target


def check_target(target: str, source: object, overwrite: bool) -> None:
    """Whether the file may be written.

    Raises:
        ValueError: It is no regular file, or is a file that the source reads.
        FileExistsError: It exists and `overwrite` is False.
    """
    _refuse_stored(target, source)
    _refuse_existing(target, overwrite)


def refuse_source(target: str, files: list[str], sizes: Tensor) -> None:
    """Raises ValueError when writing `target` would replace a source file.

    Args:
        files: [n] source files, "" for samples without one.
        sizes: int64 [n] bytes of each sample, -1 where unknown. Only files of the
            target's own size are looked at again.
    """
    for name in (target, target + PARTIAL_SUFFIX):
        try:
            found = os.stat(name)
        except OSError:
            continue
        candidates = ((sizes == found.st_size) | (sizes < 0)).nonzero().flatten().tolist()
        for i in candidates:
            if files[i] and _is_same(files[i], found):
                raise ValueError(
                    f"path={display(target)!r} would overwrite sample {i} of the source, "
                    f"{display(files[i])!r}; choose another path"
                )


def _refuse_stored(target: str, source: object) -> None:
    """Raises ValueError when writing `target` would replace a .dts file or an archive that is read."""
    read = list(source.reads) if isinstance(source, GivenPath) else []
    volumes = [volume for file in nested_files(source) for volume in file.volumes]
    for place, shown in [
        *((path, path) for path in read),
        *((volume.absolute_path, volume.path) for volume in volumes),
    ]:
        for name in (target, target + PARTIAL_SUFFIX):
            with contextlib.suppress(OSError):
                if os.path.samefile(name, place):
                    raise ValueError(
                        f"path={display(target)!r} would overwrite {display(shown)!r}, which the source "
                        f"reads; choose another path"
                    )


def _beside(root: str | None) -> str:
    if root is None:
        raise ValueError(
            "path=None works for a folder, an ImageFolder, a DatasetFolder or one archive, which name it; "
            "say path='....dts' for this source"
        )
    full = os.path.abspath(root)
    if not os.path.basename(full):
        raise ValueError(f"path=None has no name for the source {display(root)!r}; say path='....dts'")
    return full + ".dts"


def check_place(target: str) -> None:
    """Whether there is a folder to write the file to.

    Raises:
        ValueError: No name.
        OSError: No place for a file of this name.
    """
    if not target or "\0" in target:
        raise ValueError(f"path must name a file, not {target!r}")
    if os.path.isdir(target) or not os.path.basename(target):
        example = os.path.join(target, "train.dts")
        text = f"a folder; name the file, such as {display(example)!r}"
        raise IsADirectoryError(errno.EISDIR, text, target)
    parent = os.path.dirname(target) or os.curdir
    if not os.path.exists(parent):
        raise FileNotFoundError(errno.ENOENT, "the folder for the output does not exist", parent)
    if not os.path.isdir(parent):
        raise NotADirectoryError(errno.ENOTDIR, "the folder for the output is not a folder", parent)
    size = len(os.fsencode(os.path.basename(target)))
    most = _most_name_bytes(parent) - len(PARTIAL_SUFFIX)
    if size > most:
        text = (
            f"the file's name has {size} bytes; here it may have {most}, as {PARTIAL_SUFFIX!r} is added to "
            "it while it is written"
        )
        raise OSError(errno.ENAMETOOLONG, text, target)


def _most_name_bytes(folder: str) -> int:
    """Bytes of a name in the folder's file system."""
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return 255


def _refuse_existing(target: str, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "exists; overwrite=True replaces it", target)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise ValueError(f"path={display(target)!r} is not a regular file and is left alone")


def _is_same(path: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), found)
    except OSError:
        return False
