# SPDX-License-Identifier: Apache-2.0
"""The stages of a conversion run on some samples, to learn what they take. Nothing stays on the disk.

some samples -> check -> recode into a spool -> read and scan as blocks are filled -> Measured
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native
from torch_dts._parallel import map_in_order
from torch_dts.convert._arguments import Options
from torch_dts.convert._check import check_samples
from torch_dts.convert._kept import Kept
from torch_dts.convert._levels import EXPORT_MODES
from torch_dts.convert._recode import Recoder, RecodeStage, in_chunks
from torch_dts.convert._recoders import make_recoder
from torch_dts.convert._report import BadSample
from torch_dts.convert._room import room_of
from torch_dts.convert._samples import Samples
from torch_dts.convert._spool import Spool
from torch_dts.convert._stats import PixelStats

# What the encoding of the samples may take: the spool's bytes and seconds, once a few are done.
MOST_SPOOLED_BYTES = 512 << 20  # and what is under way
MOST_SECONDS = 20.0
# Written to see how fast the disk is.
_TRIAL_BYTES = 64 << 20
_PIECE_BYTES = 4 << 20
# Where even that is not possible.
DEFAULT_WRITE_BYTES_PER_S = 1e9


@dataclass(frozen=True)
class Measured:
    """What the stages took and gave for the first samples of those that were offered."""

    num_seen: int
    """That the other fields are about."""
    source_sizes: Tensor
    """int64 [num_seen]: bytes of each in the source, -1 where it can't be read."""
    bad: list[BadSample]
    stored: Tensor
    """int64 [k]: numbers of the samples that would go into a file."""
    stored_sizes: Tensor
    """int64 [k]: their bytes there."""
    check_seconds: float
    """For each sample of the source, all threads at work."""
    start_seconds: float
    """Once: worker processes."""
    recode_seconds: float
    """For each sample that goes into a file."""
    fill_seconds: float
    """For each sample that goes into a file: reading the stored bytes, looking at them, sums of pixels."""


def measure(samples: Samples, options: Options, spool_dir: str) -> Measured:
    """Runs the stages on samples in random order.

    Args:
        spool_dir: Where a file without a name takes the encoded samples.

    Raises:
        BadSamplesError: With on_error="keep", a sample that no block holds, encoded or not.
        OSError: Trouble that is not a sample's own.
    """
    count = len(samples)
    threads = options.num_workers
    Image.init()  # its time must not count for each sample
    started = time.perf_counter()
    modes = EXPORT_MODES if options.level else None
    checked = check_samples(samples, options.check, threads, False, modes)
    check_seconds = (time.perf_counter() - started) / count
    recoder = make_recoder(options)
    room = room_of(options)
    is_out = checked.sizes < 0
    if recoder is None:  # stored as they are
        large = room.too_large(checked.sizes)
        checked.bad += [BadSample(samples.path_of(i), i, room.reason(int(checked.sizes[i]))) for i in large]
        is_out[large] = True
    if options.on_error != "keep":
        is_out[[each.index for each in checked.bad]] = True
    numbers = (~is_out).nonzero().flatten()
    kept = Kept(samples, numbers, checked.sizes[numbers], samples.labels[numbers])
    bad, num_seen = checked.bad, count
    start_seconds = recode_seconds = 0.0
    with contextlib.ExitStack() as stack:
        if recoder is not None:
            stack.callback(recoder.close)
        if recoder is not None and len(kept):
            spool = Spool(spool_dir)
            stack.callback(spool.close)
            trial = _recode(kept, recoder, spool, options)
            kept, bad = trial.kept, [*checked.bad, *trial.bad]
            num_seen = int(numbers[trial.num_done - 1]) + 1 if trial.num_done < len(numbers) else count
            start_seconds, recode_seconds = trial.start_seconds, trial.each_seconds
        fill_seconds = 0.0
        if len(kept):
            fill_seconds = _fill(kept, options) / len(kept)
    known = {each.index: each for each in bad if each.index < num_seen}
    return Measured(
        num_seen=num_seen,
        source_sizes=checked.sizes[:num_seen],
        bad=[known[index] for index in sorted(known)],
        stored=kept.numbers,
        stored_sizes=kept.sizes,
        check_seconds=check_seconds,
        start_seconds=start_seconds,
        recode_seconds=recode_seconds,
        fill_seconds=fill_seconds,
    )


@dataclass(frozen=True)
class _Trial:
    kept: Kept
    bad: list[BadSample]
    num_done: int
    start_seconds: float
    each_seconds: float


def _recode(kept: Kept, recoder: Recoder, spool: Spool, options: Options) -> _Trial:
    """Encodes samples as a conversion does, as many as time and room allow."""
    on_error = "keep" if options.on_error == "keep" else "skip"
    stage = RecodeStage(kept, recoder, spool, on_error, room_of(options))
    threads = options.num_workers
    num_done = num_first = 0
    begin = started = time.perf_counter()
    chunks = in_chunks(torch.arange(len(kept)), kept.sizes)
    for num_chunks, (ranks, stored) in enumerate(map_in_order(stage.recode_chunk, chunks, threads), 1):
        stage.put_aside(ranks, stored)
        num_done += ranks.numel()
        if num_chunks == threads and num_done < len(kept):
            # Each thread has started what it needs by now.
            num_first, started = num_done, time.perf_counter()
        if spool.size > MOST_SPOOLED_BYTES or time.perf_counter() - begin > MOST_SECONDS:
            break
    stopped = time.perf_counter()
    spool.finish()
    each = (stopped - started) / (num_done - num_first) if num_done > num_first else 0.0
    first = max(0.0, started - begin - each * num_first)
    result = stage.result()
    kept_of_done = (result.kept.numbers <= kept.numbers[num_done - 1]).nonzero().flatten()
    return _Trial(result.kept.select(kept_of_done), result.bad, num_done, first, each)


def _fill(kept: Kept, options: Options) -> float:
    """Seconds to read, scan and add up the stored bytes of samples, in pieces smaller than blocks, so that
    a few samples occupy all threads."""
    stats = PixelStats() if options.stats else None

    def look(ranks: Tensor) -> None:
        sizes = kept.sizes[ranks]
        offsets = torch.cumsum(sizes, 0) - sizes
        arena = torch.empty(int(sizes.sum()), dtype=torch.uint8)
        kept.read_into(ranks, offsets, sizes, arena)
        if stats is not None:
            stats.add_samples(arena, offsets, sizes)
        _native.scan_samples(arena, offsets, sizes)
        _native.crc32(arena)

    started = time.perf_counter()
    for _ in map_in_order(look, in_chunks(torch.arange(len(kept)), kept.sizes), options.num_workers):
        pass
    return time.perf_counter() - started


def measure_disk(directory: str, num_bytes: int) -> float:
    """Bytes a second that a file in `directory` takes, flushed to the disk; it has no name and is gone.

    Args:
        num_bytes: Of the file that is meant; not more than that is tried.
    """
    left = max(1, min(num_bytes, _TRIAL_BYTES))
    total = left
    piece = memoryview(os.urandom(min(left, _PIECE_BYTES)))
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            started = time.perf_counter()
            while left:
                left -= file.write(piece[:left])
            os.fsync(file.fileno())
            return total / max(1e-9, time.perf_counter() - started)
    except OSError:
        return DEFAULT_WRITE_BYTES_PER_S
