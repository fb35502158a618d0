# SPDX-License-Identifier: Apache-2.0
"""An epoch of one file as a stream of items: what the iterable dataset and the DataPipe share."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import Any, Literal

from torch_dts.datasets._chunks import EpochOrder, Share, plan_chunks
from torch_dts.datasets._decode import Transform, default_loader, load_sample, make_item
from torch_dts.datasets._pixels import read_sample, share_of_epoch
from torch_dts.datasets._reading import ChunkReader, load_ahead
from torch_dts.datasets._rest import remaining_groups
from torch_dts.datasets._shares import RankShare
from torch_dts.file import DTSFile

ShuffleWindow = int | Literal["all"]

_LIMIT = 2**31  # of numbers of blocks, samples or ranks: native code counts in 64 bits, and sums them


def stream_items(
    file: DTSFile,
    order: EpochOrder,
    share: Share,
    transform: Transform | None,
    target_transform: Transform | None,
    rank_share: RankShare | None = None,
) -> Iterator[tuple[Any, Any]]:
    """``(sample, target)`` of each sample that a worker takes of what a rank delivers, in order.

    `rank_share` takes the place of what `order` says of the samples and fillers of the rank.
    One thread reads ahead; it ends with the generator. A pixel file is read whole and stays
    in memory.
    """
    loader = default_loader(file)
    if not file.header.has_blocks:
        labels = file.labels
        for index in share_of_epoch(len(file), order, share, rank_share):
            sample = load_sample(loader, read_sample(file, index), file, index)
            yield make_item(sample, int(labels[index]), transform, target_transform)
        return
    reader = ChunkReader(file)
    groups = remaining_groups(reader.block_sizes, order, rank_share)
    chunks = plan_chunks(groups, share, reader.block_sizes, reader.sample_bytes)
    with contextlib.closing(load_ahead(chunks, reader.read)) as loaded:
        for chunk in loaded:
            for source_index, data, label in chunk:
                sample = load_sample(loader, data, file, source_index)
                yield make_item(sample, label, transform, target_transform)


def check_window(shuffle_window: ShuffleWindow) -> int:
    """The window in blocks, 0 for "all".

    Raises:
        ValueError: It is neither "all" nor at least 1, or too large.
        TypeError: It is neither "all" nor an integer.
    """
    if shuffle_window == "all":
        return 0
    window = check_int("shuffle_window", shuffle_window, "a number of blocks or 'all'")
    return check_count("shuffle_window", window, " (in blocks) or 'all',")


def check_count(name: str, value: int, alternative: str) -> int:
    """`value`, from 1 to 2^31 - 1; `alternative` goes behind "at least 1" in the message.

    Raises:
        ValueError: It is outside.
    """
    if not 1 <= value < _LIMIT:
        raise ValueError(f"{name} is {value}, expected at least 1{alternative} and below 2^31")
    return value


def check_int(name: str, value: Any, expected: str) -> int:
    """`value` as an int; bool is none.

    Raises:
        TypeError: It is no integer.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}, expected {expected}")
    return operator.index(value)
