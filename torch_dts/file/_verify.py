# SPDX-License-Identifier: Apache-2.0
"""Reads a whole file and says what is wrong with it, and which samples that hurts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._parallel import map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts._words import num_of
from torch_dts.file._contents import byte_view
from torch_dts.file._file import DTSFile
from torch_dts.file._padding import HEADER_BYTES, find_padding_faults
from torch_dts.file._whole_file import check_block, check_whole_file, crc_problem

Value = TypeVar("Value")

# PNG, GIF, BMP, WebP, TIFF: kept as they are, and without an end that could be looked for.
_OTHER_KINDS = (b"\x89PNG", b"GIF8", b"BM", b"RIFF", b"II*\0", b"MM\0*")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a file or a set.

    Attributes:
        kind: ``"table"`` (the section table), ``"section"``, ``"padding"`` (a byte between
            the parts is not zero), ``"block"``, ``"unreadable"`` (the disk refused a block),
            ``"label"`` (of a pixel file), ``"file"`` (the CRC-32 of the whole file, or of a set: a
            volume that can't be opened) or ``"set"`` (volumes are missing or don't belong together).
        message: What was found and what was expected. Of a set it begins with the volume's
            file, and counts blocks within it.
        block: The block that is hurt, or None. Of a set: its number in the set.
        samples: Source indices of all samples of that block (for kind ``"file"``: of those
            that look damaged).
        paths: Their relative paths.
        likely: Those of them that are no complete JPEG (nor of another kind). Damage
            inside a picture does not show here, and a source file may have been cut before.
    """

    kind: str
    message: str
    block: int | None = None
    samples: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    likely: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found.

    Attributes:
        path: The file or the set.
        num_blocks: Blocks read.
        num_samples: Samples in the file.
        problems: Everything that is wrong; empty when nothing is.
        notes: What could not be checked, and why.
        seconds: How long it took.
    """

    path: str
    num_blocks: int
    num_samples: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        size = f"{num_of(self.num_samples, 'sample')} in {num_of(self.num_blocks, 'block')}"
        what = f"{display(self.path)}: {size}"
        if self.ok:
            return f"{what}, all right"
        return "\n".join([f"{what}, {num_of(len(self.problems), 'problem')}", *map(str, self.problems)])


def verify_file(path: str | os.PathLike[str], workers: int, progress: bool | None) -> VerifyReport:
    """`verify` of one file.

    Raises:
        OSError: The file can't be opened.
        CorruptFileError: Its header is damaged.
    """
    start = time.perf_counter()
    found = _Findings()
    with _open_somehow(path, found) as file:
        if found.problems:
            found.notes.append("the zeros between the parts were not checked, as their places are not known")
        else:
            found.attempt(file, "padding", partial(_check_padding, file, found))
        if file.header.has_blocks:
            _check_block_file(path, file, found, workers, progress)
        else:
            _check_pixel_file(file, found, progress)
        return VerifyReport(
            path=file.path,
            num_blocks=file.num_blocks,
            num_samples=len(file),
            problems=tuple(found.problems),
            notes=tuple(found.notes),
            seconds=time.perf_counter() - start,
        )


@dataclass
class _Findings:
    """What has been found so far."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def attempt(self, file: DTSFile, kind: str, check: Callable[[], object]) -> bool:
        """Runs a check; a fault becomes a problem, once."""
        try:
            check()
        except (CorruptFileError, OSError) as error:
            self.add(file, kind, error)
            return False
        return True

    def add(self, file: DTSFile, kind: str, error: CorruptFileError | OSError) -> None:
        header = file.header
        block = None
        if header.has_blocks and isinstance(error, CorruptFileError) and error.offset is not None:
            number = (error.offset - header.header_bytes) // header.block_size
            if 0 <= number < header.num_blocks:
                kind, block = "block", number
        # Several tables may need the same damaged part.
        if all(problem.message != _text(error) for problem in self.problems):
            self.problems.append(Problem(kind, _text(error), block))


def _open_somehow(path: str | os.PathLike[str], found: _Findings) -> DTSFile:
    """With damaged sections the blocks can still be found, so they are checked all the same."""
    try:
        return DTSFile(path)
    except CorruptFileError as error:
        first = error
    try:
        file = DTSFile(path, ignore_sections=True)
    except CorruptFileError:
        raise first from None
    found.problems.append(Problem("table", _text(first)))
    lost = ", so the CRCs of the blocks are not known" if file.header.has_blocks else ""
    found.notes.append(f"no section can be read{lost}")
    return file


def _check_block_file(
    path: str | os.PathLike[str], file: DTSFile, found: _Findings, workers: int, progress: bool | None
) -> None:
    is_table_damaged = any(problem.kind == "table" for problem in found.problems)
    has_tables, has_order = _check_tables(file, found)
    has_names = has_order and not is_table_damaged
    known_crcs = _known_crcs(file)
    if not has_names:
        found.notes.append("which samples the blocks hold is not known, as tables are damaged")
    if has_tables or not file.sections:
        _check_blocks(file, has_names, known_crcs, found, workers, progress)
        return
    # The blocks' own headers stand in for the tables.
    with DTSFile(path, ignore_sections=True) as bare:
        _check_tables(bare, found)
        _check_blocks(bare, has_names, known_crcs, found, workers, progress)


def _check_pixel_file(file: DTSFile, found: _Findings, progress: bool | None) -> None:
    """Sections, labels and the CRC-32, which covers all behind the header: nothing says where damage is."""
    for section in file.sections:
        found.attempt(file, "section", partial(_native.file_section, file.handle, section.tag))
    for check in (lambda: file.classes, lambda: file.info):
        found.attempt(file, "section", check)
    found.attempt(file, "label", lambda: file.labels)
    with Progress("verifying", file.file_bytes, progress, is_bytes=True) as bar:
        found.attempt(file, "file", lambda: check_whole_file(file.handle, file.volumes))
        bar.add(file.file_bytes)


def _check_tables(file: DTSFile, found: _Findings) -> tuple[bool, bool]:
    """Whether it is known where samples lie, and which ones they are; other damage is only noted."""
    readable = {
        section.tag: found.attempt(file, "section", partial(_native.file_section, file.handle, section.tag))
        for section in file.sections
    }
    has_tables = found.attempt(file, "section", lambda: file.block_table)
    has_order = has_tables and found.attempt(file, "section", lambda: file.source_index)
    others: list[tuple[str, Callable[[], object]]] = [
        ("LABL", lambda: file.labels),
        ("CLSS", lambda: file.classes),
        ("INFO", lambda: file.info),
        ("PATH", lambda: sum(1 for _ in file.paths)),
    ]
    for tag, check in others:
        if readable.get(tag, True):
            found.attempt(file, "section", check)
    return has_tables, has_order


def _check_padding(file: DTSFile, found: _Findings) -> None:
    table_bytes = _native.file_head(file.handle).numel() - HEADER_BYTES
    places = (file.header, file.sections, table_bytes, file.file_bytes)
    for _, message in find_padding_faults(file.absolute_path, *places):
        found.problems.append(Problem("padding", message))


def _known_crcs(file: DTSFile) -> Tensor | None:
    """int64 ``[num_blocks]``: what BIDX says, whatever state other sections are in; None: nothing."""
    raw = _quietly(lambda: _native.file_section(file.handle, "BIDX"))
    if raw is None or raw.numel() != 8 * file.num_blocks:
        return None
    return raw.view(torch.int32)[1::2].to(torch.int64) & 0xFFFFFFFF


def _check_blocks(
    file: DTSFile,
    has_names: bool,
    known_crcs: Tensor | None,
    found: _Findings,
    workers: int,
    progress: bool | None,
) -> None:
    def check(block_id: int) -> tuple[int | None, str]:
        try:
            crc, problem = check_block(file.handle, block_id)
            is_told = problem.startswith(f"block {block_id}")  # else it is about a table
            if known_crcs is not None and crc != known_crcs[block_id] and not is_told:
                problem = (
                    f"block {block_id}: CRC-32 is {crc:#010x}, expected {int(known_crcs[block_id]):#010x}"
                )
            return crc, problem
        except (OSError, CorruptFileError) as error:
            return None, f"block {block_id} can't be read: {_text(error)}"

    crcs: list[int] = []
    hurt: list[Problem] = []
    with Progress("verifying", file.num_blocks * file.block_size, progress, is_bytes=True) as bar:
        for block_id, (crc, problem) in map_in_order(check, range(file.num_blocks), workers):
            if crc is None:
                hurt.append(_block_problem(file, has_names, "unreadable", block_id, problem))
            else:
                crcs.append(crc)
                # A table that can't be built is told for every block: it is known already.
                if problem and all(known.message != problem for known in found.problems):
                    hurt.append(_block_problem(file, has_names, "block", block_id, problem))
            bar.add(file.block_size)
    found.problems.extend(hurt)
    if len(crcs) < file.num_blocks:
        found.notes.append("the CRC-32 of the whole file was not checked, as not all blocks can be read")
        return
    found.attempt(file, "file", lambda: _check_file_crc(file, has_names, known_crcs, found, crcs))


def _check_file_crc(
    file: DTSFile, has_names: bool, known_crcs: Tensor | None, found: _Findings, crcs: list[int]
) -> None:
    expected = file.header.crc_code
    crc = _native.file_crc(file.handle, torch.tensor(crcs, dtype=torch.int64, device="cpu"))
    if crc == expected:
        return
    message = crc_problem(crc, expected)
    if known_crcs is not None:
        # With the right blocks it would fit: the damaged ones explain it.
        if _native.file_crc(file.handle, known_crcs) != expected:
            found.problems.append(Problem("file", message))
        return
    message += "; no CRC-32 of single blocks is known, so it is not known where the damage is"
    likely: tuple[int, ...] = ()
    if has_names:
        blocks = range(file.num_blocks)
        likely = tuple(sorted(i for b in blocks for i in _look_damaged(file, _stored_ids(file, b))))
    found.problems.append(Problem("file", message, None, likely, _paths(file, likely), likely))


def _block_problem(file: DTSFile, has_names: bool, kind: str, block_id: int, message: str) -> Problem:
    if not has_names:
        return Problem(kind, message, block_id)
    stored = _stored_ids(file, block_id)
    samples = tuple(sorted(file.positions_of(stored).tolist()))
    likely = () if kind == "unreadable" else tuple(_look_damaged(file, stored))
    return Problem(kind, message, block_id, samples, _paths(file, samples), likely)


def _stored_ids(file: DTSFile, block_id: int) -> Tensor:
    """The stored indices of a block's samples."""
    counts = file.block_table.num_samples
    first = int(counts[:block_id].sum())
    return torch.arange(first, first + int(counts[block_id]), device="cpu")


def _paths(file: DTSFile, samples: tuple[int, ...]) -> tuple[str, ...]:
    return _quietly(lambda: tuple(file.paths[sample] for sample in samples)) or ()


def _look_damaged(file: DTSFile, stored: Tensor) -> list[int]:
    """Source indices of the samples that end before their end marker, or are no picture of any kind."""
    read = _quietly(lambda: _native.read_samples(file.handle, stored))
    if read is None:
        return []
    arena, offsets, sizes = read
    scanned = _native.scan_samples(arena, offsets, sizes)
    view = byte_view(arena)
    places = zip(offsets.tolist(), sizes.tolist(), strict=True)
    is_other_kind = [view[at : at + min(4, size)].tobytes().startswith(_OTHER_KINDS) for at, size in places]
    damaged = (scanned[:, 0] == 0) | (scanned[:, 3] == 0)
    damaged &= ~torch.tensor(is_other_kind, dtype=torch.bool, device="cpu")
    return sorted(file.positions_of(stored[damaged]).tolist())


def _quietly(get: Callable[[], Value]) -> Value | None:
    """What a damaged part costs is detail in the report, never the report: its fault is listed already."""
    try:
        return get()
    except (CorruptFileError, OSError):
        return None


def _text(error: OSError | CorruptFileError) -> str:
    """An error without the file's name, which the report has already."""
    return error.problem if isinstance(error, CorruptFileError) else error.strerror or str(error)
