# SPDX-License-Identifier: Apache-2.0
"""A path as the caller gave it, the files it meant then, and errors that name them in the caller's way."""

from __future__ import annotations

import os
from types import TracebackType

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts.file._find_files import ExactFiles, find_files


class GivenPath:
    """Where a data set is, whatever directory is the current one later. Immutable.

    As a context it renames errors of native code, which knows absolute paths only.

    Args:
        path: The path of a file, or of a set (see `find_files`); a leading ``~`` is the home
            directory.

    Attributes:
        given: The path as it was given.
        absolute: The same from the root directory.

    Raises:
        ValueError: The path holds a NUL character.
        TypeError: It is no path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self.given = _as_text(path)
        if "\0" in self.given:
            raise ValueError(f"the path {self.given!r} holds a NUL character")
        self.absolute = self._from_root(self.given)

    def find(self, is_rescue: bool = False) -> list[str]:
        """The absolute paths of the data set's files. Arguments and errors as `find_files`."""
        if isinstance(self._path, ExactFiles):
            return list(map(self._from_root, self._path.files))
        return find_files(self.absolute, is_rescue)

    def shown(self, path: str) -> str:
        """What to call one of the files."""
        if path == self.absolute:
            return self.given
        folder = self.absolute.removesuffix(self.given)
        return path.removeprefix(folder) if folder != self.absolute else path

    def __enter__(self) -> GivenPath:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, CorruptFileError):
            path = self.shown(error.path)
            if path != error.path:
                error.path = path
                error.args = (path, error.offset, error.problem)
        elif isinstance(error, OSError) and isinstance(error.filename, str):
            # It was made printable on its way here.
            if error.filename == display(self.absolute):
                error.filename = display(self.given)
            elif self.given:
                folder = self.absolute.removesuffix(self.given)
                if folder != self.absolute:
                    error.filename = error.filename.removeprefix(display(folder))

    def _from_root(self, path: str) -> str:
        absolute = expand_home(path)
        if absolute and not os.path.isabs(absolute):
            # Not abspath: with symbolic links "a/../b" need not be "b".
            absolute = os.path.join(os.getcwd(), absolute)
        return absolute


def expand_home(path: str | os.PathLike[str]) -> str:
    """The path with a leading ``~`` or ``~user`` replaced by that home directory."""
    return os.path.expanduser(_as_text(path))


def _as_text(path: object) -> str:
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.fsdecode(path)
    advice = ""
    if isinstance(path, (list, tuple)):
        advice = (
            ". The volumes of a set are named by the first of them, their folder or a glob; several sets are "
            "joined by torch.utils.data.ConcatDataset"
        )
    shown = repr(path)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    raise TypeError(f"a path is a str or os.PathLike, not {type(path).__name__}: {shown}{advice}")
