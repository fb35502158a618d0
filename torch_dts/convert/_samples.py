# SPDX-License-Identifier: Apache-2.0
"""The list of samples that every kind of source is turned into."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.convert._archive_samples import ArchiveSamples
from torch_dts.convert._spool import Spool
from torch_dts.convert._stored import StoredSamples

# Trouble of this process, not of a sample: never a reason to leave one out.
OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})


@dataclass
class Samples:
    """All samples of a source, in source order. Owns the spool.

    A sample is a file (`files[i]`), else it lies in a tar archive (`archives`; then all do), else in a
    .dts file (`stored`), else in the spool.
    """

    kind: str
    """Type of the source, for the file's INFO."""
    files: list[str]
    """[n] path of the file to read, "" for samples without one."""
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
    stored: StoredSamples | None = None
    """The samples that lie in .dts files."""
    archives: ArchiveSamples | None = None
    """Where the samples lie in tar archives."""
    encoded: list[int] = field(default_factory=list)
    """Samples whose bytes were made here: PIL images stored as PNG."""
    failed: dict[int, str] = field(default_factory=dict)
    """Samples the source itself could not give (number -> reason)."""

    says_val: bool = False
    """True when every data set says that it is for testing."""

    num_replaced: int = 0
    """Files of archives that are left out, as later ones of the same name replace them."""

    def __len__(self) -> int:
        return len(self.files)

    def path_of(self, i: int) -> str:
        """What to call sample i in a message: its file, archive and name, or path in the .dts file."""
        if self.archives is not None:
            return f"{self.archives.files[int(self.archives.place[i, 0])]}:{self.names[i]}"
        return self.files[i] or self.names[i]

    @property
    def are_original(self) -> bool:
        """False when a .dts file among the sources says that its bytes are not the originals."""
        files = [] if self.stored is None else self.stored.files
        return all(file.info.get("bytes_kept", True) is not False for file in files)

    @property
    def may_hold_raw(self) -> bool:
        """True when samples may be pixels of a .dts file ("DTSR")."""
        return self.stored is not None and any(f.header.may_hold_raw_samples for f in self.stored.files)

    @property
    def are_all_val(self) -> bool:
        """True when every sample lies in a .dts file of a validation set."""
        if self.stored is None or bool((self.stored.place[:, 0] < 0).any()):
            return False
        return not any(file.header.is_training for file in self.stored.files)

    def size(self, i: int) -> int:
        """The bytes of a sample without a file."""
        if self.archives is not None:
            return self.archives.size(i)
        if self.stored is not None and self.stored.holds(i):
            return self.stored.size(i)
        return 0 if self.spooled is None else int(self.spooled[i, 1])

    def read(self, i: int) -> bytes | memoryview:
        """The bytes of a sample without a file."""
        if self.archives is not None:
            return self.archives.read(i)
        if self.stored is not None and self.stored.holds(i):
            return self.stored.read(i)
        if self.spool is None or self.spooled is None:
            raise ValueError(f"sample {i} is not spooled")
        offset, size = self.spooled[i].tolist()
        return self.spool.read(offset, size)

    def read_into(self, numbers: Tensor, offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
        """Copies samples to `offsets` in `arena` (uint8). Thread-safe.

        Raises:
            OSError: A file can't be read.
            CorruptFileError: A file has another size than `sizes` says.
        """
        if self.archives is not None:
            self.archives.read_into(numbers, offsets, arena)
            return
        files = [self.files[i] for i in numbers.tolist()]
        if self.spool is None and self.stored is None:
            _native.read_files_into(files, offsets, sizes, arena)
            return
        has_file = torch.tensor([bool(path) for path in files], dtype=torch.bool)
        if bool(has_file.any()):
            paths = [path for path in files if path]
            _native.read_files_into(paths, offsets[has_file], sizes[has_file], arena)
        in_spool = ~has_file
        if self.stored is not None:
            in_file = in_spool & (self.stored.place[numbers, 0] >= 0)
            self.stored.read_into(numbers[in_file], offsets[in_file], sizes[in_file], arena)
            in_spool &= ~in_file
        if self.spool is None or self.spooled is None:
            return
        self.spool.read_into(
            self.spooled[numbers[in_spool], 0].tolist(),
            offsets[in_spool].tolist(),
            sizes[in_spool].tolist(),
            arena,
        )

    def close(self) -> None:
        """Removes the spool. Idempotent."""
        if self.spool is not None:
            self.spool.close()
