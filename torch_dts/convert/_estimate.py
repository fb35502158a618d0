# SPDX-License-Identifier: Apache-2.0
"""What a conversion would give, from a look at some of the samples. Nothing is written.

list_samples -> some samples, spread evenly -> check, read (or recode) -> sizes for all -> packing
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torch_dts._paths import display
from torch_dts._progress import told_when_slow
from torch_dts._words import num_of
from torch_dts.convert._arguments import Options, check_arguments
from torch_dts.convert._compat import compat_path
from torch_dts.convert._convert import convert
from torch_dts.convert._convert_samples import plan_samples
from torch_dts.convert._estimate_stages import Measured, measure, measure_disk
from torch_dts.convert._kept import Kept
from torch_dts.convert._open_path import open_path
from torch_dts.convert._pixel_sets import find_pixel_set
from torch_dts.convert._pixel_write import refuse_block_arguments
from torch_dts.convert._report import BadSample, list_bad
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples
from torch_dts.convert._target import find_target
from torch_dts.convert._targets import read_targets
from torch_dts.convert._volumes import split_ranks

NUM_LOOKED_AT = 400
_LOOKED_AT_PER_THREAD = 64  # fewer would not occupy them
NUM_SIZES = 20_000  # of which only the size is asked for
HEADER_BYTES = 16 << 20
_PIXEL_HEADER_BYTES = 256
_Z95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """What a conversion would probably give.

    Attributes:
        num_samples: Of the source, bad ones too.
        num_classes: Of the source.
        num_looked_at: How many samples the numbers below come from; 0: no guess was needed.
        bad: Those of them that failed their check.
        source_bytes: Of all samples.
        stored_bytes: Of all samples that would go into the file or files, as stored there.
        file_bytes: Size of the files.
        num_blocks: Blocks in the files.
        seconds: Time to check, read, encode and write with all threads, as measured here.
        write_bytes_per_s: What the disk took in a short trial.
        num_files: Volumes that would be written.
    """

    num_samples: int
    num_classes: int
    num_looked_at: int
    bad: tuple[BadSample, ...]
    source_bytes: int
    stored_bytes: int
    file_bytes: int
    num_blocks: int
    seconds: float
    write_bytes_per_s: float
    num_files: int = 1

    @property
    def num_bad(self) -> int:
        """Bad samples expected in the whole source."""
        if not self.num_looked_at:
            return 0
        return round(len(self.bad) * self.num_samples / self.num_looked_at)

    @property
    def most_bad(self) -> int:
        """As many bad samples as there may be, with 95 % confidence (Wilson's upper limit)."""
        n = self.num_looked_at
        if n == self.num_samples or not n:
            return self.num_bad
        share, z2 = len(self.bad) / n, _Z95 * _Z95
        spread = _Z95 * ((share * (1 - share) + z2 / (4 * n)) / n) ** 0.5
        return min(self.num_samples, int(self.num_samples * (share + z2 / (2 * n) + spread) / (1 + z2 / n)))

    def __str__(self) -> str:
        ratio = self.stored_bytes / self.source_bytes if self.source_bytes else 1.0
        looked = "all of them" if self.num_looked_at in (0, self.num_samples) else f"{self.num_looked_at:,}"
        files = "file" if self.num_files == 1 else f"{self.num_files} files"
        lines = [
            "estimate, nothing was written",
            f"  samples   {self.num_samples:,} in {num_of(self.num_classes, 'class', 'classes')}; "
            f"looked at {looked}",
            f"  {files:<9} about {num_of(self.file_bytes, 'byte')} for {num_of(self.source_bytes, 'byte')} "
            f"of images (stored {ratio:.3f} times)",
            f"  blocks    {self.num_blocks:,}",
            f"  time      about {self.seconds:,.1f} s (writing at {self.write_bytes_per_s / 1e6:,.0f} MB/s)",
            f"  bad       about {num_of(self.num_bad, 'sample')}, at most {self.most_bad:,} (95 %)",
        ]
        return "\n".join([*lines, *list_bad(self.bad, indent="    ")])


def estimate(source: Any, path: Any = None, **arguments: Any) -> Estimate:
    """Predicts what `torch_dts.convert` would give for the same arguments.

    Some samples are checked, encoded and read as a conversion does it, with as many threads; a
    file without a name takes them beside the target and is gone at the end. What would be in the way
    of the target is not looked at.

    Args:
        arguments: As `torch_dts.convert` takes them.

    Raises:
        What convert raises for a source or argument that it refuses, bad samples aside.
    """
    bound = inspect.signature(convert).bind(source, path, **arguments)
    bound.apply_defaults()
    given = dict(bound.arguments)
    source, path, labels = (given.pop(name) for name in ("source", "path", "labels"))
    targets = given.pop("targets")
    targets = None if targets is None else read_targets(targets)
    options = check_arguments(**given)
    started = time.perf_counter()
    source = open_path(source, labels, options.split)
    pixels = None
    if options.encoding in ("jpeg", "pixels"):
        pixels = find_pixel_set(
            source,
            is_asked=options.encoding == "pixels",
            class_to_idx=options.class_to_idx,
            progress=options.progress,
            targets=targets,
        )
    directory = _directory(path, source, options)
    if pixels is not None:
        refuse_block_arguments(options, given["block_size"])
        num_samples = pixels.labels.numel()
        seconds = time.perf_counter() - started
        file_bytes = _PIXEL_HEADER_BYTES + num_samples + pixels.num_bytes
        rate = measure_disk(directory, file_bytes)
        return Estimate(
            num_samples,
            len(pixels.classes),
            0,
            (),
            pixels.num_bytes,
            pixels.num_bytes,
            file_bytes,
            1,
            seconds + file_bytes / rate,
            rate,
        )
    with tempfile.TemporaryDirectory() as spool_dir:
        samples = list_samples(
            source,
            class_to_idx=options.class_to_idx,
            allow_empty=options.allow_empty,
            spool_dir=spool_dir,
            progress=options.progress,
            targets=targets,
        )
        listed = time.perf_counter() - started
        try:
            with told_when_slow("trying some samples", options.progress):
                return _look(samples, options, listed, directory)
        finally:
            samples.close()


def _directory(path: Any, source: Any, options: Options) -> str:
    """The folder of the target if files can be made there, else that of temporary files."""
    with contextlib.suppress(ValueError, OSError):
        if options.compat:
            path = compat_path(path, source, options.level, options.split)
        directory = os.path.dirname(find_target(path, source)) or os.curdir
        if os.path.isdir(directory) and os.access(directory, os.W_OK):
            return directory
    return tempfile.gettempdir()


def choose_evenly(num_samples: int, num_chosen: int, seed: int) -> Tensor:
    """int64: `num_chosen` numbers below `num_samples`, one drawn from each of as many equal parts."""
    if num_chosen >= num_samples:
        return torch.arange(num_samples)
    generator = torch.Generator().manual_seed(seed % (1 << 63))
    bounds = torch.arange(num_chosen + 1) * num_samples // num_chosen
    widths = bounds[1:] - bounds[:-1]
    drawn = (torch.rand(num_chosen, generator=generator, dtype=torch.float64) * widths).long()
    return bounds[:-1] + torch.minimum(drawn, widths - 1)


def take(samples: Samples, numbers: Tensor) -> Samples:
    """Some samples of a source, as a source that shares its spool."""
    chosen = numbers.tolist()
    rank_of = {number: rank for rank, number in enumerate(chosen)}
    return dataclasses.replace(
        samples,
        files=[samples.files[i] for i in chosen],
        names=[samples.names[i] for i in chosen],
        labels=samples.labels[numbers],
        spooled=None if samples.spooled is None else samples.spooled[numbers],
        stored=None
        if samples.stored is None
        else dataclasses.replace(samples.stored, place=samples.stored.place[numbers]),
        archives=None
        if samples.archives is None
        else dataclasses.replace(samples.archives, place=samples.archives.place[numbers]),
        encoded=[rank_of[i] for i in samples.encoded if i in rank_of],
        failed={rank_of[i]: reason for i, reason in samples.failed.items() if i in rank_of},
    )


def _look(samples: Samples, options: Options, listed: float, directory: str) -> Estimate:
    num_offered = max(NUM_LOOKED_AT, _LOOKED_AT_PER_THREAD * options.num_workers)
    numbers = choose_evenly(len(samples), num_offered, options.seed)
    # In random order, so that the first of them stand for all should time or room end early.
    shuffle = torch.randperm(numbers.numel(), generator=torch.Generator().manual_seed(0))
    numbers = numbers[shuffle]
    found = measure(take(samples, numbers), options, directory)
    own = 1 / options.num_volumes if options.volume is not None else 1.0
    scale = len(samples) / found.num_seen
    num_stored = round(found.stored.numel() * scale)
    stored = found.stored_sizes[numbers[found.stored].argsort()]  # as the source has them
    source_bytes, stored_bytes = _totals(samples, found, num_stored)
    kept = Kept(
        samples,
        torch.arange(num_stored) * len(samples) // max(1, num_stored),
        _for_all(stored, num_stored, stored_bytes),
        samples.labels[torch.arange(num_stored) * len(samples) // max(1, num_stored)],
    )
    num_files, file_bytes, num_blocks = _plan(kept, options)
    rate = measure_disk(directory, file_bytes)
    seconds = (
        listed
        + found.start_seconds
        + found.check_seconds * len(samples)
        + (found.recode_seconds + found.fill_seconds) * num_stored * own
        + file_bytes / rate
    )
    bad = [dataclasses.replace(each, index=int(numbers[each.index])) for each in found.bad]
    return Estimate(
        len(samples),
        len(samples.classes),
        found.num_seen,
        tuple(sorted(bad, key=lambda each: each.index)),
        round(source_bytes * own),
        round(stored_bytes * own),
        file_bytes,
        num_blocks,
        seconds,
        rate,
        num_files,
    )


def _plan(kept: Kept, options: Options) -> tuple[int, int, int]:
    """Files, their bytes and their blocks."""
    if not len(kept):
        return 1, HEADER_BYTES, 0
    parts = [kept]
    if options.num_volumes > 1:
        ranks = split_ranks(len(kept), options.num_volumes, options.order, options.seed)
        parts = [kept.select(each) for each in ranks]
    if options.volume is not None:
        parts = [parts[options.volume]]
    num_blocks = sum(plan_samples(part, options)[0].num_blocks for part in parts)
    return len(parts), len(parts) * HEADER_BYTES + num_blocks * options.block_size, num_blocks


def _totals(samples: Samples, found: Measured, num_stored: int) -> tuple[int, int]:
    """Bytes of all samples in the source and, of those that go there, in the file.

    Sizes in the source are known of far more samples than were encoded, and the others go with them:
    by a regression line through what was seen.
    """
    seen = found.source_sizes.clamp(min=0)
    if found.num_seen == len(samples):
        return int(seen.sum()), int(found.stored_sizes.sum())
    mean = float(_source_sizes(samples).double().mean())
    if not num_stored:
        return round(mean * len(samples)), 0
    before, after = seen[found.stored].double(), found.stored_sizes.double()
    spread = float((before - before.mean()).square().sum())
    slope = float(((before - before.mean()) * (after - after.mean())).sum()) / spread if spread else 0.0
    expected = float(after.mean()) + slope * (mean - float(seen.double().mean()))
    return round(mean * len(samples)), max(num_stored, round(expected * num_stored))


def _source_sizes(samples: Samples) -> Tensor:
    """int64 [k] bytes of many samples, evenly spread; of those that can be read."""
    sizes = []
    for i in choose_evenly(len(samples), NUM_SIZES, 0).tolist():
        if samples.files[i]:
            with contextlib.suppress(OSError):
                sizes.append(os.stat(samples.files[i]).st_size)
        elif i not in samples.failed:
            sizes.append(samples.size(i))
    return torch.tensor(sizes or [0], dtype=torch.int64)


def _for_all(sizes: Tensor, count: int, total: int) -> Tensor:
    """int64 [count]: each size as often as the others, evenly spread, and changed to give a sum of about
    `total`."""
    if not sizes.numel() or not count:
        return torch.zeros(0, dtype=torch.int64)
    chosen = sizes[torch.arange(count) * sizes.numel() // count]
    if int(chosen.sum()) == total:
        return chosen
    largest = int(sizes.max())  # that it fits a block is known
    return (chosen * (total / max(1, int(chosen.sum())))).long().clamp(1, largest)


def as_dict(found: Estimate) -> dict[str, Any]:
    """The fields, and what follows from them."""
    fields = dataclasses.asdict(found)
    for bad in fields["bad"]:
        bad["path"] = display(bad["path"])
    return {**fields, "num_bad": found.num_bad, "most_bad": found.most_bad}
