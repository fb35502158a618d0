# SPDX-License-Identifier: Apache-2.0
"""The library's own exception."""

from __future__ import annotations

from torch_dts._paths import display


class CorruptFileError(RuntimeError):
    """A file's content is not what the format says: damaged, truncated, foreign or changed.

    Attributes:
        path: the file.
        offset: byte position of the fault in the file, None where there is none.
        problem: what was found and what was expected.

    With one argument that argument is the whole message: torch's DataLoader raises a
    worker's exception anew as ``type(error)(text)``.
    """

    def __init__(self, path: str, offset: int | None = None, problem: str = "") -> None:
        super().__init__(path, offset, problem)
        self.path = path
        self.offset = offset
        self.problem = problem

    def __str__(self) -> str:
        if not self.problem:
            return self.path
        where = "" if self.offset is None else f" at byte {self.offset}"
        return f"{display(self.path)}{where}: {self.problem}"
