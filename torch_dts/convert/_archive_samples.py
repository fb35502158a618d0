# SPDX-License-Identifier: Apache-2.0
"""Samples that lie in tar archives: ranges of files, read where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_dts import _native


@dataclass(frozen=True, eq=False)
class ArchiveSamples:
    """Where each sample lies. Reading is thread-safe; nothing is kept open.

    Attributes:
        files: The archives.
        identities: int64 ``[k, 2]``: size and mtime in ns of each archive when it was listed. One
            that has others by now is a CorruptFileError of whatever reads from it.
        place: int64 ``[n, 3]``: number of the archive, offset and size of each sample.
    """

    files: Sequence[str]
    identities: Tensor
    place: Tensor

    def size(self, i: int) -> int:
        """Bytes of sample i."""
        return int(self.place[i, 2])

    def read(self, i: int) -> memoryview:
        """The bytes of sample i."""
        arena = torch.empty(self.size(i), dtype=torch.uint8)
        self.read_into(torch.tensor([i]), torch.zeros(1, dtype=torch.int64), arena)
        return arena.numpy().data

    def probe(self, start: int, stop: int) -> Tensor:
        """As `_native.probe_files`, of the samples [start, stop)."""
        return _native.probe_ranges(*self._ranges(self.place[start:stop]))

    def read_into(self, samples: Tensor, offsets: Tensor, arena: Tensor) -> None:
        """Copies samples to `offsets` in `arena` (uint8)."""
        _native.read_ranges_into(*self._ranges(self.place[samples]), offsets, arena)

    def _ranges(self, place: Tensor) -> tuple[list[str], Tensor, Tensor]:
        """Only the archives that are needed: a set may have thousands."""
        numbers, at = torch.unique(place[:, 0], return_inverse=True)
        ranges = torch.stack([at, place[:, 1], place[:, 2]], 1)
        return [self.files[number] for number in numbers.tolist()], self.identities[numbers], ranges
