# SPDX-License-Identifier: Apache-2.0
"""What a conversion would give, from a look at some of the samples. Nothing is written.

list_samples -> some samples, spread evenly -> check, read (or recode) -> sizes for all -> packing
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._parallel import check_num_workers, map_in_order
from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.convert._arguments import BLOCK_SIZE_STEP, MOST_THREADS
from torch_dts.convert._check import check_samples
from torch_dts.convert._open_path import open_path
from torch_dts.convert._pack_write import MIN_BLOCK_HEADER_BYTES
from torch_dts.convert._pixel_sets import find_pixel_set
from torch_dts.convert._report import BadSample, list_bad
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples

NUM_LOOKED_AT = 400
HEADER_BYTES = 16 << 20
_PIXEL_HEADER_BYTES = 256
# Of the disk, for what can't be measured without writing.
WRITE_BYTES_PER_S = 1e9
_Z95 = 1.96

Encoder = Callable[[Samples, int], int]
"""Sample number -> bytes it would take in the file. Called from several threads."""


@dataclass(frozen=True)
class Estimate:
    """What a conversion would probably give.

    Attributes:
        num_samples: Of the source, bad ones too.
        num_classes: Of the source.
        num_looked_at: How many samples the numbers below come from; 0: no guess was needed.
        bad: Those of them that failed their check.
        source_bytes: Of all samples.
        stored_bytes: Of all samples that would go into the file, as stored there.
        file_bytes: Size of the file.
        num_blocks: Blocks in the file.
        seconds: Time to check, read and encode as measured here, and to write at 1 GB/s.
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
        lines = [
            "estimate, nothing was written",
            f"  samples   {self.num_samples:,} in {num_of(self.num_classes, 'class', 'classes')}; "
            f"looked at {looked}",
            f"  file      about {num_of(self.file_bytes, 'byte')} for {num_of(self.source_bytes, 'byte')} of "
            f"images (stored {ratio:.3f} times)",
            f"  blocks    {self.num_blocks:,}",
            f"  time      about {self.seconds:,.1f} s (writing at 1 GB/s)",
            f"  bad       about {num_of(self.num_bad, 'sample')}, at most {self.most_bad:,} (95 %)",
        ]
        return "\n".join([*lines, *list_bad(self.bad, indent="    ")])


def estimate(
    source: Any,
    *,
    labels: Any = None,
    split: str | None = None,
    class_to_idx: dict[str, int] | None = None,
    allow_empty: bool = False,
    check: str = "header",
    block_size: int | None = None,
    seed: int = 42,
    num_workers: int | None = None,
    progress: bool | None = None,
    encode: Encoder | None = None,
) -> Estimate:
    """Predicts what `torch_dts.convert` would give for the same arguments.

    Args:
        encode: What makes stored bytes of a sample; None: bytes are kept.
        seed: Of the choice of samples.

    Raises:
        What convert raises for a source or argument that it refuses, bad samples aside.
    """
    threads = check_num_workers(num_workers, most=MOST_THREADS)
    started = time.perf_counter()
    source = open_path(source, labels, split)
    pixels = find_pixel_set(source, is_asked=False, class_to_idx=class_to_idx, progress=progress)
    if pixels is not None:
        num_samples = pixels.labels.numel()
        seconds = time.perf_counter() - started + pixels.num_bytes / WRITE_BYTES_PER_S
        file_bytes = _PIXEL_HEADER_BYTES + num_samples + pixels.num_bytes
        return Estimate(
            num_samples,
            len(pixels.classes),
            0,
            (),
            pixels.num_bytes,
            pixels.num_bytes,
            file_bytes,
            1,
            seconds,
        )
    with tempfile.TemporaryDirectory() as spool_dir:
        samples = list_samples(
            source, class_to_idx=class_to_idx, allow_empty=allow_empty, spool_dir=spool_dir, progress=progress
        )
        listed = time.perf_counter() - started
        try:
            return _look(samples, check, block_size or BLOCK_SIZE_STEP, seed, threads, listed, encode)
        finally:
            samples.close()


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


def _look(
    samples: Samples,
    check: str,
    block_size: int,
    seed: int,
    threads: int,
    listed: float,
    encode: Encoder | None,
) -> Estimate:
    numbers = choose_evenly(len(samples), NUM_LOOKED_AT, seed)
    some = take(samples, numbers)
    started = time.perf_counter()
    checked = check_samples(some, check, threads, False)
    bad = [dataclasses.replace(each, index=int(numbers[each.index])) for each in checked.bad]
    is_good = torch.ones(len(numbers), dtype=torch.bool)
    is_good[[each.index for each in checked.bad]] = False
    good = is_good.nonzero().flatten()
    stored = _stored_sizes(some, good, checked.sizes[good], threads, encode)
    seconds = time.perf_counter() - started
    scale = len(samples) / max(1, len(numbers))
    num_stored = round(len(good) * scale)
    source_bytes = round(int(checked.sizes.clamp(min=0).sum()) * scale)
    sizes = _for_all(stored, num_stored)
    stored_bytes, num_blocks = round(int(stored.sum()) * scale), 0
    if sizes.numel():
        num_blocks = _native.pack_samples(
            sizes,
            block_size=block_size,
            min_block_header_size=MIN_BLOCK_HEADER_BYTES[0],
            shuffled=True,
            seed=seed,
        )[1].numel()
    file_bytes = HEADER_BYTES + num_blocks * block_size
    return Estimate(
        len(samples),
        len(samples.classes),
        len(numbers),
        tuple(bad),
        source_bytes,
        stored_bytes,
        file_bytes,
        num_blocks,
        listed + seconds * scale + file_bytes / WRITE_BYTES_PER_S,
    )


def _stored_sizes(
    samples: Samples, ranks: Tensor, sizes: Tensor, threads: int, encode: Encoder | None
) -> Tensor:
    """int64 [k]: bytes of these samples in the file. They are read, as a conversion would."""

    def measure(rank: int) -> int:
        if encode is not None:
            return encode(samples, rank)
        size: int = sizes_of[rank]
        arena = torch.empty(size, dtype=torch.uint8)
        samples.read_into(
            torch.tensor([rank]), torch.zeros(1, dtype=torch.int64), torch.tensor([size]), arena
        )
        return size

    sizes_of = dict(zip(ranks.tolist(), sizes.tolist(), strict=True))
    found = [size for _, size in map_in_order(measure, ranks.tolist(), threads)]
    return torch.tensor(found, dtype=torch.int64)


def _for_all(sizes: Tensor, count: int) -> Tensor:
    """int64 [count]: each size as often as the others, evenly spread."""
    if not sizes.numel() or not count:
        return torch.zeros(0, dtype=torch.int64)
    return sizes[torch.arange(count) * sizes.numel() // count]


def as_dict(found: Estimate) -> dict[str, Any]:
    """The fields, and what follows from them."""
    fields = dataclasses.asdict(found)
    for bad in fields["bad"]:
        bad["path"] = display(bad["path"])
    return {**fields, "num_bad": found.num_bad, "most_bad": found.most_bad}
