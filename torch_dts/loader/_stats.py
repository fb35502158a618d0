# SPDX-License-Identifier: Apache-2.0
"""What a loader did so far, and what it waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

Bottleneck = Literal["disk", "decoding", "consumer", "none"]


@dataclass(frozen=True)
class LoaderStats:
    """Counts and times since the loader was made, over all epochs.

    A worker is, at each moment, waiting for bytes, working, or waiting because enough
    batches are ready: the three times below, means of all workers. Without workers the
    third is the time between two calls of ``next``.

    Attributes:
        num_images: Images decoded; where a loop was left early, more than were delivered.
        num_batches: Batches delivered.
        num_own: JPEGs read by our own decoder.
        num_spliced: JPEGs with restart markers of which libjpeg got only the parts under the crop.
        num_foreign: Images that Pillow decoded, in Python.
        num_redone: Batches that DALI failed on, which the native decoder made (``backend="dali"``).
        num_replaced: Bad images that became zeros (``on_error="replace"``).
        bytes_read: From the disk or the page cache.
        disk_seconds: Waiting for bytes to be read.
        decode_seconds: Decoding and transforming.
        consumer_seconds: Waiting for the caller to take a batch.
        wait_seconds: The caller waited in ``next``.
    """

    num_images: int = 0
    num_batches: int = 0
    num_foreign: int = 0
    num_replaced: int = 0
    num_own: int = 0
    num_spliced: int = 0
    num_redone: int = 0
    bytes_read: int = 0
    disk_seconds: float = 0.0
    decode_seconds: float = 0.0
    consumer_seconds: float = 0.0
    wait_seconds: float = 0.0

    @property
    def bottleneck(self) -> Bottleneck:
        """What took most of the workers' time: "disk", "decoding" or "consumer"; "none" before all work."""
        times: dict[Bottleneck, float] = {
            "disk": self.disk_seconds,
            "decoding": self.decode_seconds,
            "consumer": self.consumer_seconds,
        }
        longest = max(times, key=lambda name: times[name])
        return longest if times[longest] > 0 else "none"

    def __add__(self, other: LoaderStats) -> LoaderStats:
        """The sums, as of two engines of one loader."""
        names = [field.name for field in fields(self)]
        return LoaderStats(**{name: getattr(self, name) + getattr(other, name) for name in names})


def from_native(counts: Sequence[int], num_workers: int) -> LoaderStats:
    """What ``loader_stats`` of an engine with so many workers returned."""
    samples, batches, foreign, work, for_data, for_room, in_next, num_bytes, _, _, spliced, own = counts
    seconds = 1e-9 / max(1, num_workers)
    return LoaderStats(
        num_images=samples,
        num_batches=batches,
        num_foreign=foreign,
        num_own=own,
        num_spliced=spliced,
        bytes_read=num_bytes,
        disk_seconds=for_data * seconds,
        decode_seconds=work * seconds,
        consumer_seconds=for_room * seconds,
        wait_seconds=in_next * 1e-9,
    )
