# SPDX-License-Identifier: Apache-2.0
"""What a conversion has finished, on disk beside its target, so that a killed one can go on.

    <target>.journal   this file: a line that names it, then records
    <target>.samples   encoded samples, where they are not the source's bytes
    <target>.partial   the unfinished .dts file, of which the journal names the whole blocks

A record is {4-char tag, u32 length, u32 CRC-32 of tag, length and payload} and its payload.
The first record that is torn or wrong ends the journal; what follows is cut off.

    CKEY  JSON: everything that the result depends on
    CHCK  JSON: what the check found, then int64 sizes
    SMPL  int64 rows of encoded samples (ROW)
    PLAN  SHA-256 of which sample lies where; blocks before it are void
    BLCK  int64: block, CRC-32, bytes of samples, largest area, JPEGs without EOI
    PUBL  int64: inodes of finished volumes, which get their names from now on

Blocks of a set are numbered volume after volume.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts.convert._check import Checked
from torch_dts.convert._lock import open_locked
from torch_dts.convert._report import BadSample

JOURNAL_SUFFIX = ".journal"
SAMPLES_SUFFIX = ".samples"
_MAGIC = b"torch_dts journal 1\n"
_HEAD = struct.Struct("<4sII")

ROW = ("number", "offset", "size", "crc", "kept_because", "dropped_segments", "dropped_bytes", "area")
_BLOCK = 5


def new_rows(count: int) -> Tensor:
    """int64 [count, 8] for `Journal.add_samples`, with -1 as number."""
    return torch.full((count, len(ROW)), -1, dtype=torch.int64)


class Journal:
    """The journal of one target, locked against a second conversion. Writing is for one thread."""

    def __init__(self, target: str, key: Mapping[str, Any]) -> None:
        """Opens the journal of `target`, or begins one.

        Args:
            key: What the result depends on, as JSON values.

        Raises:
            ValueError: There is one of another key; the message says what differs.
            CorruptFileError: A file of this name is no journal.
            BlockingIOError: Another conversion to `target` is running.
            OSError: It can't be read or written.
        """
        self.target = target
        self.path = target + JOURNAL_SUFFIX
        self.samples_path = target + SAMPLES_SUFFIX
        self.checked: Checked | None = None
        self._rows: list[Tensor] = []
        self._plan = b""
        self._blocks: dict[int, list[int]] = {}
        self._file = open_locked(self.path, target)
        try:
            self._load(json.loads(json.dumps(dict(key))))
        except BaseException:
            self._file.close()
            raise

    @property
    def samples(self) -> Tensor:
        """int64 [k, 8] rows of the encoded samples (`ROW`)."""
        return torch.cat([new_rows(0), *self._rows])

    @property
    def spool_bytes(self) -> int:
        """Where the bytes of the encoded samples end in the file of samples."""
        rows = self.samples
        return int((rows[:, 1] + rows[:, 2]).max()) if rows.shape[0] else 0

    @property
    def is_begun(self) -> bool:
        """True when something is finished that another run need not do again."""
        return self.checked is not None or bool(self._rows) or bool(self._blocks)

    def note_check(self, checked: Checked) -> None:
        """Keeps the result of the check."""
        self.checked = checked
        bad = [[os.fsencode(each.path).hex(), each.index, each.reason] for each in checked.bad]
        head = json.dumps({"max_area": checked.max_area, "num_deep": checked.num_deep, "bad": bad}).encode()
        sizes = zlib.compress(checked.sizes.numpy().tobytes(), 1)
        self._append(b"CHCK", struct.pack("<I", len(head)) + head + sizes)

    def add_samples(self, rows: Tensor) -> None:
        """Encoded samples whose bytes are in the file of samples (int64 [k, 8])."""
        if rows.shape[0]:
            self._rows.append(rows)
            self._append(b"SMPL", rows.contiguous().numpy().tobytes())

    def begin_blocks(self, plan: bytes) -> dict[int, list[int]]:
        """Finished blocks of this plan, by number: CRC-32, bytes, largest area, JPEGs without EOI.

        Args:
            plan: SHA-256 of which sample lies where.
        """
        if plan != self._plan:
            self._plan, self._blocks = plan, {}
            self._append(b"PLAN", plan)
        return dict(self._blocks)

    def add_block(self, block_id: int, facts: list[int]) -> None:
        """A block that is whole in the partial file."""
        self._blocks[block_id] = facts
        self._append(b"BLCK", struct.pack(f"<{_BLOCK}q", block_id, *facts))

    def note_publication(self, inodes: list[int]) -> None:
        """The finished volumes of a set, before the first of them gets its name."""
        self._append(b"PUBL", struct.pack(f"<{len(inodes)}q", *inodes))

    def close(self) -> None:
        """Gives the lock back; journal and samples stay. Idempotent."""
        self._file.close()

    def remove(self) -> None:
        """Deletes journal and samples."""
        for path in (self.samples_path, self.path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.close()

    def _append(self, tag: bytes, payload: bytes) -> None:
        self._file.write(_record(tag, payload))
        self._file.flush()

    def _load(self, key: dict[str, Any]) -> None:
        data = self._file.read()
        records = _records(data, len(_MAGIC)) if data.startswith(_MAGIC) else iter(())
        tag, payload, end = next(records, (b"", b"", 0))
        if tag != b"CKEY":
            # Killed before its first record was whole, or nothing there at all.
            if not _MAGIC.startswith(data[: len(_MAGIC)]):
                raise CorruptFileError(
                    self.path, 0, "not a conversion's journal; remove it or choose another path"
                )
            self._file.seek(0)
            self._file.truncate()
            self._file.write(_MAGIC)
            self._append(b"CKEY", json.dumps(key).encode())
            return
        self._require(json.loads(payload), key)
        for tag, payload, stop in records:
            self._take(tag, payload)
            end = stop
        self._file.seek(end)
        self._file.truncate()
        self._check_samples()

    def _take(self, tag: bytes, payload: bytes) -> None:
        if tag == b"CHCK":
            (length,) = struct.unpack_from("<I", payload)
            head = json.loads(payload[4 : 4 + length])
            bad = [BadSample(os.fsdecode(bytes.fromhex(path)), i, reason) for path, i, reason in head["bad"]]
            sizes = torch.frombuffer(bytearray(zlib.decompress(payload[4 + length :])), dtype=torch.int64)
            self.checked = Checked(sizes, head["max_area"], head["num_deep"], bad)
        elif tag == b"SMPL":
            self._rows.append(torch.frombuffer(bytearray(payload), dtype=torch.int64).view(-1, len(ROW)))
        elif tag == b"PLAN":
            self._plan, self._blocks = payload, {}
        elif tag == b"BLCK":
            block_id, *facts = struct.unpack(f"<{_BLOCK}q", payload)
            self._blocks[block_id] = facts

    def _check_samples(self) -> None:
        """Forgets rows whose bytes are not (or not wholly) on the disk: power may have failed."""
        rows = self.samples
        if not rows.shape[0]:
            return
        is_there = torch.zeros(rows.shape[0], dtype=torch.bool)
        with contextlib.suppress(FileNotFoundError), open(self.samples_path, "rb") as file:
            for at, (_, offset, size, crc, *_) in enumerate(rows.tolist()):
                if file.tell() != offset:
                    file.seek(offset)
                data = file.read(size)
                is_there[at] = len(data) == size and zlib.crc32(data) == crc
        if not bool(is_there.all()):
            self._rows = [rows[is_there]]

    def _require(self, found: dict[str, Any], key: dict[str, Any]) -> None:
        differing = [name for name in key if found.get(name) != key[name]]
        if not differing:
            return
        parts = [
            name
            if isinstance(key[name], str) and len(key[name]) == 64  # a digest says nothing to people
            else f"{name} was {found.get(name)!r}, now {key[name]!r}"
            for name in differing
        ]
        raise ValueError(
            f"{display(self.path)} is of another conversion and can't be resumed; these differ: "
            f"{'; '.join(parts)}. Nothing was changed. Convert as before to go on, or with resume=False to "
            f"start afresh"
        )


@contextlib.contextmanager
def published_files(target: str) -> Iterator[list[int]]:
    """What `note_publication` said last in the journal of `target`, which is locked meanwhile; [] without it.

    Raises:
        BlockingIOError: The conversion is still running.
    """
    path = target + JOURNAL_SUFFIX
    if not os.path.isfile(path) or os.path.islink(path):
        yield []
        return
    with open_locked(path, target) as file:
        data = file.read()
        inodes: list[int] = []
        for tag, payload, _ in _records(data, len(_MAGIC)) if data.startswith(_MAGIC) else ():
            if tag == b"PUBL":
                inodes = list(struct.unpack(f"<{len(payload) // 8}q", payload))
        yield inodes


def discard_journal(target: str) -> None:
    """Deletes what an interrupted conversion to `target` left beside the partial file.

    Raises:
        BlockingIOError: It is still running.
    """
    path = target + JOURNAL_SUFFIX
    try:
        with open(path, "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return  # not ours
    except OSError:
        return
    with open_locked(path, target):
        for each in (target + SAMPLES_SUFFIX, path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each)


def _record(tag: bytes, payload: bytes) -> bytes:
    crc = zlib.crc32(payload, zlib.crc32(struct.pack("<4sI", tag, len(payload))))
    return _HEAD.pack(tag, len(payload), crc) + payload


def _records(data: bytes, start: int) -> Iterator[tuple[bytes, bytes, int]]:
    """Tag, payload and end of each whole record."""
    while start + _HEAD.size <= len(data):
        tag, length, _ = _HEAD.unpack_from(data, start)
        end = start + _HEAD.size + length
        payload = data[start + _HEAD.size : end]
        if data[start:end] != _record(tag, payload):
            return
        yield tag, payload, end
        start = end
