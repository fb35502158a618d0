# SPDX-License-Identifier: Apache-2.0
"""The list of samples that every kind of source is turned into."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from torch_dts.convert._spool import Spool


@dataclass
class Samples:
    """All samples of a source, in source order. Owns the spool.

    A sample is a file (`files[i]`) or a piece of the spool (`files[i] == ""`).
    """

    kind: str
    """Type of the source, for the file's INFO."""
    files: list[str]
    """[n] path of the file to read, "" for spooled samples."""
    labels: Tensor
    """int64 [n] class numbers."""
    classes: list[str]
    """Class names by number."""
    names: list[str]
    """[n] relative path stored in the .dts file."""
    root: str | None = None
    """The one folder all samples come from, where there is one."""
    spool: Spool | None = None
    """Holds the samples without a file."""
    spooled: Tensor | None = None
    """int64 [n, 2] offset and size in the spool; (0, 0) for files."""
    failed: dict[int, str] = field(default_factory=dict)
    """Samples the source itself could not give (number -> reason)."""

    def __len__(self) -> int:
        return len(self.files)

    def path_of(self, i: int) -> str:
        """What to call sample i in a message: its file, else its path in the .dts file."""
        return self.files[i] or self.names[i]

    def read(self, i: int) -> bytes:
        """The bytes of a spooled sample."""
        if self.spool is None or self.spooled is None:
            raise ValueError(f"sample {i} is not spooled")
        offset, size = self.spooled[i].tolist()
        return self.spool.read(offset, size)

    def close(self) -> None:
        """Removes the spool. Idempotent."""
        if self.spool is not None:
            self.spool.close()
