# SPDX-License-Identifier: Apache-2.0
"""How many samples and batches a rank delivers: ``drop_last``, ``uneven``, ``last_batch``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, cast, get_args

from torch import Tensor

from torch_dts.datasets._shares import RankShare, Uneven, filler_places
from torch_dts.loader._order import Order

LastBatch = Literal["partial", "drop", "fill"]


class _Default(str):
    """A word that can be told from the same one of a caller's."""

    __slots__ = ()


PARTIAL_BY_DEFAULT = cast(LastBatch, _Default("partial"))


def meant(last_batch: LastBatch, needs_one_shape: bool) -> LastBatch:
    """What `last_batch` stands for.

    Args:
        last_batch: The caller's, or `PARTIAL_BY_DEFAULT`.
        needs_one_shape: All batches must have one shape (``static_buffers=True``).

    Raises:
        ValueError: The caller asked for a partial one where all must have one shape.
    """
    is_default = isinstance(last_batch, _Default)
    if needs_one_shape and last_batch == "partial":
        if not is_default:
            raise ValueError(
                "static_buffers=True needs batches of one shape, but last_batch is 'partial': take 'fill', "
                "'drop' or drop_last=True"
            )
        return "fill"
    return "partial" if is_default else last_batch


class BatchRule(NamedTuple):
    """How samples are cut into batches.

    Attributes:
        batch_size: Samples of a batch.
        last_batch: What becomes of the last one where it isn't full: it is delivered as it
            is ("partial"), left out ("drop") or filled up ("fill").
    """

    batch_size: int
    last_batch: LastBatch = "partial"


class IndexBatch(NamedTuple):
    """Indices of a batch, some of which come once more to fill it.

    Attributes:
        indices: Of the dataset.
        num_fillers: The last so many are fillers.
        num_before: How often the fillers came in the epoch on other ranks.
        places: int64 ``[n]``: of the samples in the epoch of all ranks, where occurrences count in it.
        filler_occurrences: int64: then, what the fillers have more.
    """

    indices: list[Any]
    num_fillers: int = 0
    num_before: int = 0
    places: Tensor | None = None
    filler_occurrences: Tensor | None = None


def plan_share(order: Order, rule: BatchRule) -> RankShare:
    """The samples and fillers of a rank, with those that complete its batches.

    Batches are cut from them one behind the other, `rule.batch_size` at a time; only the last
    one may have fewer.
    """
    size = rule.batch_size
    num_own, num_fillers = order.share
    num_samples = num_own + num_fillers
    before = order.num_skipped  # batches are cut from there on
    if order.uneven == "exact" and not order.drop_last:
        own = num_batches(max(0, num_own - before), rule)
        if own < num_batches(max(0, order.longest - before), rule):
            # A batch of nothing but a filler, so that no rank waits for this one.
            num_samples = max(num_samples, before) + 1
    left = max(0, num_samples - before)
    if rule.last_batch == "drop":
        num_samples -= left % size
    elif rule.last_batch == "fill":
        num_samples += -left % size
    num_own = min(num_own, num_samples)
    return RankShare(num_own, num_samples - num_own)


def num_batches(num_samples: int, rule: BatchRule) -> int:
    """The batches that so many samples make."""
    if rule.last_batch == "drop":
        return num_samples // rule.batch_size
    return -(-num_samples // rule.batch_size)


def filled_batches(batches: Iterable[Iterable[Any]], rule: BatchRule) -> Iterator[IndexBatch]:
    """The batches of a sampler that says itself what it delivers.

    Args:
        batches: Indices of each batch; only the last one may have fewer than `rule.batch_size`.
        rule: With "fill" the last one is filled up with the first indices of the epoch.
    """
    fills = rule.last_batch == "fill"
    kept: list[Any] = []
    for batch in batches:
        indices = list(batch)
        num_missing = rule.batch_size - len(indices) if fills and indices else 0
        if fills and len(kept) < rule.batch_size:
            kept += indices[: rule.batch_size - len(kept)]
        if num_missing > 0:
            places = filler_places(len(kept), num_missing)[0].tolist()
            yield IndexBatch(indices + [kept[place] for place in places], num_missing)
        else:
            yield IndexBatch(indices)


def check_last_batch(last_batch: Any, drop_last: bool, uneven: Uneven) -> LastBatch:
    """`last_batch`, checked.

    Raises:
        ValueError: It is none of the three, or contradicts `drop_last` or `uneven`.
    """
    if not isinstance(last_batch, str) or last_batch not in get_args(LastBatch):
        raise ValueError(f"last_batch is {last_batch!r}, expected 'partial', 'drop' or 'fill'")
    if last_batch == "fill" and drop_last:
        raise ValueError("last_batch='fill' and drop_last=True exclude each other: give one of the two")
    if last_batch == "drop" and uneven == "exact":
        raise ValueError(
            "uneven='exact' delivers every sample once, and last_batch='drop' leaves some out: give one of "
            "the two"
        )
    return cast(LastBatch, last_batch)
