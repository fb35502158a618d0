# SPDX-License-Identifier: Apache-2.0
"""What ``torch-dts bench`` measures, as plain values."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

LEAST_DISK_BYTES = 4_000_000  # fewer come from a cache or are over before a disk is at work


@dataclass(frozen=True)
class DiskRate:
    """How fast bytes come that the page cache was asked to let go.

    Attributes:
        num_bytes: That were read.
        seconds: It took.
    """

    num_bytes: int
    seconds: float

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second."""
        return self.num_bytes / max(1e-9, self.seconds)


@dataclass(frozen=True)
class Rate:
    """A loader at work for a while.

    Attributes:
        num_workers: Its threads.
        num_images: Delivered.
        seconds: It took, without the start.
        cpu_seconds: Of this process; None: other processes worked, whose time is not known.
        bytes_read: From the disk or the page cache.
        bottleneck: "disk", "decoding", "consumer", or "none" where Python works.
        first_batch_seconds: From ``iter()`` to the first batch.
        wait_seconds: The caller waited for batches.
    """

    num_workers: int
    num_images: int
    seconds: float
    cpu_seconds: float | None
    bytes_read: int
    bottleneck: str
    first_batch_seconds: float
    wait_seconds: float

    @property
    def images_per_s(self) -> float:
        """Images a second."""
        return self.num_images / max(1e-9, self.seconds)

    @property
    def cpu_ms(self) -> float | None:
        """Milliseconds of CPU time an image."""
        return None if self.cpu_seconds is None else 1e3 * self.cpu_seconds / max(1, self.num_images)

    @property
    def num_cpus_used(self) -> float | None:
        """CPUs' worth of time that the process got."""
        return None if self.cpu_seconds is None else self.cpu_seconds / max(1e-9, self.seconds)

    @property
    def read_bytes_per_s(self) -> float:
        """Bytes a second, from the disk or the page cache."""
        return self.bytes_read / max(1e-9, self.seconds)

    @property
    def wait_share(self) -> float:
        """Part of the time that the caller waited, 0 to 1."""
        return min(1.0, self.wait_seconds / max(1e-9, self.seconds))


@dataclass(frozen=True)
class Export:
    """Some of the images, stored in another way.

    Attributes:
        options: Of ``torch-dts convert``.
        is_lossless: The pixels stay the same.
        cpu_ms: To decode and transform an image stored so.
        size_ratio: Bytes stored so, by bytes as they are.
    """

    options: str
    is_lossless: bool
    cpu_ms: float
    size_ratio: float


@dataclass(frozen=True)
class Exports:
    """The trial with some of the images.

    Attributes:
        num_images: Tried.
        cpu_ms: To decode and transform an image as it is.
        short_side: Mean of the shorter sides in pixels.
        others: Other ways to store them.
    """

    num_images: int
    cpu_ms: float
    short_side: float
    others: tuple[Export, ...] = ()


@dataclass
class Figures:
    """All of it; what was not measured is None or empty.

    Attributes:
        path, kind: What was measured; the kind is "folder", "blocks" or "pixels".
        num_samples, total_bytes: Of the whole set; the bytes are those stored.
        level, has_restart_markers: How a file was converted; None for folders.
        num_cpus: That this process may use.
        available_bytes: Memory that it may still take.
        mode, batch_size, transform, num_workers: As asked for; 0 workers: the caller's thread.
        python_reason: Why Python runs the transform; "" where native code does.
        disk: How fast the disk gives bytes.
        rates: By number of threads, that of `num_workers` among them.
        consumer_rate: Images a second that the model takes; None: not asked for.
        consumer: The loader beside such a model.
        exports: Other ways to store the images.
        is_interrupted: It was stopped before the end.
    """

    path: str
    kind: str
    num_samples: int
    total_bytes: int
    level: int | None
    has_restart_markers: bool | None
    num_cpus: int
    available_bytes: float
    mode: str
    batch_size: int
    transform: str
    num_workers: int
    python_reason: str = ""
    disk: DiskRate | None = None
    rates: list[Rate] = field(default_factory=list)
    consumer_rate: float | None = None
    consumer: Rate | None = None
    exports: Exports | None = None
    is_interrupted: bool = False

    @property
    def mean_bytes(self) -> float:
        """Stored bytes of a sample."""
        return self.total_bytes / max(1, self.num_samples)

    @property
    def chosen(self) -> Rate | None:
        """The rate with the threads that were asked for."""
        return next((rate for rate in self.rates if rate.num_workers == self.num_workers), None)

    @property
    def best(self) -> Rate | None:
        """The highest rate."""
        return max(self.rates, key=lambda rate: rate.images_per_s, default=None)

    @property
    def disk_images_per_s(self) -> float | None:
        """Samples a second that the disk can give; None: not measured, or so little that it says nothing."""
        return (
            None
            if self.disk is None or self.disk.num_bytes < LEAST_DISK_BYTES
            else self.disk.bytes_per_s / max(1.0, self.mean_bytes)
        )


def as_dict(figures: Figures) -> dict[str, Any]:
    """The figures and what follows from them, as JSON takes them."""
    fields = dataclasses.asdict(figures)
    fields["mean_bytes"] = figures.mean_bytes
    fields["available_bytes"] = round(figures.available_bytes)
    if figures.disk is not None:
        fields["disk"]["bytes_per_s"] = figures.disk.bytes_per_s
        fields["disk"]["images_per_s"] = figures.disk_images_per_s
    fields["rates"] = [_rate_as_dict(rate) for rate in figures.rates]
    fields["consumer"] = None if figures.consumer is None else _rate_as_dict(figures.consumer)
    found: dict[str, Any] = _finite(fields)
    return found


def _rate_as_dict(rate: Rate) -> dict[str, Any]:
    return {
        **dataclasses.asdict(rate),
        "images_per_s": rate.images_per_s,
        "cpu_ms": rate.cpu_ms,
        "read_bytes_per_s": rate.read_bytes_per_s,
        "wait_share": rate.wait_share,
    }


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
