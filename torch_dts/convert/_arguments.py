# SPDX-License-Identifier: Apache-2.0
"""The arguments of convert(): checked once, before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index

from torch_dts._parallel import check_num_workers
from torch_dts.convert._classes import check_names
from torch_dts.convert._raw_arguments import RawOptions, check_raw_arguments
from torch_dts.file._volume_names import MAX_VOLUMES

MIB = 1 << 20
BLOCK_SIZE_STEP = 16 * MIB
MOST_THREADS = 1024  # decoding and hashing keep every CPU busy
BLOCK_SIZE_LIMIT = 4096 * MIB

SPLITS = ("train", "val")
ORDERS = ("shuffled", "source")
CHECKS = ("header", "decode", "none")
ENCODINGS = ("jpeg", "pixels", "png", "raw", "mixed")
ON_ERRORS = ("raise", "skip", "keep")
METADATA = ("needed", "keep")
MOST_RESTART_INTERVAL = 65_535  # MCUs: JPEG's DRI has 16 bits


@dataclass(frozen=True)
class Options:
    """The checked arguments that shape a conversion."""

    level: int
    split: str | None
    class_to_idx: dict[str, int] | None
    allow_empty: bool
    order: str
    seed: int
    check: str
    on_error: str
    overwrite: bool
    encoding: str
    block_size: int
    restart_interval: str | int | None
    """None: no markers; "auto"; or MCUs."""
    metadata: str
    raw: RawOptions
    resume: bool
    compat: bool
    min_blocks: int | None
    num_workers: int
    progress: bool | None
    stats: bool = False
    num_volumes: int = 1
    volume: int | None = None


def check_arguments(
    *,
    level: int,
    split: str | None,
    class_to_idx: Mapping[str, int] | None,
    allow_empty: bool,
    order: str,
    seed: int,
    check: str,
    on_error: str,
    overwrite: bool,
    encoding: str,
    block_size: int | None,
    restart_interval: str | int | None,
    metadata: str,
    max_size: int | None,
    raw_fraction: float | None,
    raw_max_pixels: int | None,
    resume: bool,
    compat: bool,
    min_blocks: int | None,
    num_workers: int | None,
    progress: bool | None,
    num_volumes: int = 1,
    volume: int | None = None,
    stats: bool = False,
) -> Options:
    """Checks every argument but source and path.

    Raises:
        ValueError: A value outside of the allowed set.
        TypeError: A value of the wrong type.
    """
    level = _as_int("level", level)
    if level not in (0, 1, 2, 3):
        raise ValueError(f"level must be 0, 1, 2 or 3, not {level!r}")
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or None, not {progress!r}")
    encoding = _one_of("encoding", encoding, ENCODINGS)
    metadata = _one_of("metadata", metadata, METADATA)
    interval = _check_restart_interval(restart_interval, level)
    if level and encoding in ("pixels", "png"):
        raise ValueError(f"level={level} makes JPEGs, encoding={encoding!r} does not: leave one of them out")
    if level and metadata == "keep":
        raise ValueError(
            f"metadata='keep' is for level 0: level={level} encodes images anew, without metadata"
        )
    if encoding == "raw":
        interval = None
    if interval is not None and encoding in ("pixels", "png"):
        raise ValueError(
            f"restart_interval={restart_interval!r} is for JPEGs, encoding={encoding!r} makes none: "
            "leave one of them out"
        )
    compat = _as_bool("compat", compat)
    raw = check_raw_arguments(
        encoding,
        max_size=max_size,
        raw_fraction=raw_fraction,
        raw_max_pixels=raw_max_pixels,
        restart_interval=restart_interval,
        metadata=metadata,
        compat=compat,
    )
    if compat:
        _check_compat(encoding, order, seed, block_size, restart_interval)
        interval = None
    if min_blocks is not None:
        min_blocks = _as_int("min_blocks", min_blocks)
        if min_blocks < 1:
            raise ValueError(f"min_blocks must be at least 1, not {min_blocks}")
        if not compat or level:
            found = f"level is {level}" if level else "compat is False"
            raise ValueError(f"min_blocks={min_blocks} is for compat=True at level 0, but {found}")
    count, number = check_volumes(num_volumes, volume)
    resume = _as_bool("resume", resume)
    if compat and count > 1:
        raise ValueError(
            f"num_volumes={count}: what compat=True writes for reads one file; leave one of them out"
        )
    if stats and number is not None:
        raise ValueError(
            f"stats=True is for the whole set, volume={number} does not know the others' pixels: leave "
            "one of them out"
        )
    return Options(
        level=level,
        split=None if split is None else _one_of("split", split, SPLITS, "train, val or None"),
        class_to_idx=None if class_to_idx is None else check_class_to_idx(class_to_idx),
        allow_empty=_as_bool("allow_empty", allow_empty),
        order=_one_of("order", order, ORDERS),
        # Recorded in the file, so two spellings of one seed must read the same.
        seed=_as_int("seed", seed) % (1 << 64),
        check=_one_of("check", check, CHECKS),
        on_error=_one_of("on_error", on_error, ON_ERRORS),
        overwrite=_as_bool("overwrite", overwrite),
        encoding=encoding,
        block_size=_check_block_size(block_size),
        restart_interval=interval,
        metadata=metadata,
        raw=raw,
        resume=resume,
        compat=compat,
        min_blocks=min_blocks,
        num_workers=check_num_workers(num_workers, most=MOST_THREADS),
        progress=progress,
        stats=_as_bool("stats", stats),
        num_volumes=count,
        volume=number,
    )


def check_volumes(num_volumes: object, volume: object) -> tuple[int, int | None]:
    """The arguments of these names, checked.

    Raises:
        TypeError: They are no integers.
        ValueError: They are out of range.
    """
    count = _as_int("num_volumes", num_volumes)
    if not 1 <= count <= MAX_VOLUMES:
        raise ValueError(f"num_volumes must be 1 to {MAX_VOLUMES}, not {count}")
    if volume is None:
        return count, None
    number = _as_int("volume", volume)
    if count == 1:
        raise ValueError(f"volume={number} writes one of several volumes: give num_volumes too")
    if not 0 <= number < count:
        raise ValueError(f"volume must be 0 to {count - 1}, as num_volumes is {count}, not {number}")
    return count, number


def check_class_to_idx(class_to_idx: Mapping[str, int]) -> dict[str, int]:
    """Class name -> number as a dict, checked to be a bijection onto 0..C-1."""
    if not isinstance(class_to_idx, Mapping):
        raise TypeError(f"class_to_idx must map class names to numbers, not {class_to_idx!r}")
    if not class_to_idx:
        raise ValueError("class_to_idx must name at least one class, found {}")
    checked: dict[str, int] = {}
    owners: dict[int, str] = {}
    for name, number in class_to_idx.items():
        if not isinstance(name, str):
            raise TypeError(f"class_to_idx must have class names (str) as keys, found {name!r}")
        value = _as_int(f"class_to_idx[{name!r}]", number)
        if not 0 <= value < len(class_to_idx):
            last = len(class_to_idx) - 1
            rule = f"its {last + 1} classes 0 to {last}" if last else "its one class 0"
            raise ValueError(f"class_to_idx must number {rule}, found {name!r}: {value}")
        if value in owners:
            raise ValueError(f"class_to_idx gives number {value} to both {owners[value]!r} and {name!r}")
        owners[value] = name
        checked[name] = value
    check_names([owners[number] for number in sorted(owners)])
    return checked


def _as_int(name: str, value: object) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {value!r}")
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an int, not {value!r}") from None


def _as_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _one_of(name: str, value: object, allowed: Sequence[str], words: str | None = None) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {words or ', '.join(allowed)}, not {value!r}")
    return value


def _check_restart_interval(value: object, level: int) -> str | int | None:
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, str):
        if value != "default":
            raise ValueError(f"restart_interval must be 'default', 'auto', MCUs or None, not {value!r}")
        return "auto" if level else None
    number = _as_int("restart_interval", value)
    if not 1 <= number <= MOST_RESTART_INTERVAL:
        raise ValueError(f"restart_interval must be 1 to {MOST_RESTART_INTERVAL} MCUs, not {number}")
    return number


def _check_compat(encoding: str, order: str, seed: int, block_size: object, interval: object) -> None:
    """Raises ValueError for a value of what compat=True fixes."""
    wrong = [
        f"{name}={value!r}"
        for name, value, fixed in (
            ("encoding", encoding, ("jpeg",)),
            ("order", order, ("shuffled",)),
            ("seed", seed, (42,)),
            ("block_size", block_size, (None, BLOCK_SIZE_STEP)),
            ("restart_interval", interval, ("default", None)),
        )
        if value not in fixed
    ]
    if wrong:
        raise ValueError(f"compat=True fixes order and bytes: leave {', '.join(wrong)} out")


def _check_block_size(block_size: int | None) -> int:
    if block_size is None:
        return BLOCK_SIZE_STEP
    value = _as_int("block_size", block_size)
    if value <= 0 or value % BLOCK_SIZE_STEP or value >= BLOCK_SIZE_LIMIT:
        raise ValueError(
            f"block_size must be a multiple of 16 MiB ({BLOCK_SIZE_STEP} bytes) under 4 GiB, not {value}"
        )
    return value
