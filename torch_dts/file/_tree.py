# SPDX-License-Identifier: Apache-2.0
"""Writing files below one directory and never outside of it, whatever their names say.

Each folder on the way is opened without following symbolic links, relative to the one
above it, so that neither a hostile name nor a link planted meanwhile leads elsewhere.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from torch_dts._paths import display

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def path_fault(path: str) -> str | None:
    """Why a relative path may not be written to; None when it may."""
    if not path:
        return "is empty"
    if "\0" in path:
        return "holds a NUL character"
    if path.startswith("/"):
        return "is absolute"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"has the part {part!r}"
    return None


def find_clash(paths: Iterable[str]) -> str | None:
    """A path that is there twice, or that is a folder of another one; None when all fit together."""
    files: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        if path in files:
            return path
        files.add(path)
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return next(iter(files & folders), None)


class Tree:
    """A directory to write into. Thread-safe; holds one descriptor until `close`.

    Args:
        directory: Made when missing, with all above it. It may itself be a symbolic link.
        overwrite: Replace files that are there.
    """

    def __init__(self, directory: str, overwrite: bool) -> None:
        self._directory = directory
        self._overwrite = overwrite
        os.makedirs(directory, exist_ok=True)
        self._root = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))

    def close(self) -> None:
        os.close(self._root)

    def make_folder(self, path: str) -> None:
        """Makes a folder and those above it where they are missing."""
        with self._naming_errors(path), self._folder(path):
            pass

    def write_file(self, path: str, data: memoryview) -> None:
        """Writes a file that appears under its name only when it is complete.

        Raises:
            OSError: With the file's name: it exists already, a folder on the way is a file
                or a symbolic link, the disk is full, ...
        """
        folder, name = os.path.split(path)
        with self._naming_errors(path), self._folder(folder) as folder_fd:
            # Short, since the file's own name may have all 255 bytes a name can have.
            temporary = f".torch_dts-{secrets.token_hex(8)}.partial"
            file_fd = os.open(temporary, _NEW_FILE, 0o666, dir_fd=folder_fd)
            try:
                try:
                    _write_all(file_fd, data)
                finally:
                    os.close(file_fd)
                if not self._overwrite and _exists(name, folder_fd):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                os.rename(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
            except BaseException:
                os.unlink(temporary, dir_fd=folder_fd)
                raise

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """A descriptor of a folder below the directory, made where it is missing."""
        current = os.dup(self._root)
        try:
            for part in path.split("/") if path else []:
                try:
                    below = os.open(part, _FOLDER, dir_fd=current)
                except FileNotFoundError:
                    with suppress(FileExistsError):  # another thread may be faster
                        os.mkdir(part, dir_fd=current)
                    below = os.open(part, _FOLDER, dir_fd=current)
                os.close(current)
                current = below
            yield current
        finally:
            os.close(current)

    @contextmanager
    def _naming_errors(self, path: str) -> Iterator[None]:
        """Calls by descriptor fail with a bare name or none: give the error the whole path."""
        try:
            yield
        except OSError as error:
            code = error.errno or errno.EIO
            text = error.strerror or os.strerror(code)
            if code in (errno.ELOOP, errno.ENOTDIR):
                text += ": a folder on the way is a symbolic link or a file"
            raise OSError(code, text, display(os.path.join(self._directory, path))) from None


def _write_all(file_fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(file_fd, data) :]


def _exists(name: str, folder_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
