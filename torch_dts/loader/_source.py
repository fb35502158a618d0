# SPDX-License-Identifier: Apache-2.0
"""The native source of a loader's dataset: opened on first use, anew where the dataset changed."""

from __future__ import annotations

import os
from typing import Any

from torch.utils.data import IterableDataset

from torch_dts import _native
from torch_dts.datasets import DTSIterableDataset
from torch_dts.loader._memory import Mode, fits_in_memory
from torch_dts.loader._pieces import SampleMap
from torch_dts.loader._recognise import Readable, Recognised, inspect
from torch_dts.loader._threads import default_num_workers, num_local_ranks
from torch_dts.transforms._views import read_views

DISK, SHARED = 0, 2  # where bytes are kept: `keep` of torch_dts._native.source_dts


class LoaderSource:
    """A dataset as the native engine reads it.

    Attributes:
        recognised: The open source.
        sample_map: From dataset indices to the source's samples.
        mean_bytes: Of an encoded sample, about.
        keeps_bytes: Whether samples stay in memory once read (FULLY).
        has_blocks: Whether it is of whole blocks.
    """

    def __init__(self, readable: Readable, mode: Mode) -> None:
        num_bytes = readable.num_bytes()
        self.mean_bytes = num_bytes / max(1, sum(leaf.num_samples for leaf in readable.leaves))
        self.recognised, self.keeps_bytes = _open(readable, num_bytes, mode)
        self.has_blocks = any(leaf.file is not None for leaf in readable.leaves)
        self.sample_map = SampleMap(self.recognised.samples, self.recognised.labels.numel())
        self._pid = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether it is of this process and the dataset is still what it was."""
        return self._pid == os.getpid() and self.recognised.is_current()


class SourceCache:
    """The source of a loader from epoch to epoch."""

    def __init__(self) -> None:
        self._kept: LoaderSource | None = None

    def get(self, dataset: Any, mode: Mode) -> LoaderSource | str:
        """The dataset's source, or the reason why only Python can read it.

        Raises:
            OSError, CorruptFileError: A file can't be read.
        """
        if self._kept is not None and self._kept.is_current:
            return self._kept
        self._kept = None
        readable = inspect(dataset)
        if isinstance(readable, str):
            return readable
        self._kept = LoaderSource(readable, mode)
        return self._kept

    def clear(self) -> None:
        """Lets go of the source; engines that read it keep it open."""
        self._kept = None

    def __getstate__(self) -> dict[str, object]:
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        self._kept = None


def default_workers_for(dataset: Any, transform: Any, decode: str = "exact") -> int:
    """The number of workers where none is given.

    An iterable dataset that only Python reads has none, as with torch: each worker process
    begins it anew unless it shares itself out, so that their number changes what comes.

    Args:
        dataset: Of a loader.
        transform: The loader's; None: the dataset's.
        decode: The loader's; "none": no transform is looked at.
    """
    if not isinstance(dataset, IterableDataset):
        return default_num_workers()
    if isinstance(dataset, DTSIterableDataset):
        if decode == "none":
            reason = readable if isinstance(readable := inspect(dataset), str) else None
        else:
            reason = reason_for_python(dataset, transform)
        return default_num_workers() if reason is None else 0
    return 0


def reason_for_python(dataset: Any, transform: Any, views: int = 1) -> str | None:
    """Why only Python can read a dataset, as far as it shows before a file is read; None: native threads can.

    Args:
        dataset: Of a loader.
        transform: The loader's; None: the dataset's.
        views: The loader's.
    """
    readable = inspect(dataset)
    if isinstance(readable, str):
        return readable
    leaf = readable.leaves[0]
    chosen = leaf.transform if transform is None else transform
    sizes = {leaf.size for leaf in readable.leaves}
    size = leaf.size if len(sizes) == 1 else None
    reading = read_views(chosen, views, source_channels=leaf.channels, source_size=size)
    return reading.reason if reading.plans is None else None


def _open(readable: Readable, num_bytes: int, mode: Mode) -> tuple[Recognised, bool]:
    if mode == "partial":
        return readable.open(DISK), False
    # Files of a folder are kept by each process for itself, a .dts file once for all of them.
    is_shareable = all(leaf.file is not None for leaf in readable.leaves)
    num_copies = 1 if is_shareable else num_local_ranks()
    if mode == "fully" or fits_in_memory(num_bytes * num_copies):
        return readable.open(SHARED), True
    if not is_shareable:
        return readable.open(DISK), False
    # What another process holds already is no longer available, and costs nothing more.
    recognised = readable.open(SHARED)
    info = _native.source_info(recognised.source)
    if info.is_shared and info.held_bytes and fits_in_memory(num_bytes - info.held_bytes):
        return recognised, True
    recognised.resource.close()
    return readable.open(DISK), False
