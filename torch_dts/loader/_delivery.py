# SPDX-License-Identifier: Apache-2.0
"""From the native loader's batch to what the caller gets: targets, collating, pinned memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils.data import default_collate, default_convert
from torch.utils.data._utils.pin_memory import pin_memory


@dataclass(frozen=True)
class Delivery:
    """How a loader hands out batches.

    Attributes:
        collate_fn: The loader's; torch's own for the batch as it is.
        target_transform: Takes the class index of a sample, returns its target; None: the index.
        is_batched: False: one sample, without a batch dimension.
        returns_index: The sample's index in the dataset comes third.
        returns_mask: Last comes whether the sample counts, or only fills a batch.
        pins_memory: Into memory that copies to a device faster.
        is_list: An image is a list of its views, as a transform gives it that makes several.
        repeat: The views of a sample go to so many batches, one after the other.
        owns_labels: Labels come as a copy already.
        unite: Makes `images` of all that the engine gives of a batch; None: they are its views.
    """

    collate_fn: Callable[[Any], Any]
    target_transform: Callable[[int], Any] | None = None
    is_batched: bool = True
    returns_index: bool = False
    returns_mask: bool = False
    pins_memory: bool = False
    is_list: bool = False
    repeat: int = 1
    owns_labels: bool = False
    unite: Callable[[list[Tensor]], Any] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether a batch is handed out as it is: nothing of the caller's looks at its images."""
        return self.is_batched and self.collate_fn is default_collate

    def split(self, views: list[Tensor]) -> list[Any]:
        """The `images` of each of the `repeat` batches that a native one holds."""
        if self.unite is not None:
            return [self.unite(views)]
        count = len(views) // self.repeat
        firsts = range(0, len(views), count)
        return [views[first : first + count] if self.is_list else views[first] for first in firsts]

    def hand_out(self, images: Any, labels: Tensor, further: Sequence[Tensor] = ()) -> Any:
        """What the loader's iterator returns.

        Args:
            images: ``[n, C, H, W]``, or a list of such tensors; not decoded, anything of `n` items.
            labels: int64 ``[n]``.
            further: What comes behind them, each ``[n]``: indices int64, mask bool.
        """
        made = self._batch(images, labels, further) if self.is_batched else self._one(images, labels, further)
        return pin_memory(made) if self.pins_memory else made  # type: ignore[no-untyped-call]

    def _batch(self, images: Any, labels: Tensor, further: Sequence[Tensor]) -> Any:
        if self.collate_fn is not default_collate:
            samples = [list(views) for views in zip(*images, strict=True)] if self.is_list else list(images)
            columns: list[Any] = [samples, self._targets(labels)]
            columns += [values.tolist() for values in further]
            return self.collate_fn(list(zip(*columns, strict=True)))
        # A copy of the labels, so that keeping them does not keep the images' memory.
        targets: Any = labels if self.owns_labels else labels.clone()
        if self.target_transform is not None:
            targets = tuple(self._targets(labels))  # as torch passes them on: of text that is what comes out
            targets = default_collate(targets)
        return [images, targets, *further]

    def _one(self, images: Any, labels: Tensor, further: Sequence[Tensor]) -> Any:
        image = [view[0] for view in images] if self.is_list else images[0]
        return self.collate_fn((image, *self._targets(labels), *(values.item() for values in further)))

    def _targets(self, labels: Tensor) -> list[Any]:
        classes: list[Any] = labels.tolist()
        if self.target_transform is None:
            return classes
        return [self.target_transform(label) for label in classes]


__all__ = ["Delivery", "default_collate", "default_convert"]
