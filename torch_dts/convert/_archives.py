# SPDX-License-Identifier: Apache-2.0
"""Tar archives as a source: class folders in a tar, flat tars with labels=, WebDataset shards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from torch_dts.convert._archive_list import Listing, list_archives
from torch_dts.convert._archive_samples import ArchiveSamples
from torch_dts.convert._archive_shards import are_shards, group
from torch_dts.convert._archive_tree import arrange, check_classes, says_val
from torch_dts.convert._classes import settle_classes
from torch_dts.convert._folder import GivenPath
from torch_dts.convert._labels import LabelTable
from torch_dts.convert._names import check_paths
from torch_dts.convert._samples import Samples


@dataclass(frozen=True, eq=False)
class ArchiveSource(GivenPath):
    """Tar archives.

    Attributes:
        labels: Labels in place of class folders and .cls files; None: those of the archives.
        split: "train" or "val", for an archive that holds both; None: not said.
    """

    labels: LabelTable | None = None
    split: str | None = None


def open_archives(
    paths: list[str], labels: LabelTable | None = None, split: str | None = None
) -> ArchiveSource:
    """A source of the archives `paths`."""
    stem, extension = os.path.splitext(paths[0])
    beside = None if len(paths) > 1 else stem if extension.lower() == ".tar" else paths[0]
    return ArchiveSource("ImageFolder" if labels is None else "LabelledFolder", beside, paths, labels, split)


def list_archive_samples(
    source: ArchiveSource,
    *,
    class_to_idx: Mapping[str, int] | None,
    allow_empty: bool,
    progress: bool | None,
) -> Samples:
    """Lists the samples of archives, as `list_samples` does of other sources.

    Raises:
        CorruptFileError, OSError: An archive is damaged or can't be read.
        ValueError: No images, no labels, or labels that don't fit.
        FileNotFoundError: A class folder without images.
    """
    listing = list_archives(source.reads, progress)
    if are_shards(listing):
        return _shard_samples(source, listing, class_to_idx)
    tree = arrange(listing, source.split, is_flat=source.labels is not None)
    if source.labels is not None:
        labels, classes = source.labels.match(tree.names, class_to_idx)
    else:
        if not allow_empty:
            check_classes(tree, source.reads[0])
        labels, classes = torch.tensor(tree.labels()), list(tree.classes)
    labels, names = settle_classes(labels, classes, class_to_idx)
    failed = {rank: listing.failed[i] for rank, i in enumerate(tree.numbers) if i in listing.failed}
    stems = [os.path.splitext(os.path.basename(path))[0] for path in source.reads]
    own = [tree.folder.rstrip("/").rpartition("/")[2]] if tree.folder else []
    return _samples(
        source.kind,
        listing,
        tree.numbers,
        labels,
        names,
        tree.names,
        failed,
        is_val=says_val(stems) or (bool(own) and says_val(own)),
        num_replaced=tree.num_replaced,
    )


def _shard_samples(
    source: ArchiveSource, listing: Listing, class_to_idx: Mapping[str, int] | None
) -> Samples:
    shards = group(listing, needs_labels=source.labels is None)
    if not shards.numbers:
        raise ValueError("the shards hold no samples: no file with a key and an extension, such as 7.jpg")
    labels, classes = torch.tensor(shards.labels), None
    if source.labels is not None:
        labels, classes = source.labels.match(shards.names, class_to_idx)
    labels, class_names = settle_classes(labels, classes, class_to_idx)
    stems = [os.path.splitext(os.path.basename(path))[0] for path in source.reads]
    return _samples(
        "WebDataset",
        listing,
        shards.numbers,
        labels,
        class_names,
        shards.names,
        shards.failed,
        is_val=says_val(stems),
    )


def _samples(
    kind: str,
    listing: Listing,
    numbers: list[int],
    labels: torch.Tensor,
    classes: list[str],
    names: list[str],
    failed: dict[int, str],
    *,
    is_val: bool,
    num_replaced: int = 0,
) -> Samples:
    check_paths(names)
    place = listing.place[numbers]
    place[list(failed), 1:] = 0
    return Samples(
        kind=kind,
        files=[""] * len(numbers),
        labels=labels,
        classes=classes,
        names=names,
        archives=ArchiveSamples(listing.files, listing.identities, place),
        failed=failed,
        says_val=is_val,
        num_replaced=num_replaced,
    )
