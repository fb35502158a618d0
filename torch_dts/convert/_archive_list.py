# SPDX-License-Identifier: Apache-2.0
"""The files in tar archives: their names and where their bytes lie. No file's bytes are read.

Archives inside of an archive (ImageNet's training set is one tar of a tar for each class) are
listed too, as folders called like them.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts._progress import Progress

_MEMBERS_AT_A_TIME = 16_384  # between two looks for Ctrl-C
_MAX_LINKS = 40
_FILE, _FOLDER, _HARD_LINK, _SYMLINK, _SPARSE = range(5)
_IS_SPARSE = "a sparse member, which is not read: repack the archive without --sparse"
_ODD = ("./", "//", "..")


@dataclass(eq=False)
class Listing:
    """What lies in the archives, in the order of archives and members.

    Attributes:
        files: The archives.
        identities: int64 ``[k, 2]``: size and mtime in ns of each.
        names: Path of each file inside its archive, without "." parts.
        place: int64 ``[n, 3]``: number of the archive, offset and size of each file.
        failed: Links that lead nowhere and sparse files (number of the file -> reason); their place is empty.
        folders: Paths of the folders that are members of their own, those that archives inside of an
            archive are listed as included.
        inner: Which of `folders` are such archives.
        owners: int64 ``[n]``: number of the innermost archive that holds each file, in `owner_names`.
        num_replaced: Archives inside that a later one of the same name replaces, as in unpacking.
    """

    files: list[str]
    identities: Tensor
    names: list[str] = field(default_factory=list)
    place: Tensor = field(default_factory=lambda: torch.zeros((0, 3), dtype=torch.int64))
    failed: dict[int, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    owners: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    owner_names: list[str] = field(default_factory=list)
    num_replaced: int = 0


def list_archives(paths: Sequence[str], progress: bool | None) -> Listing:
    """Lists tar archives.

    Raises:
        CorruptFileError: An archive is damaged, cut off, of a kind that is not supported, or changed
            while it was listed.
        ValueError: A member's name with a ".." part, or a link to a folder.
        OSError: An archive can't be read.
    """
    states = [os.stat(path) for path in paths]
    identities = torch.tensor([[state.st_size, state.st_mtime_ns] for state in states], dtype=torch.int64)
    listing = Listing(list(paths), identities.view(-1, 2))
    places, owners = [], []
    with Progress("listing", sum(state.st_size for state in states), progress, is_bytes=True) as bar:
        for number, (path, state) in enumerate(zip(paths, states, strict=True)):
            found = _Archive(path, bar)
            found.add(0, state.st_size, "")
            found.resolve_links()
            first = len(listing.names)
            listing.names += found.names
            listing.folders += found.folders
            listing.inner += found.inner
            listing.num_replaced += found.num_replaced
            owners += [each + len(listing.owner_names) for each in found.owners]
            listing.owner_names += found.owner_names
            listing.failed.update({first + i: reason for i, reason in found.failed.items()})
            own = torch.cat([torch.zeros((0, 2), dtype=torch.int64), *found.ranges])
            places.append(torch.cat([torch.full((len(own), 1), number), own], 1))
            now = os.stat(path)
            if (now.st_size, now.st_mtime_ns) != (state.st_size, state.st_mtime_ns):
                raise CorruptFileError(path, None, "the archive changed while it was listed")
    listing.place = torch.cat([listing.place, *places])
    listing.owners = torch.cat([listing.owners, *owners])
    return listing


def clean_names(names: list[str], path: str) -> list[str]:
    """Names without "." parts and slashes at their ends.

    Raises:
        ValueError: A name with a ".." part.
    """
    joined = "\0".join(names)
    if not any(odd in joined for odd in _ODD) and not any(
        name[:1] == "/" or name[-1:] == "/" for name in names
    ):
        return names
    return [_clean(name, path) for name in names]


def _clean(name: str, path: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        leads_out = posixpath.normpath("/".join(parts)).split("/")[0] == ".."
        raise ValueError(
            f"{display(path)}: the member {display(name)!r} "
            + (
                "leads out of the archive"
                if leads_out
                else "has a part '..', which tar does not unpack: repack the archive with plain paths"
            )
        )
    return "/".join(parts)


class _Archive:
    """Collects one archive and those inside of it."""

    def __init__(self, path: str, bar: Progress) -> None:
        self.names: list[str] = []
        self.ranges: list[Tensor] = []
        self.folders: list[str] = []
        self.inner: list[str] = []
        self.owners: list[Tensor] = []
        self.owner_names = [path]
        self.num_replaced = 0
        self.failed: dict[int, str] = {}
        self._path = path
        self._bar = bar
        self._links: dict[int, tuple[int, str]] = {}  # by number of the file: kind, what it points to

    def add(self, begin: int, end: int, folder: str) -> None:
        """Adds the archive in bytes [begin, end) of the file; its files get `folder` in front."""
        nested: dict[str, tuple[int, int]] = {}
        for names, targets, members, stop in self._pieces(begin, end):
            names = clean_names(names, self._path)
            if folder:
                names = [f"{folder}/{name}" for name in names]
            kinds = members[:, 0].tolist()
            inner = [i for i, name in enumerate(names) if name[-4:].lower() == ".tar" and kinds[i] != _FOLDER]
            if folder and inner:
                raise ValueError(
                    f"{display(self._path)}: {display(names[inner[0]])!r} is an archive in an archive in an "
                    f"archive; unpack the outer one"
                )
            linked = next((names[i] for i in inner if kinds[i] != _FILE), None)
            if linked is not None:
                raise ValueError(
                    f"{display(self._path)}: {display(linked)!r} is a link or a sparse member called like an "
                    f"archive, whose files would be left out; unpack the outer archive"
                )
            is_plain = not any(kinds) and not inner
            chosen = (
                range(len(names)) if is_plain else self._take_apart(names, targets, kinds, set(inner), folder)
            )
            self.names += names if is_plain else [names[i] for i in chosen]
            self.ranges.append(members[:, 1:] if is_plain else members[list(chosen), 1:])
            self.owners.append(torch.full((len(chosen),), len(self.owner_names) - 1))
            for i in inner:
                self.num_replaced += names[i] in nested
                nested[names[i]] = int(members[i, 1]), int(members[i, 2])
            if not folder:
                self._bar.add(stop)
        for name, (offset, size) in nested.items():
            self.owner_names.append(f"{self._path}:{name}")
            self.inner.append(name[:-4])
            self.folders.append(name[:-4])
            self.add(offset, offset + size, name[:-4])

    def _pieces(self, begin: int, end: int) -> Iterator[tuple[list[str], list[str], Tensor, int]]:
        position = begin
        while position >= 0:
            before = position
            names, targets, members, position = _native.list_tar(
                self._path, begin, end, position, _MEMBERS_AT_A_TIME
            )
            passed = (end if position < 0 else position) - before
            yield _split(names), _split(targets), members, passed

    def _take_apart(
        self, names: list[str], targets: list[str], kinds: list[int], inner: set[int], folder: str
    ) -> list[int]:
        """Sorts a piece into files (returned), folders, links and archives."""
        chosen: list[int] = []
        taken = iter(targets)
        for i, kind in enumerate(kinds):
            if kind == _FOLDER:
                self.folders.append(names[i])
                continue
            if i in inner:
                continue
            if kind == _SPARSE:
                self.failed[len(self.names) + len(chosen)] = _IS_SPARSE
            elif kind != _FILE:
                target = next(taken)
                # A hard link names a member, a symlink a path from where it lies.
                start = folder if kind == _HARD_LINK else posixpath.dirname(names[i])
                target = posixpath.join(start, target.lstrip("/") if kind == _HARD_LINK else target)
                self._links[len(self.names) + len(chosen)] = kind, posixpath.normpath(target)
            chosen.append(i)
        return chosen

    def resolve_links(self) -> None:
        """Gives links the place of the file that they lead to, and no place to what has none."""
        if not self._links and not self.failed:
            return
        ranges = torch.cat(self.ranges)
        last: dict[str, int] = {}
        origins: dict[int, int | None] = {}
        for number, name in enumerate(self.names):
            kind, target = self._links.get(number, (_FILE, ""))
            if kind == _HARD_LINK:  # to what has the name so far
                origins[number] = last.get(target)
            last[name] = number
        folders = {posixpath.dirname(name) for name in self.names} | set(self.folders)
        for number, (kind, target) in self._links.items():
            found, problem = self._follow(number, origins, last)
            if found is None and target in folders:
                raise ValueError(
                    f"{display(self._path)}: {display(self.names[number])!r} is a link to the folder "
                    f"{display(target)!r}; unpack the archive and convert the folder"
                )
            if found is not None:
                ranges[number] = ranges[found]
            if problem:
                word = "hard link" if kind == _HARD_LINK else "symlink"
                self.failed[number] = f"a {word} to {display(target)!r}, {problem}"
        ranges[list(self.failed)] = 0
        self.ranges = [ranges]

    def _follow(
        self, number: int, origins: dict[int, int | None], last: dict[str, int]
    ) -> tuple[int | None, str]:
        """The file that a link leads to, None for none, and what is wrong with it."""
        passed: set[int] = set()
        while number in self._links:
            if number in passed:
                return None, "and the links go round in a circle"
            if len(passed) == _MAX_LINKS:
                return None, f"with more than {_MAX_LINKS} links one behind the other"
            passed.add(number)
            target = self._links[number][1]
            found = origins[number] if number in origins else last.get(target)
            if found is None:
                way = "which" if len(passed) == 1 else f"which leads to {display(target)!r}, which"
                comes_later = number in origins and target in last
                what = (
                    "lies behind the hard link in the archive" if comes_later else "is no file of the archive"
                )
                return None, f"{way} {what}"
            number = found
        return number, f"which is {self.failed[number]}" if number in self.failed else ""


def _split(joined: bytes) -> list[str]:
    return os.fsdecode(joined).split("\0")[:-1]
