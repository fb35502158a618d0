# SPDX-License-Identifier: Apache-2.0
"""``views=`` and ``repeat=`` of a loader that works in Python.

The dataset's transform is exchanged for one that makes all augmentations of an image, so that
it is decoded once. A dataset whose items may come about in another way is asked once for each.
Either way an item has all augmentations in its first place, and the collate_fn puts them into
the batches they belong to.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.utils.data import ConcatDataset, IterableDataset, Subset

from torch_dts.loader._datasets import leaves, with_transform
from torch_dts.loader._fallback_keys import Seeded
from torch_dts.loader._fallback_stream import BatchedStream
from torch_dts.loader._recognise import is_plain_concat, is_plain_subset
from torch_dts.loader._recognise_leaves import applies_transform
from torch_dts.transforms._views import MAX_VIEWS, Views, apply_views, parts_of


@dataclass(frozen=True)
class ViewShape:
    """What a loader makes of a sample.

    Attributes:
        views: Augmentations in a batch.
        repeat: Batches of the same samples.
        is_list: An image of a batch is a list of its views.
    """

    views: int = 1
    repeat: int = 1
    is_list: bool = False

    @property
    def total(self) -> int:
        """Augmentations of a sample."""
        return self.views * self.repeat


class Made:
    """All augmentations of a sample, in the place of its image."""

    def __init__(self, results: list[Any]) -> None:
        self.results = results


class MakingTransform:
    """The transform of a dataset whose items are decoded once for all augmentations.

    Args:
        parts: Transforms, one for each augmentation.

    Attributes:
        seeds: Of the augmentations of the next image; empty: the generators go on.
    """

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts
        self.seeds: tuple[int, ...] = ()

    def __call__(self, image: Any) -> Made:
        seeds, self.seeds = self.seeds, ()
        return Made(apply_views(self._parts, image, seeds))


def prepare_views(dataset: Any, views: int, repeat: int) -> tuple[Any, MakingTransform | None, ViewShape]:
    """The dataset to read, the transform that was put into it, and what a sample becomes.

    None in the second place: it is to be asked for each augmentation; where there is more than
    one, that is `asked_for_each`.

    Args:
        dataset: With its own transform.
        views, repeat: The loader's.

    Raises:
        ValueError: `views` beside a `Views`; an iterable dataset of the user's own, which
            can't be asked twice; more than 256 augmentations.
    """
    if isinstance(dataset, BatchedStream):
        stream = copy.copy(dataset)
        stream.dataset, making, shape = prepare_views(dataset.dataset, views, repeat)
        return stream, making, shape
    found = [getattr(leaf, "transform", None) for leaf in leaves(dataset)]
    has_views = any(type(transform) is Views for transform in found)
    if views == repeat == 1 and not has_views:
        return dataset, None, ViewShape()
    is_one = all(transform is found[0] for transform in found)
    if is_one and _is_plain(dataset):
        parts, is_list = parts_of(found[0], views)
        shape = ViewShape(len(parts), repeat, is_list)
        _check(shape)
        making = MakingTransform(parts * repeat)
        return with_transform(dataset, making), making, shape
    if has_views:
        for transform in found:
            parts_of(transform, views)  # refuses views of views
    if isinstance(dataset, IterableDataset) and views * repeat > 1:
        raise ValueError(
            f"views is {views} and repeat is {repeat}, but the items of a {type(dataset).__name__} that is "
            "read in Python come once: let the dataset make the views"
        )
    shape = ViewShape(views, repeat, views > 1)
    _check(shape)
    return dataset, None, shape


def asked_for_each(key: Seeded, ask: Callable[[Seeded], Any]) -> list[Any]:
    """The items of a batch from a dataset that is asked for each augmentation of it.

    Args:
        key: With the seeds of all augmentations.
        ask: The items for a key.
    """
    every = [ask(Seeded(key.index, seeds)) for seeds in (key.seeds, *key.more_seeds)]
    return [_together(list(items)) for items in zip(*every, strict=True)]


def _together(items: list[Any]) -> Any:
    first = items[0]
    if isinstance(first, (tuple, list)) and first:
        return (Made([item[0] for item in items]), *first[1:])
    return Made(items)


class SplittingCollate:
    """A collate_fn for items with all augmentations: a batch, or a list of `repeat` ones.

    Args:
        collate_fn: The loader's.
        shape: Of the items.
        is_batched: False: it gets one item, not a list of them.
    """

    def __init__(self, collate_fn: Callable[[Any], Any], shape: ViewShape, is_batched: bool) -> None:
        self._collate_fn = collate_fn
        self._shape = shape
        self._is_batched = is_batched

    def __call__(self, items: Any) -> Any:
        shape = self._shape
        if self._is_batched:
            split = [self._split(item) for item in items]
            batches = [self._collate_fn([each[j] for each in split]) for j in range(shape.repeat)]
        else:
            batches = [self._collate_fn(item) for item in self._split(items)]
        return batches if shape.repeat > 1 else batches[0]

    def _split(self, item: Any) -> list[Any]:
        """The item of each of the batches it belongs to."""
        made, rest = (item, None) if isinstance(item, Made) else (item[0], item[1:])
        count = self._shape.views
        groups = [made.results[first : first + count] for first in range(0, self._shape.total, count)]
        images = groups if self._shape.is_list else [group[0] for group in groups]
        return images if rest is None else [(image, *rest) for image in images]


class RepeatedBatches:
    """An iterator over lists of batches that gives the batches.

    Args:
        lists: Each of `repeat` batches.
        repeat: See above.
    """

    def __init__(self, lists: Iterator[list[Any]], repeat: int) -> None:
        self._lists = lists
        self._repeat = repeat
        self._left: list[Any] = []

    def __iter__(self) -> RepeatedBatches:
        return self

    def __next__(self) -> Any:
        if not self._left:
            self._left = list(reversed(next(self._lists)))
        return self._left.pop()

    def __len__(self) -> int:
        return len(self._lists) * self._repeat  # type: ignore[arg-type]  # torch's own iterators


def _is_plain(dataset: Any) -> bool:
    """Whether nothing of the user's own is between a leaf's transform and an item."""
    if isinstance(dataset, ConcatDataset):
        return is_plain_concat(dataset) and all(_is_plain(part) for part in dataset.datasets)
    if isinstance(dataset, Subset):
        return is_plain_subset(dataset) and _is_plain(dataset.dataset)
    return applies_transform(dataset)


def _check(shape: ViewShape) -> None:
    if shape.total > MAX_VIEWS:
        raise ValueError(
            f"{shape.views} views times repeat={shape.repeat} are {shape.total} augmentations of an image, "
            f"expected at most {MAX_VIEWS}"
        )
