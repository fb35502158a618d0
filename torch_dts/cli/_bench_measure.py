# SPDX-License-Identifier: Apache-2.0
"""The clocks of ``torch-dts bench``: the disk, and a loader at work."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, NamedTuple

from torch_dts.cli._bench_figures import DiskRate, Rate
from torch_dts.loader import DataLoader
from torch_dts.loader._stats import LoaderStats

_PIECE_BYTES = 4 << 20
_MOST_BYTES = 1 << 30
_WARM_SHARE = 0.2


class Piece(NamedTuple):
    """Bytes of a file."""

    path: str
    offset: int
    size: int


def pieces_of(path: str, num_bytes: int, start: int = 0) -> Iterator[Piece]:
    """A file in pieces of 4 MiB."""
    for offset in range(start, num_bytes, _PIECE_BYTES):
        yield Piece(path, offset, min(_PIECE_BYTES, num_bytes - offset))


def measure_disk(pieces: Sequence[Piece], seconds: float, num_threads: int) -> DiskRate:
    """Reads pieces, one after the other, that the page cache is asked to forget before; writes nothing.

    Args:
        pieces: At most 1 GiB of them is read.
        seconds: No piece is begun after that, but for each thread's first.
        num_threads: That read at a time.

    Raises:
        OSError: A file can't be opened or read.
    """
    chosen: list[Piece] = []
    total = 0
    for piece in pieces:
        if chosen and total + piece.size > _MOST_BYTES:
            break
        chosen.append(piece)
        total += piece.size
    _forget(chosen)
    started = time.perf_counter()
    stop = started + seconds
    with ThreadPoolExecutor(num_threads) as pool:
        shares = [pool.submit(_read, chosen[i::num_threads], stop) for i in range(num_threads)]
        num_bytes = sum(share.result() for share in shares)
    return DiskRate(num_bytes, time.perf_counter() - started)


def _forget(pieces: Iterable[Piece]) -> None:
    if not hasattr(os, "posix_fadvise"):
        return
    for piece in pieces:
        file = os.open(piece.path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, piece.offset, piece.size, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def _read(pieces: Iterable[Piece], stop: float) -> int:
    """Bytes that were read until then."""
    buffer = bytearray(_PIECE_BYTES)
    num_bytes = 0
    for piece in pieces:
        if num_bytes and time.perf_counter() >= stop:
            break
        with open(piece.path, "rb", buffering=0) as file:
            file.seek(piece.offset)
            left = piece.size
            while left:
                count = file.readinto(memoryview(buffer)[: min(left, _PIECE_BYTES)])
                if not count:
                    break
                left -= count
                num_bytes += count
    return num_bytes


def measure_rate(
    loader: DataLoader, seconds: float, consumer_rate: float | None = None, is_native: bool = True
) -> Rate:
    """Runs a loader, epoch after epoch, for about so long; at least a batch is counted.

    Args:
        loader: Of batches ``[images, labels]``.
        seconds: Of which the first fifth is for warming up.
        consumer_rate: Images a second that the loop takes at most, as a model would; None: all it gets.
        is_native: False: worker processes do the work, whose CPU time is not known.
    """
    started = time.perf_counter()
    batches = _endless(loader)
    num_images = _size(next(batches))
    first_batch_seconds = time.perf_counter() - started
    _pause(num_images, consumer_rate)
    warm_until = started + _WARM_SHARE * seconds
    while time.perf_counter() < warm_until:
        _pause(_size(next(batches)), consumer_rate)
    before, cpu, begin = loader.stats(), time.process_time(), time.perf_counter()
    num_images, waited, now = 0, 0.0, begin
    while not num_images or now < started + seconds:
        asked = time.perf_counter()
        size = _size(next(batches))
        waited += time.perf_counter() - asked
        num_images += size
        _pause(size, consumer_rate)
        now = time.perf_counter()
    cpu = time.process_time() - cpu
    spent = _since(before, loader.stats())
    return Rate(
        num_workers=loader.num_workers,
        num_images=num_images,
        seconds=now - begin,
        cpu_seconds=cpu if is_native else None,
        bytes_read=spent.bytes_read,
        bottleneck=spent.bottleneck if is_native else "none",
        first_batch_seconds=first_batch_seconds,
        wait_seconds=waited,
    )


def _endless(loader: DataLoader) -> Iterator[Any]:
    while True:
        yield from loader


def _pause(num_images: int, rate: float | None) -> None:
    if rate is not None:
        time.sleep(num_images / rate)


def _size(batch: Any) -> int:
    return len(batch[-1])


def _since(before: LoaderStats, after: LoaderStats) -> LoaderStats:
    names = [field.name for field in fields(after)]
    return LoaderStats(**{name: getattr(after, name) - getattr(before, name) for name in names})
