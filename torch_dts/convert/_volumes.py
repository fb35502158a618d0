# SPDX-License-Identifier: Apache-2.0
"""A set in several files: which samples go into which volume, their names, and the id of the set."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts._words import num_of
from torch_dts.convert import _metadata
from torch_dts.convert._kept import Kept
from torch_dts.convert._publish import refuse_replaced, take_back
from torch_dts.convert._report import BadSample, BadSamplesError
from torch_dts.convert._room import Room
from torch_dts.convert._target import check_place, check_target, find_target
from torch_dts.file import DTSFile
from torch_dts.file._find_files import ExactFiles
from torch_dts.file._volume_names import parse_volume_path, volume_path


@dataclass(frozen=True)
class Volume:
    """One file of a set that is being written."""

    number: int
    count: int
    """Volumes of the set; 1: there is but this file."""
    path: str
    """The file to write."""


def name_volumes(path: object, source: object, num_volumes: int, volume: int | None) -> list[Volume]:
    """The files to write, which are not looked at yet.

    Args:
        path: The name of the set, as if it were one file.

    Raises:
        ValueError: `path` is the name of a volume already; else as `find_target` and `check_place`.
        OSError: No place for a file.
    """
    target = find_target(path, source)
    if num_volumes == 1:
        volumes = [Volume(0, 1, target)]
    else:
        name = parse_volume_path(target)
        if name is not None:
            raise ValueError(
                f"path={display(target)!r} is a volume's name; give the set's, {display(name.path)!r}: the "
                "numbers are added to it"
            )
        numbers = range(num_volumes) if volume is None else [volume]
        volumes = [
            Volume(number, num_volumes, volume_path(target, number, num_volumes)) for number in numbers
        ]
    for each in volumes:
        check_place(each.path)
    return volumes


def clear_volumes(
    volumes: Sequence[Volume], source: object, overwrite: bool, is_resumed: bool = False
) -> None:
    """Checks that the files may be written, before any work.

    Args:
        volumes: As `name_volumes` said. Nobody else may be writing them.
        is_resumed: What an interrupted conversion of the set has published is made unfinished again.

    Raises:
        ValueError: As `check_target`.
        FileExistsError: Such a file, or an old volume that was put aside, is there.
    """
    paths = [each.path for each in volumes]
    if volumes[0].count > 1:
        if is_resumed and len(volumes) > 1:
            take_back(paths)
        refuse_replaced(paths)
    for path in paths:
        check_target(path, source, overwrite)


def split_ranks(num_samples: int, num_volumes: int, order: str, seed: int) -> list[Tensor]:
    """Which samples go into each volume.

    Args:
        num_samples: Samples of the whole set.
        order: "shuffled": each volume is a random sample of the set; "source": a stretch of it.
        seed: Of the shuffle.

    Returns:
        For each volume int64 ``[m]`` ranks in source order, rising.

    Raises:
        ValueError: There are fewer samples than volumes.
    """
    _require_enough(num_samples, num_volumes)
    bounds = [number * num_samples // num_volumes for number in range(num_volumes + 1)]
    # The Fisher-Yates of block orders: the same numbers, over samples.
    ranks = torch.arange(num_samples) if order == "source" else _native.block_order(num_samples, seed, 0)
    return [ranks[first:end].sort().values for first, end in pairwise(bounds)]


def _require_enough(num_samples: int, num_volumes: int) -> None:
    if num_samples < num_volumes:
        raise ValueError(
            f"num_volumes={num_volumes} is more than the {num_of(num_samples, 'sample')} of the set: a "
            "volume has one at least"
        )


def own_ranks(volumes: Sequence[Volume], num_samples: int, order: str, seed: int) -> Tensor | None:
    """The samples of the one volume of several that is to be written; None: all samples go into files.

    Args, Returns and Raises: as `split_ranks`.
    """
    _require_enough(num_samples, volumes[0].count)
    if len(volumes) == volumes[0].count:
        return None
    return split_ranks(num_samples, volumes[0].count, order, seed)[volumes[0].number]


def divide(
    volumes: Sequence[Volume], kept: Kept, own: Tensor | None, order: str, seed: int
) -> list[tuple[Volume, Kept, Tensor | None]]:
    """Gives each file its samples.

    Args:
        kept: The samples of the whole set; with `own` those of the one volume.
        own: What `own_ranks` said.

    Returns:
        For each file its samples and, in a set, their ranks in the set.

    Raises:
        ValueError: There are fewer samples than volumes.
    """
    if own is not None or volumes[0].count == 1:
        return [(volumes[0], kept, own)]
    ranks = split_ranks(len(kept), volumes[0].count, order, seed)
    return [(volume, kept.select(ranks[volume.number]), ranks[volume.number]) for volume in volumes]


def refuse_gaps(
    recoder_name: str,
    bad: Sequence[BadSample],
    large: Mapping[int, int],
    num_samples: int,
    check: str,
    room: Room,
) -> None:
    """Refuses to leave out what only the encoding of one volume showed to be bad.

    The other volumes are written elsewhere and number their samples as if it were there.

    Args:
        large: Those of `bad` that became larger than a block: bytes by number.

    Raises:
        BadSamplesError: There are such samples.
    """
    if not bad:
        return
    ways = [
        "without volume=, one call writes all volumes and leaves it out",
        "on_error='keep' stores the source's bytes, where a block holds them",
    ]
    if check != "decode" and len(large) < len(bad):
        ways.insert(0, "check='decode' finds damage before, in the call of every volume")
    advice = (
        f"Nothing was written. {recoder_name} found this, in one volume: on_error='skip' can't leave it out, "
        f"as the other volumes, written elsewhere, count it. What helps: {'; '.join(ways)}."
    )
    if large:
        advice += f" In the calls of all volumes: {room.advice(list(large.values()))}"
    raise BadSamplesError(bad, num_samples, advice)


def identify_set(kept: Kept, info: bytes, facts: Sequence[Any]) -> str:
    """INFO.set: SHA-256, in hex, of what all volumes of a set were made from.

    Args:
        kept: The samples of the whole set, as the source has them: a volume knows no others' new bytes.
        info: INFO as it is without it, and before anything is encoded: parameters and counts.
        facts: What else shapes the result.
    """
    samples = kept.samples
    names = samples.names
    if len(kept) != len(samples):
        names = [names[i] for i in kept.numbers.tolist()]
    parts = [
        info,
        json.dumps(list(facts)).encode(),
        _metadata.encode_classes(samples.classes),
        os.fsencode("\0".join(names)),
        kept.labels.numpy().astype("<i8").tobytes(),
        kept.sizes.numpy().astype("<i8").tobytes(),
    ]
    total = hashlib.sha256()
    for part in parts:
        # Its own sum, so that no byte can move from one part to the next.
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def add_gaps(identity: str, bad: Sequence[BadSample]) -> str:
    """INFO.set of a set that lacks samples which `identify_set` took for good ones."""
    if not bad:
        return identity
    numbers = json.dumps([each.index for each in bad])
    return hashlib.sha256(f"{identity} {numbers}".encode()).hexdigest()


def refuse_other_sets(volume: Volume, identity: str) -> None:
    """Refuses a volume for which other volumes of another set lie ready: they could never be read together.

    Raises:
        ValueError: Names such a volume.
    """
    name = parse_volume_path(volume.path)
    path = volume.path if name is None else name.path
    for number in range(volume.count):
        other = volume_path(path, number, volume.count)
        if number == volume.number or not os.path.lexists(other):
            continue
        try:
            with DTSFile(ExactFiles((other,))) as file:
                found = file.info.get("set")
        except (OSError, CorruptFileError):
            continue
        if found != identity:
            raise ValueError(
                f"{display(other)} is a volume of another set (made from another source, or with other "
                f"arguments), which volume {volume.number} would not fit: delete the old volumes first, "
                "write all of them in one call (without volume=), or choose another path"
            )
