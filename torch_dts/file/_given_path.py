# SPDX-License-Identifier: Apache-2.0
"""A path as the caller gave it, the place it meant then, and errors that name the former."""

from __future__ import annotations

import os
from types import TracebackType

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display


class GivenPath:
    """Where a file is, whatever directory is the current one later. Immutable.

    As a context it renames errors of native code, which knows the absolute path only.

    Args:
        path: The path; a leading ``~`` is the home directory.

    Raises:
        ValueError: The path holds a NUL character.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.given = os.fsdecode(path)
        if "\0" in self.given:
            raise ValueError(f"the path {self.given!r} holds a NUL character")
        self.absolute = expand_home(self.given)
        if self.absolute and not os.path.isabs(self.absolute):
            # Not abspath: with symbolic links "a/../b" need not be "b".
            self.absolute = os.path.join(os.getcwd(), self.absolute)

    def __enter__(self) -> GivenPath:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, CorruptFileError):
            if error.path == self.absolute:
                error.path = self.given
                error.args = (self.given, error.offset, error.problem)
        elif isinstance(error, OSError) and error.filename == display(self.absolute):
            error.filename = display(self.given)


def expand_home(path: str | os.PathLike[str]) -> str:
    """The path with a leading ``~`` or ``~user`` replaced by that home directory."""
    return os.path.expanduser(os.fsdecode(path))
