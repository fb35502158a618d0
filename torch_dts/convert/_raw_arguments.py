# SPDX-License-Identifier: Apache-2.0
"""The arguments of convert() that say which images are stored as pixels, and how large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index

MOST_SIDE = 0xFFFF  # of a raw sample; a JPEG's sides have as many bits


@dataclass(frozen=True)
class RawOptions:
    """Checked."""

    encoding: str
    """As given: "raw" and "mixed" store pixels."""
    max_size: int = 0
    """Pixels of the longer side at most; 0: no limit."""
    fraction: float | None = None
    """Of the samples, with encoding="mixed"."""
    max_pixels: int | None = None
    """Width * height of an image stored as pixels, with encoding="mixed"."""

    @property
    def has_pixels(self) -> bool:
        """Some samples are stored as pixels."""
        return self.encoding in ("raw", "mixed")

    @property
    def info(self) -> dict[str, int | float]:
        """What was asked for, for INFO; empty where nothing was."""
        found = {
            "max_size": self.max_size or None,
            "raw_fraction": self.fraction,
            "raw_max_pixels": self.max_pixels,
        }
        return {name: value for name, value in found.items() if value is not None}


def check_raw_arguments(
    encoding: str,
    *,
    max_size: object,
    raw_fraction: object,
    raw_max_pixels: object,
    restart_interval: object,
    metadata: str,
    compat: bool,
) -> RawOptions:
    """Checks these arguments against each other; `encoding` is one of its values already.

    Raises:
        ValueError, TypeError: They don't fit; the message says which to change.
    """
    limit = 0 if max_size is None else _positive("max_size", max_size, MOST_SIDE)
    if limit and encoding in ("pixels", "png"):
        raise ValueError(
            f"max_size={limit} makes images smaller, encoding={encoding!r} keeps their pixels: leave one out"
        )
    if compat and (limit or encoding in ("raw", "mixed")):
        what = f"max_size={limit}" if limit else f"encoding={encoding!r}"
        raise ValueError(f"compat=True writes what the format's first readers take, {what} is not of it")
    if encoding in ("raw", "mixed") and metadata == "keep":
        raise ValueError(f"metadata='keep' is for JPEGs, encoding={encoding!r} stores pixels without any")
    if encoding == "raw" and restart_interval not in ("default", None):
        raise ValueError(
            f"restart_interval={restart_interval!r} is for JPEGs, encoding='raw' makes none: leave it out"
        )
    if encoding != "mixed":
        for name, value in (("raw_fraction", raw_fraction), ("raw_max_pixels", raw_max_pixels)):
            if value is not None:
                raise ValueError(f"{name}={value!r} is for encoding='mixed', not {encoding!r}")
        return RawOptions(encoding, limit)
    if raw_fraction is None and raw_max_pixels is None:
        raise ValueError(
            "encoding='mixed' needs raw_fraction= (0 to 1 of the samples), raw_max_pixels= (width * height), "
            "or both, to say which samples are stored as pixels"
        )
    most = None if raw_max_pixels is None else _positive("raw_max_pixels", raw_max_pixels, 1 << 32)
    return RawOptions(encoding, limit, _fraction(raw_fraction), most)


def _positive(name: str, value: object, most: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int or None, not {value!r}")
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an int or None, not {value!r}") from None
    if not 1 <= number <= most:
        raise ValueError(f"{name} must be 1 to {most} pixels, not {number}")
    return number


def _fraction(value: object) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        fraction = float(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"raw_fraction must be a number from 0 to 1 or None, not {value!r}") from None
    if math.isnan(fraction) or not 0.0 <= fraction <= 1.0:
        raise ValueError(f"raw_fraction must be from 0 to 1, not {value!r}")
    return fraction
