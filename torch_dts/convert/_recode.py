# SPDX-License-Identifier: Apache-2.0
"""The stage between check and packing where stored bytes differ from the source's.

    source bytes -> [thread: read a few samples, Recoder] -> spool beside the target -> Kept of other sizes

A `Recoder` says how; threads call it, each with an arena of its own, and results are put
aside in source order, so nothing depends on the number of workers.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from torch_dts._parallel import map_in_order
from torch_dts._progress import Progress
from torch_dts._raw import as_image_file
from torch_dts._words import num_of
from torch_dts.convert._journal import Journal, new_rows
from torch_dts.convert._kept import Kept
from torch_dts.convert._report import BadSample, BadSamplesError, RecodeFacts
from torch_dts.convert._room import Room
from torch_dts.convert._spool import Spool

_CHUNK_SAMPLES = 16
_CHUNK_BYTES = 4 << 20
_ALIGNMENT = 64


class StoredSample(NamedTuple):
    """What a recoder made of one sample."""

    data: bytes | memoryview
    """The bytes to store; b"" for a bad sample."""
    reason: str = ""
    """What is wrong with the sample; "" for a good one."""
    kept_because: int = 0
    """0: encoded anew; else a number of the recoder's `keep_reasons`: these are the source's bytes."""
    dropped_segments: int = 0
    """Segments of metadata that were left out."""
    dropped_bytes: int = 0
    """Their bytes."""
    area: int = 0
    """Width * height, where the stored bytes are no JPEG whose header tells."""
    too_large: int = 0
    """Bytes of what would have been stored, where no block holds it; the sample is a bad one then."""


class Recoder(Protocol):
    """Turns encoded source bytes into stored bytes. `recode` is thread-safe."""

    name: str
    """For messages: what is done ("level 3", "restart markers")."""
    keep_reasons: dict[int, str]
    """Why a sample may keep its bytes, by number (1 and up)."""
    keeps_area: bool
    """Every image keeps its width and height."""
    has_raw: bool
    """It may give samples of pixels ("DTSR")."""
    takes_raw: bool
    """Samples of pixels are kept; else it gets them as PNG."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What shapes the result, versions of the encoders included; for INFO and the journal."""

    def recode(self, arena: Tensor, offsets: Tensor, sizes: Tensor) -> list[StoredSample]:
        """One result a sample, in order.

        Args:
            arena: uint8, holds the encoded samples; it is the caller's.
            offsets, sizes: int64 [k] place of each sample in `arena`.
        """

    def close(self) -> None:
        """Ends what it started. Idempotent."""


@dataclass(frozen=True)
class Recoded:
    """The result: samples of new sizes, and those found bad on the way."""

    kept: Kept
    """May be empty, with "skip"."""
    bad: list[BadSample]
    large: dict[int, int]
    """Those of `bad` that became larger than a block: bytes by number in the source."""
    facts: RecodeFacts
    because: Tensor
    """int64 [samples of the source] `StoredSample.kept_because`; -1: not encoded."""
    areas: Tensor
    """int64 [samples of the source] `StoredSample.area`."""
    keep_reasons: dict[int, str]

    def facts_of(self, kept: Kept) -> RecodeFacts:
        """What header and INFO say of some of the samples: counts, reasons, the largest area."""
        because = self.because[kept.numbers]
        counts = Counter(because[because >= 0].tolist())
        num_recoded = counts.pop(0, 0)
        reasons = {self.keep_reasons[code]: counts[code] for code in sorted(counts)}
        max_area = int(self.areas[kept.numbers].max()) if len(kept) else 0
        return RecodeFacts(self.facts.name, num_recoded, reasons, max_area=max_area)


class SpooledSamples:
    """Stored bytes in the spool, by number in the source."""

    def __init__(self, spool: Spool, offsets: Tensor) -> None:
        self._spool = spool
        self._offsets = offsets

    def read_into(self, numbers: Tensor, offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
        """Copies samples to `offsets` in `arena` (uint8). Thread-safe."""
        self._spool.read_into(self._offsets[numbers].tolist(), offsets.tolist(), sizes.tolist(), arena)


def recode_samples(
    kept: Kept,
    recoder: Recoder,
    spool: Spool,
    journal: Journal | None,
    *,
    on_error: str,
    num_workers: int,
    progress: bool | None,
    room: Room | None = None,
) -> Recoded:
    """Encodes all samples anew.

    Args:
        spool: Where the stored bytes go; the caller closes it, after the last read.
        journal: Knows the samples that an earlier run has put into the spool, and gets the others.
        on_error: "raise": the first bad sample ends it; "skip": bad ones are left out;
            "keep": they are stored as they are.
        room: Of a block: what becomes larger is a bad sample, too. None: not looked at.

    Raises:
        BadSamplesError: Bad samples, and `on_error` is "raise", or "keep" and no block holds them.
        OSError: A source can't be read, or the disk is full.
        CorruptFileError: A source file changed since it was listed.
    """
    stage = RecodeStage(kept, recoder, spool, on_error, room)
    if journal is not None:
        stage.take_over(journal.samples)
    todo = (~stage.is_done[kept.numbers]).nonzero().flatten()
    total = int(kept.sizes.sum())
    done = total - int(kept.sizes[todo].sum())
    with Progress(recoder.name, len(kept), progress) as bar:
        bar.add(len(kept) - todo.numel())
        chunks = in_chunks(todo, kept.sizes)
        for chunk, stored in map_in_order(stage.recode_chunk, chunks, num_workers):
            with _told_of_room(spool, done, total):
                rows = stage.put_aside(chunk, stored)
                if journal is not None:
                    spool.finish()  # bytes first: a row stands for bytes that are there
                    journal.add_samples(rows)
            done += int(kept.sizes[chunk].sum())
            bar.add(chunk.numel())
    with _told_of_room(spool, done, total):
        spool.finish()
    return stage.result()


class RecodeStage:
    """The stage at work: tables by number in the source."""

    def __init__(
        self, kept: Kept, recoder: Recoder, spool: Spool, on_error: str, room: Room | None = None
    ) -> None:
        count = len(kept.samples)
        self.is_done = torch.zeros(count, dtype=torch.bool)
        self._offsets = torch.zeros(count, dtype=torch.int64)
        self._sizes = torch.zeros(count, dtype=torch.int64)
        self._kept, self._recoder, self._spool, self._on_error = kept, recoder, spool, on_error
        self._room = room
        self._bad: list[BadSample] = []
        self._large: dict[int, int] = {}
        self._because = torch.full((count,), -1, dtype=torch.int64)
        self._areas = torch.zeros(count, dtype=torch.int64)
        self._facts = RecodeFacts(recoder.name)
        self._own = threading.local()

    def take_over(self, rows: Tensor) -> None:
        """Samples of an earlier run (int64 [k, 8], see `Journal`)."""
        self._note(rows)
        self._facts.num_resumed = rows.shape[0]

    def recode_chunk(self, ranks: Tensor) -> list[StoredSample]:
        """On any thread: reads and encodes samples."""
        sizes = self._kept.sizes[ranks]
        padded = (sizes + (_ALIGNMENT - 1)) // _ALIGNMENT * _ALIGNMENT
        offsets = torch.cumsum(padded, 0) - padded
        arena = self._arena(int(padded.sum()))
        self._kept.read_into(ranks, offsets, sizes, arena)
        if self._kept.samples.may_hold_raw and not self._recoder.takes_raw:
            arena, offsets, sizes = _as_image_files(arena, offsets, sizes)
        stored = [self._fitted(each) for each in self._recoder.recode(arena, offsets, sizes)]
        if self._on_error != "keep":
            return stored
        places = zip(offsets.tolist(), sizes.tolist(), strict=True)
        view = arena.numpy().data
        return [
            self._as_source(each, view[offset : offset + size]) if each.reason else each
            for each, (offset, size) in zip(stored, places, strict=True)
        ]

    def put_aside(self, ranks: Tensor, stored: list[StoredSample]) -> Tensor:
        """On one thread: the bytes into the spool. Returns the rows of good samples for the journal."""
        numbers = self._kept.numbers[ranks].tolist()
        samples = self._kept.samples
        bad = [
            BadSample(samples.path_of(number), number, each.reason)
            for number, each in zip(numbers, stored, strict=True)
            if each.reason
        ]
        large = {
            number: each.too_large for number, each in zip(numbers, stored, strict=True) if each.too_large
        }
        self._refuse(bad, large)
        self._bad += bad
        self._large |= large
        rows = new_rows(len(numbers))
        for row, number, each in zip(rows, numbers, stored, strict=True):
            if each.reason and self._on_error == "skip":
                continue
            offset, size = self._spool.append(each.data)
            if each.reason:  # stored as it is; an interrupted run looks at it again
                self._offsets[number], self._sizes[number] = offset, size
                continue
            crc = zlib.crc32(each.data)
            facts = (each.kept_because, each.dropped_segments, each.dropped_bytes, each.area)
            row[:] = torch.tensor((number, offset, size, crc, *facts))
        rows = rows[rows[:, 0] >= 0]
        self._note(rows)
        return rows

    def _fitted(self, stored: StoredSample) -> StoredSample:
        """The same; a bad sample where it is larger than a block."""
        size = len(stored.data)
        if self._room is None or size <= self._room.most:
            return stored
        return StoredSample(b"", stored.reason or self._room.reason(size), too_large=size)

    def _as_source(self, stored: StoredSample, source: memoryview) -> StoredSample:
        """A bad sample with the bytes of its source, so far as a block holds them."""
        is_small = self._room is None or len(source) <= self._room.most
        return stored._replace(data=bytes(source), too_large=0 if is_small else len(source))

    def _refuse(self, bad: list[BadSample], large: dict[int, int]) -> None:
        """Raises BadSamplesError where bad samples can't be passed over.

        Args:
            large: Those that are larger than a block (number -> bytes).
        """
        keeps = self._on_error == "keep"
        if not bad or self._on_error == "skip" or (keeps and not large):
            return
        text = f"Nothing was written. {self._recoder.name} found this; later samples were not looked at. "
        if keeps:
            bad = [each for each in bad if each.index in large]
            text += "The source's bytes are larger than a block, too; on_error='skip' leaves bad samples out."
        else:
            text += (
                "check='decode' finds and lists them all before; on_error='skip' leaves bad samples out, "
                "on_error='keep' stores their bytes."
            )
        if large and self._room is not None:
            text += f" {self._room.advice(list(large.values()))}"
        raise BadSamplesError(bad, len(self._kept.samples), text)

    def result(self) -> Recoded:
        self._bad.sort(key=lambda each: each.index)
        left_out = self._bad if self._on_error == "skip" else []
        kept = self._kept
        if left_out:
            is_bad = torch.zeros(len(kept.samples), dtype=torch.bool)
            is_bad[[each.index for each in left_out]] = True
            kept = kept.select((~is_bad[kept.numbers]).nonzero().flatten())
        source = SpooledSamples(self._spool, self._offsets)
        kept = replace(kept, sizes=self._sizes[kept.numbers], recoded=source)
        facts = self._facts
        reasons = self._recoder.keep_reasons
        recoded = Recoded(kept, self._bad, self._large, facts, self._because, self._areas, reasons)
        counted = recoded.facts_of(kept)
        facts.num_recoded, facts.kept_original = counted.num_recoded, counted.kept_original
        facts.max_area = counted.max_area
        return recoded

    def _note(self, rows: Tensor) -> None:
        numbers, offsets, sizes, _, because, segments, dropped, area = rows.unbind(1)
        self.is_done[numbers] = True
        self._offsets[numbers] = offsets
        self._sizes[numbers] = sizes
        self._because[numbers] = because
        self._areas[numbers] = area
        self._facts.dropped_segments += int(segments.sum())
        self._facts.dropped_bytes += int(dropped.sum())

    def _arena(self, num_bytes: int) -> Tensor:
        arena: Tensor | None = getattr(self._own, "arena", None)
        if arena is None or arena.numel() < num_bytes:
            arena = self._own.arena = torch.empty(max(num_bytes, _CHUNK_BYTES), dtype=torch.uint8)
        return arena


def _as_image_files(arena: Tensor, offsets: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same samples, those of pixels as PNG."""
    view = arena.numpy().data
    places = zip(offsets.tolist(), sizes.tolist(), strict=True)
    files = [as_image_file(view[start : start + size]) for start, size in places]
    sizes = torch.tensor([len(data) for data in files])
    joined = torch.frombuffer(bytearray(b"".join(files)), dtype=torch.uint8)
    return joined, torch.cumsum(sizes, 0) - sizes, sizes


@contextlib.contextmanager
def _told_of_room(spool: Spool, done: int, total: int) -> Iterator[None]:
    """Errors of a full disk say how much room is needed.

    Args:
        done, total: Source bytes of the samples that are in the spool, and of all.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        text = str(error.strerror)
        if done:
            need = num_of(spool.size * total // done, "byte")
            text += f"; about {need} are needed for it, and as many for the file itself"
        raise OSError(error.errno, text, error.filename) from error


def in_chunks(ranks: Tensor, sizes: Tensor) -> Iterator[Tensor]:
    """Runs of at most 16 samples and, a single large one aside, 4 MiB."""
    start, total = 0, 0
    for at, size in enumerate(sizes[ranks].tolist()):
        if at > start and (at - start == _CHUNK_SAMPLES or total + size > _CHUNK_BYTES):
            yield ranks[start:at]
            start, total = at, 0
        total += size
    if start < ranks.numel():
        yield ranks[start:]
