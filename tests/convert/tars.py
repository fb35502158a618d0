# SPDX-License-Identifier: Apache-2.0
"""Tar archives for tests."""

from __future__ import annotations

import io
import pathlib
import tarfile
from collections.abc import Sequence

Member = tuple[str, bytes]


def write_tar(
    path: pathlib.Path,
    members: Sequence[Member | tarfile.TarInfo],
    *,
    format: int = tarfile.GNU_FORMAT,
    mode: str = "w",
) -> pathlib.Path:
    """Writes an archive of files (name, content); a TarInfo is a member without content."""
    with tarfile.open(path, mode, format=format) as tar:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member without content: a folder, a link, a device."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def folder_members(root: pathlib.Path, prefix: str = "") -> list[Member]:
    """The files below a folder, not in sorted order."""
    files = sorted((path for path in root.rglob("*") if path.is_file()), reverse=True)
    return [(prefix + path.relative_to(root).as_posix(), path.read_bytes()) for path in files]


def tar_of(path: pathlib.Path, root: pathlib.Path, prefix: str = "", **kwargs: int) -> pathlib.Path:
    """An archive of the files below a folder."""
    return write_tar(path, folder_members(root, prefix), **kwargs)
