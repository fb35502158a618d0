# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards: tar archives in which files of one key make a sample, such as 7.jpg and 7.cls."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

import torch
from torch import Tensor

from torch_dts._paths import display
from torch_dts.convert._archive_list import Listing
from torch_dts.convert._archive_samples import ArchiveSamples
from torch_dts.convert._folder import image_extensions

LABEL_EXTENSION = "cls"
_MAX_LABEL_BYTES = 64
_MOST_SHOWN = 8
_LABELS_AT_A_TIME = 65_536
_NUMBER = re.compile(rb"\s*(\d{1,10})\s*")


@dataclass(eq=False)
class Shards:
    """The samples of shards, in the order of shards and members.

    Attributes:
        numbers: Number in the listing of each sample's image; of its first file where it has none.
        names: Path of each of these files.
        labels: Class number of each sample; 0 where it has none.
        failed: What is wrong with a sample (its rank -> reason).
    """

    numbers: list[int]
    names: list[str]
    labels: list[int]
    failed: dict[int, str] = field(default_factory=dict)


@dataclass
class _Group:
    """Files that follow each other and share archive and key."""

    first: int
    images: list[int]
    labels: list[int]
    extensions: list[str]


def are_shards(listing: Listing) -> bool:
    """True for archives that hold class numbers as files of their own."""
    return any(name[-4:].lower() == f".{LABEL_EXTENSION}" for name in listing.names)


def group(listing: Listing, *, needs_labels: bool) -> Shards:
    """Makes samples of the files that share a key: the path up to the first dot of the file's name.

    Args:
        needs_labels: A sample without a class number is a failed one.
    """
    groups = _groups(listing)
    shards = Shards([], [], [])
    label_files: dict[int, int] = {}
    for rank, each in enumerate(groups):
        number = each.images[0] if each.images else each.first
        shards.numbers.append(number)
        shards.names.append(listing.names[number])
        problem = _problem(each, needs_labels)
        if not problem and number in listing.failed:
            problem = listing.failed[number]
        if not problem and needs_labels and each.labels[0] in listing.failed:
            problem = f"{display(listing.names[each.labels[0]])} is {listing.failed[each.labels[0]]}"
        if problem:
            shards.failed[rank] = problem
        elif needs_labels:
            label_files[rank] = each.labels[0]
    shards.labels = [0] * len(groups)
    for rank, content in _contents(listing, label_files):
        found = _NUMBER.fullmatch(content)
        if found:
            shards.labels[rank] = int(found[1])
        else:
            name = display(listing.names[label_files[rank]])
            shards.failed[rank] = f"{name} holds {content[:20]!r}, expected a class number"
    shards.names = _told_apart(listing, shards)
    return shards


def _groups(listing: Listing) -> list[_Group]:
    images = {extension[1:] for extension in image_extensions()}
    groups: list[_Group] = []
    before: tuple[int, str] | None = None
    for i, (name, archive) in enumerate(zip(listing.names, listing.place[:, 0].tolist(), strict=True)):
        folder, slash, base = name.rpartition("/")
        stem, dot, extension = base.partition(".")
        if not dot or not stem:  # such as a README, or the hidden files of some systems
            continue
        key = archive, folder + slash + stem
        if key != before:
            groups.append(_Group(i, [], [], []))
            before = key
        extension = extension.lower()
        groups[-1].extensions.append(f".{extension}")
        if extension in images:
            groups[-1].images.append(i)
        elif extension == LABEL_EXTENSION:
            groups[-1].labels.append(i)
    return groups


def _problem(each: _Group, needs_labels: bool) -> str:
    if len(each.images) != 1:
        found = ", ".join(each.extensions[:_MOST_SHOWN])
        found += ", ..." if len(each.extensions) > _MOST_SHOWN else ""
        what = f"{len(each.images)} images" if each.images else "no image"
        endings = ", ".join(image_extensions())
        return f"the sample has {what}: found {found} behind the key, expected one of {endings}"
    if needs_labels and len(each.labels) != 1:
        count = len(each.labels)
        return (
            f"the sample has no class number (.{LABEL_EXTENSION})"
            if not count
            else (f"the sample has {count} class numbers (.{LABEL_EXTENSION})")
        )
    return ""


def _contents(listing: Listing, label_files: dict[int, int]) -> list[tuple[int, bytes]]:
    """What the label files hold, by the samples' ranks."""
    found: list[tuple[int, bytes]] = []
    ranks = list(label_files)
    for start in range(0, len(ranks), _LABELS_AT_A_TIME):
        some = ranks[start : start + _LABELS_AT_A_TIME]
        place = listing.place[[label_files[rank] for rank in some]]
        place[:, 2].clamp_(max=_MAX_LABEL_BYTES)
        ends = torch.cumsum(place[:, 2], 0)
        data = read_all(ArchiveSamples(listing.files, listing.identities, place), ends)
        starts = (ends - place[:, 2]).tolist()
        found += [(rank, data[a:b]) for rank, a, b in zip(some, starts, ends.tolist(), strict=True)]
    return found


def read_all(samples: ArchiveSamples, ends: Tensor) -> bytes:
    """All samples one behind the other; `ends` int64 [n] says where each ends."""
    arena = torch.empty(int(ends[-1]) if ends.numel() else 0, dtype=torch.uint8)
    samples.read_into(torch.arange(ends.numel()), ends - samples.place[:, 2], arena)
    return bytes(arena.numpy())


def _told_apart(listing: Listing, shards: Shards) -> list[str]:
    """The samples' paths; those of each shard in a folder called like it where two shards share one."""
    names = shards.names
    if len(set(names)) == len(names) or len(listing.files) == 1:
        return names
    stems = [os.path.splitext(os.path.basename(path))[0] for path in listing.files]
    if len(set(stems)) < len(stems):
        stems = [f"{stem}_{number}" for number, stem in enumerate(stems)]
    owners = listing.place[shards.numbers, 0].tolist()
    return [f"{stems[owner]}/{name}" for owner, name in zip(owners, names, strict=True)]
