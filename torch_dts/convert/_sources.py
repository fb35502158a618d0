# SPDX-License-Identifier: Apache-2.0
"""Anything that convert() takes -> one list of samples.

A source is a tree: Subset and ConcatDataset over leaves. `flatten` turns it into
(leaf, item) pairs; leaves are folders, whose sample lists are taken as they are, or
map-style data sets, whose items are asked for once each.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, IterableDataset, Subset
from torchvision.datasets import DatasetFolder

from torch_dts._image_errors import without_addresses
from torch_dts._paths import display
from torch_dts._progress import Progress, told_when_slow
from torch_dts.convert._archives import ArchiveSource, list_archive_samples
from torch_dts.convert._classes import dataset_classes, settle_classes
from torch_dts.convert._folder import (
    GivenPath,
    check_listable,
    folder_root,
    is_file_list,
    is_path,
    lists_its_root,
    open_folder,
)
from torch_dts.convert._items import MadePNG, extension_of, read_item
from torch_dts.convert._labelled import LabelledFolder, list_labelled_samples
from torch_dts.convert._names import name_samples
from torch_dts.convert._pixel_leaf import says_training
from torch_dts.convert._samples import OUR_TROUBLE, Samples
from torch_dts.convert._spool import Spool
from torch_dts.convert._stored import PixelItems, StoredSamples, as_place, file_prefixes, plain_file
from torch_dts.convert._targets import Targets
from torch_dts.file import DTSFile


def list_samples(
    source: Any,
    *,
    class_to_idx: Mapping[str, int] | None,
    allow_empty: bool,
    spool_dir: str,
    progress: bool | None,
    targets: Targets | None = None,
) -> Samples:
    """Lists the samples of a source. The caller closes the result.

    Args:
        source: A folder's path, a DatasetFolder, a DTSDataset or DTSFile, a map-style data
            set of (path | encoded bytes | PIL image, int), or Subset / ConcatDataset of such.
        class_to_idx: Class numbers to use in place of the source's; None: the source's.
        allow_empty: For a path: classes without images are fine.
        spool_dir: Where samples without a file are put aside.
        progress: True, False, or None for "on a terminal".
        targets: Classes in place of the source's, which are not looked at then.

    Raises:
        TypeError: Not a data set, or an item of another type; names the item.
        ValueError: Labels or classes that don't fit, no sample at all.
        OSError: A wrong root folder, or one below it that can't be listed.
        CorruptFileError: A .dts file of the source is damaged.
    """
    if isinstance(source, (ArchiveSource, LabelledFolder)):
        own = class_to_idx if targets is None else None
        if isinstance(source, LabelledFolder):
            samples = list_labelled_samples(source, class_to_idx=own)
        else:
            samples = list_archive_samples(
                source, class_to_idx=own, allow_empty=allow_empty, progress=progress
            )
        if targets is not None:
            settled = targets.settle(len(samples), samples.classes, class_to_idx)
            samples.labels, samples.classes = settled
        return samples
    with told_when_slow(f"listing {display(str(folder_root(source)))}", progress):
        if is_path(source):
            source = open_folder(str(folder_root(source)), allow_empty)
        elif lists_its_root(source):
            check_listable(str(folder_root(source)))
    leaves, leaf_of, item_of = flatten(source)
    check_not_empty(source, leaf_of)
    reader = _Reader(len(leaf_of), spool_dir, progress, targets)
    try:
        for number, leaf in enumerate(leaves):
            at = (leaf_of == number).nonzero().flatten()
            if at.numel():
                reader.read_leaf(leaf, at.tolist(), item_of[at].tolist())
        return reader.finish(kind_of(source), leaves, class_to_idx)
    except BaseException:
        reader.close()
        raise


def flatten(dataset: Any) -> tuple[list[Any], Tensor, Tensor]:
    """Resolves Subset and ConcatDataset.

    Returns:
        The leaves, and for each sample in order the number of its leaf and its item in
        that leaf (int64 [n] both).
    """
    # A subclass that overrides __getitem__ is a data set of its own.
    if isinstance(dataset, Subset) and type(dataset).__getitem__ is Subset.__getitem__:
        leaves, leaf_of, item_of = flatten(dataset.dataset)
        chosen = _indices(dataset.indices, len(leaf_of))
        return leaves, leaf_of[chosen], item_of[chosen]
    if isinstance(dataset, ConcatDataset) and type(dataset).__getitem__ is ConcatDataset.__getitem__:
        all_leaves: list[Any] = []
        leaf_parts, item_parts = [], []
        for part in dataset.datasets:
            leaves, leaf_of, item_of = flatten(part)
            leaf_parts.append(leaf_of + len(all_leaves))
            item_parts.append(item_of)
            all_leaves += leaves
        return all_leaves, torch.cat(leaf_parts), torch.cat(item_parts)
    file = plain_file(dataset)
    num_items = _length(dataset)
    if file is not None:
        dataset = file
    return [dataset], torch.zeros(num_items, dtype=torch.int64), torch.arange(num_items)


class _Reader:
    """Collects the samples of the leaves, each at its place in the source."""

    def __init__(
        self, num_samples: int, spool_dir: str, progress: bool | None, targets: Targets | None
    ) -> None:
        self._targets = targets
        self._files = [""] * num_samples
        self._labels = [0] * num_samples
        self._spool_dir = spool_dir
        self._spool: Spool | None = None
        self._spooled: dict[int, tuple[int, int]] = {}
        self._extensions: dict[int, str] = {}
        self._failed: dict[int, str] = {}
        self._encoded: list[int] = []
        self._dts: list[DTSFile] = []
        self._dts_number = [-1] * num_samples
        self._dts_item = [0] * num_samples
        self._given = [""] * num_samples
        self._progress = progress

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def read_leaf(self, leaf: Any, at: list[int], items: list[int]) -> None:
        if isinstance(leaf, DTSFile) and not leaf.header.has_blocks:
            self._read_items(PixelItems(leaf), at, items)
        elif isinstance(leaf, DTSFile):
            self._read_dts(leaf, at, items)
        elif is_file_list(leaf):
            self._read_folder(leaf, at, items)
        else:
            self._read_items(leaf, at, items)

    def _read_folder(self, leaf: Any, at: list[int], items: list[int]) -> None:
        samples = leaf.samples
        for i, item in zip(at, items, strict=True):
            path, label = samples[item]
            self._files[i] = path if type(path) is str else os.fsdecode(path)
            self._labels[i] = label

    def _read_dts(self, leaf: DTSFile, at: list[int], items: list[int]) -> None:
        labels, paths, number = leaf.labels.tolist(), list(leaf.paths), len(self._dts)
        self._dts.append(leaf)
        for i, item in zip(at, items, strict=True):
            self._labels[i] = labels[item]
            self._given[i] = paths[item]
            self._dts_number[i] = number
            self._dts_item[i] = item

    def _read_items(self, leaf: Any, at: list[int], items: list[int]) -> None:
        where = type(leaf).__name__
        with Progress("reading", len(at), self._progress) as bar:
            for i, item in zip(at, items, strict=True):
                self._read_item(leaf, i, item, f"{where}[{item}]")
                bar.add(1)

    def _read_item(self, leaf: Any, i: int, item: int, where: str) -> None:
        try:
            got = leaf[item]
        except MemoryError:
            raise
        except Exception as error:  # whatever the data set can't give is a bad sample
            self._fail(i, where, error)
            return
        try:
            path, data, label = read_item(got, where, has_label=self._targets is None)
        except OSError as error:
            self._fail(i, where, error)
            return
        except TypeError as error:
            if not isinstance(leaf, DatasetFolder):
                raise
            advice = f"pass torchvision.datasets.ImageFolder({display(str(leaf.root))!r}) to pack its files"
            raise TypeError(f"{error}; {where.partition('[')[0]} has items of its own: {advice}") from error
        self._labels[i] = label
        if path:
            self._files[i] = path
            return
        if self._spool is None:
            self._spool = Spool(self._spool_dir)
        self._spooled[i] = self._spool.append(data)
        self._extensions[i] = extension_of(data)
        if isinstance(data, MadePNG):
            self._encoded.append(i)

    def _fail(self, i: int, where: str, error: Exception) -> None:
        if isinstance(error, OSError) and error.errno in OUR_TROUBLE:
            raise error
        self._failed[i] = f"{where} raised {type(error).__name__}: {without_addresses(str(error))}"

    def finish(self, kind: str, leaves: list[Any], class_to_idx: Mapping[str, int] | None) -> Samples:
        labels, classes = self._settle(leaves, class_to_idx)
        spooled = None
        if self._spool is not None:
            self._spool.finish()
            spooled = torch.zeros((len(self._files), 2), dtype=torch.int64)
            spooled[list(self._spooled)] = torch.tensor(list(self._spooled.values()), dtype=torch.int64)
        stored = None
        if self._dts:
            stored = StoredSamples(self._dts, as_place(self._dts_number, self._dts_item))
            stored.check_blocks()
        root, is_one_root = _common_root(leaves)
        num_samples = len(self._files)
        has_all_files = all(self._files)
        names = name_samples(
            self._files,
            [] if has_all_files else [self._extensions.get(i, "") for i in range(num_samples)],
            labels.tolist(),
            classes,
            root,
            given=self._given if self._dts else (),
            prefixes=self._prefixes() if self._dts else (),
        )
        return Samples(
            kind=kind,
            files=self._files,
            labels=labels,
            classes=classes,
            names=names,
            root=root if is_one_root else None,
            spool=self._spool,
            spooled=spooled,
            stored=stored,
            encoded=self._encoded,
            failed=self._failed,
            says_val=all(says_training(leaf) is False for leaf in leaves),
        )

    def _settle(self, leaves: list[Any], class_to_idx: Mapping[str, int] | None) -> tuple[Tensor, list[str]]:
        if self._targets is None:
            return settle_classes(_label_tensor(self._labels), common_classes(leaves), class_to_idx)
        classes = None
        with contextlib.suppress(ValueError):  # data sets of different classes may be joined then
            classes = common_classes(leaves)
        return self._targets.settle(len(self._files), classes, class_to_idx)

    def _prefixes(self) -> list[str]:
        prefixes = [*file_prefixes(self._dts), ""]  # the last is that of -1
        return [prefixes[number] for number in self._dts_number]


def _label_tensor(labels: list[Any]) -> Tensor:
    try:
        found = torch.tensor(labels)
        if found.dtype == torch.int64 and found.shape == (len(labels),):
            return found
    except (TypeError, ValueError, RuntimeError, OverflowError):
        pass
    # Odd types among the labels of a DatasetFolder: one by one, to name the first wrong one.
    numbers = [read_item(("x", label), f"sample {i}")[2] for i, label in enumerate(labels)]
    for i, number in enumerate(numbers):
        if not -(1 << 31) <= number < 1 << 31:
            raise ValueError(f"sample {i} has label {number}; labels are 32-bit numbers")
    return torch.tensor(numbers, dtype=torch.int64)


def check_not_empty(source: Any, leaf_of: Tensor) -> None:
    """Raises ValueError for a source of no samples (`leaf_of` as from `flatten`)."""
    if not len(leaf_of):
        raise ValueError(f"the source has no samples: {_describe(source)}")


def common_classes(leaves: list[Any]) -> list[str] | None:
    """The class names of all leaves; None where they name none.

    Raises:
        ValueError: They differ.
    """
    first = dataset_classes(leaves[0])
    for number, leaf in enumerate(leaves[1:], 1):
        other = dataset_classes(leaf)
        if other != first:
            raise ValueError(
                f"the joined data sets have different classes: {_count(first)} in the first, "
                f"{_count(other)} in number {number}; they must be equal lists"
            )
    return first


def _common_root(leaves: list[Any]) -> tuple[str | None, bool]:
    """The folder that holds all leaves' folders, and whether it is the root of each."""
    # A .dts file has paths of its own.
    roots = [folder_root(leaf) for leaf in leaves if not isinstance(leaf, DTSFile)]
    known = list(dict.fromkeys(root for root in roots if root is not None))
    if not known or None in roots:
        return None, False
    return (known[0], len(roots) == len(leaves)) if len(known) == 1 else (None, False)


def _length(dataset: Any) -> int:
    if isinstance(dataset, DTSFile):
        return len(dataset)
    if isinstance(dataset, IterableDataset) or not (
        hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    ):
        raise TypeError(
            "source must be a folder's path, an ImageFolder or DatasetFolder, a DTSDataset, or a map-style "
            f"data set (with __getitem__ and __len__), found {_describe(dataset)}"
        )
    return len(dataset)


def _indices(indices: Any, num_items: int) -> Tensor:
    chosen = torch.as_tensor(indices, dtype=torch.int64).flatten()
    wrong = (chosen < -num_items) | (chosen >= num_items)
    if bool(wrong.any()):
        raise IndexError(f"a Subset has index {int(chosen[wrong][0])} into a data set of {num_items}")
    return torch.where(chosen < 0, chosen + num_items, chosen)


def kind_of(source: Any) -> str:
    """Type of the source, for the file's INFO."""
    return source.kind if isinstance(source, GivenPath) else type(source).__name__


def _count(classes: list[str] | None) -> str:
    return "none" if classes is None else f"{len(classes)} ({', '.join(map(repr, classes[:3]))}, ...)"


def _describe(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__}: {text if len(text) <= 80 else text[:77] + '...'}"
