# SPDX-License-Identifier: Apache-2.0
"""`recognise`: a dataset as a native source with its labels, or the reason why it is read by Python.

Native is only what behaves exactly as its library made it: a class, a method, a loader or a
list of the user's own is never passed over. None of the user's code runs here.
"""

from __future__ import annotations

import bisect
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, IterableDataset, Subset

from torch_dts import _native
from torch_dts.file import DTSFile
from torch_dts.loader._recognise_labels import NotReadable, int_tensor, watch_values
from torch_dts.loader._recognise_leaves import Leaf, read_leaf
from torch_dts.loader._recognise_own import ABSENT, changed_behaviour, own_state

_SUBSET: dict[str, type | None] = {
    "dataset": None,
    "indices": None,
    **dict.fromkeys(("__getitem__", "__getitems__", "__len__"), Subset),
}
_CONCAT: dict[str, type | None] = {
    "datasets": None,
    "cumulative_sizes": None,
    "__getitems__": ABSENT,
    **dict.fromkeys(("__getitem__", "__len__"), ConcatDataset),
}


class SourceHandle:
    """An open native source; closed by `close`, or with the object."""

    def __init__(self, handles: Sequence[int]) -> None:
        self._finalizer = weakref.finalize(self, _close_all, tuple(handles))

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return not self._finalizer.alive

    def close(self) -> None:
        """Closes the source. Closing twice is fine."""
        self._finalizer()


@dataclass(frozen=True, eq=False)
class Recognised:
    """A dataset that the native engine can read.

    Attributes:
        source: Handle of the source, good until `resource` is closed.
        resource: Closes the source.
        transform, target_transform: As the dataset has them.
        samples: int64 ``[len(dataset)]``, the source's sample by dataset index; None: the same.
        labels: int64 ``[len(dataset)]`` by dataset index, before target_transform.
        file: The ``.dts`` file, where the dataset is one whole file.
        source_channels: Of the images: 3, or 1 for gray.
        source_size: (height, width) where all images are pixels of that size.
        describe: Takes a sample of the source; the text for messages.
        read_bytes: Takes a sample of the source; its encoded bytes (pixels: as PPM or PGM).
            Raises OSError where it can't be read.
        is_current: Whether the dataset still is what it was when it was recognised.
        is_encoded: Whether a sample of the source is an encoded image, not pixels.
    """

    source: int
    resource: SourceHandle
    transform: Any
    target_transform: Any
    samples: Tensor | None
    labels: Tensor
    file: DTSFile | None
    source_channels: int
    source_size: tuple[int, int] | None
    describe: Callable[[int], str]
    read_bytes: Callable[[int], bytes]
    is_current: Callable[[], bool]
    is_encoded: Callable[[int], bool] = lambda sample: True


@dataclass(frozen=True, eq=False)
class Readable:
    """A dataset that the native engine could read; nothing is open yet.

    Attributes:
        leaves: The datasets below Subset and ConcatDataset, one behind the other.
        samples: int64 ``[len(dataset)]``, position in the leaves' samples by dataset index;
            None: the same.
        labels: int64 ``[len(dataset)]``.
        checks: Each tells whether a part of the dataset is still what it was.
        is_whole: The dataset is its one leaf, as it is.
    """

    leaves: tuple[Leaf, ...]
    samples: Tensor | None
    labels: Tensor
    checks: tuple[Callable[[], bool], ...]
    is_whole: bool = False

    def num_bytes(self) -> int:
        """What keeping the encoded images in memory takes, about; pixels are there already."""
        return sum(leaf.num_bytes() for leaf in self.leaves)

    def open(self, keep: int) -> Recognised:
        """Opens the source.

        Args:
            keep: 0: bytes stay on the disk, 1: in this process's memory, 2: in memory that
                the processes of this machine share.

        Raises:
            OSError, CorruptFileError: A file can't be read.
        """
        first = self.leaves[0]
        source = self._open_source(keep)
        starts = [0, *accumulate(leaf.num_samples for leaf in self.leaves)]

        def locate(sample: int) -> tuple[Leaf, int]:
            if not 0 <= sample < starts[-1]:
                raise IndexError(f"sample {sample} of a source of {starts[-1]} samples")
            part = bisect.bisect_right(starts, sample) - 1
            return self.leaves[part], sample - starts[part]

        def describe(sample: int) -> str:
            leaf, inner = locate(sample)
            return leaf.describe(inner)

        def read_bytes(sample: int) -> bytes:
            leaf, inner = locate(sample)
            return leaf.read_bytes(inner)

        sizes = {leaf.size for leaf in self.leaves}
        return Recognised(
            source=source,
            resource=SourceHandle([source]),
            transform=first.transform,
            target_transform=first.target_transform,
            samples=self.samples,
            labels=self.labels,
            file=first.file if self.is_whole else None,
            source_channels=first.channels,
            source_size=first.size if len(sizes) == 1 else None,
            describe=describe,
            read_bytes=read_bytes,
            is_current=lambda: all(check() for check in self.checks),
            is_encoded=lambda sample: locate(sample)[0].size is None,
        )

    def _open_source(self, keep: int) -> int:
        opened: dict[Leaf, int] = {}
        try:
            for leaf in self.leaves:
                if leaf not in opened:
                    opened[leaf] = leaf.open_source(keep)
            if len(self.leaves) == 1:
                return opened.pop(self.leaves[0])
            # The joined source holds its parts: their own handles are not needed any more.
            return int(_native.source_join([opened[leaf] for leaf in self.leaves]))
        finally:
            _close_all(tuple(opened.values()))


def recognise(dataset: Any, *, keep: int) -> Recognised | str:
    """The dataset with its native source, or the reason why only Python can read it.

    Args:
        dataset: Of any type.
        keep: See `Readable.open`.

    Raises:
        OSError, CorruptFileError: A file can't be read.
    """
    readable = inspect(dataset)
    return readable if isinstance(readable, str) else readable.open(keep)


def inspect(dataset: Any) -> Readable | str:
    """What `recognise` opens; a str: the reason why only Python can read the dataset."""
    try:
        return _read(dataset, {})
    except NotReadable as reason:
        return str(reason)


def _read(dataset: Any, known: dict[int, Leaf], depth: int = 0) -> Readable:
    if depth > 100:
        raise NotReadable("its Subset and ConcatDataset are nested more than 100 deep")
    bases = type(dataset).__mro__
    if Subset in bases:
        return _read_subset(dataset, known, depth)
    if ConcatDataset in bases:
        return _read_concat(dataset, known, depth)
    leaf = known.get(id(dataset))
    if leaf is None:
        leaf = known[id(dataset)] = read_leaf(dataset)
    if depth and isinstance(dataset, IterableDataset):
        raise NotReadable(f"{type(dataset).__qualname__} has no items to choose from")
    return Readable((leaf,), leaf.samples, leaf.labels, (leaf.is_current,), is_whole=True)


def is_plain_subset(dataset: Any) -> bool:
    """Whether it is torch's Subset, in all that it does."""
    return Subset in type(dataset).__mro__ and not changed_behaviour(dataset, _SUBSET)


def is_plain_concat(dataset: Any) -> bool:
    """Whether it is torch's ConcatDataset, in all that it does."""
    return ConcatDataset in type(dataset).__mro__ and not changed_behaviour(dataset, _CONCAT)


def _require_own(dataset: Any, owners: dict[str, type | None]) -> dict[str, Any]:
    reason = changed_behaviour(dataset, owners)
    if reason:
        raise NotReadable(reason)
    return own_state(dataset)


def _read_subset(dataset: Any, known: dict[int, Leaf], depth: int) -> Readable:
    state = _require_own(dataset, _SUBSET)
    below = _read(state["dataset"], known, depth + 1)
    length = below.labels.numel()
    indices = int_tensor(state["indices"], "the indices of its Subset")
    if indices.numel() and not -length <= int(indices.min()) <= int(indices.max()) < length:
        raise NotReadable(
            f"its Subset has indices {int(indices.min())} to {int(indices.max())} in a dataset of {length}"
        )
    indices = torch.where(indices < 0, indices + length, indices)
    is_same = watch_values(state["indices"])

    def is_current() -> bool:
        now = own_state(dataset)
        return (
            not changed_behaviour(dataset, _SUBSET)
            and now.get("dataset") is state_dataset
            and is_same(now.get("indices"))
        )

    state_dataset = state["dataset"]
    samples = indices if below.samples is None else below.samples[indices]
    return Readable(below.leaves, samples, below.labels[indices], (*below.checks, is_current))


def _read_concat(dataset: Any, known: dict[int, Leaf], depth: int) -> Readable:
    state = _require_own(dataset, _CONCAT)
    datasets = state["datasets"]
    if type(datasets) not in (list, tuple) or not datasets:
        raise NotReadable(f"the datasets of its ConcatDataset are a {type(datasets).__name__}, not a list")
    kept = tuple(datasets)
    parts = [_read(part, known, depth + 1) for part in kept]
    ends = list(accumulate(part.labels.numel() for part in parts))
    if state["cumulative_sizes"] != ends:
        raise NotReadable("the parts of its ConcatDataset changed their lengths")
    leaves = tuple(leaf for part in parts for leaf in part.leaves)
    _require_alike(leaves)

    def is_current() -> bool:
        now = own_state(dataset)
        found = now.get("datasets")
        return (
            not changed_behaviour(dataset, _CONCAT)
            and isinstance(found, (list, tuple))
            and len(found) == len(kept)
            and all(a is b for a, b in zip(found, kept, strict=True))
            and now.get("cumulative_sizes") == ends
        )

    samples = []
    start = 0
    for part in parts:
        num_samples = sum(leaf.num_samples for leaf in part.leaves)
        own = torch.arange(num_samples, device="cpu") if part.samples is None else part.samples
        samples.append(own + start)
        start += num_samples
    checks = tuple(check for part in parts for check in part.checks)
    labels = torch.cat([part.labels for part in parts])
    return Readable(leaves, torch.cat(samples), labels, (*checks, is_current))


def _require_alike(leaves: Sequence[Leaf]) -> None:
    first = leaves[0]
    for leaf in leaves[1:]:
        if leaf.target_transform is not first.target_transform:
            raise NotReadable("the parts of its ConcatDataset have different target_transforms")
        if leaf.channels != first.channels:
            raise NotReadable("the parts of its ConcatDataset are gray and coloured")
        if leaf.transform is not first.transform and not _is_same_plan(leaf, first):
            raise NotReadable("the parts of its ConcatDataset have different transforms")


def _is_same_plan(one: Leaf, other: Leaf) -> bool:
    from torch_dts.transforms._views import read_views

    plans = [
        read_views(leaf.transform, source_channels=leaf.channels, source_size=leaf.size).plans
        for leaf in (one, other)
    ]
    return plans[0] is not None and plans[0] == plans[1]


def _close_all(handles: tuple[int, ...]) -> None:
    for handle in handles:
        _native.source_close(handle)
