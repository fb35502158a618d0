# SPDX-License-Identifier: Apache-2.0
"""`Views`: several augmentations of one image, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from torch_dts._seeding import seed_generators
from torch_dts.transforms._plan import Decode, Decoder, Plan
from torch_dts.transforms._read import Reading, read

MAX_VIEWS = 256  # docs/format.md section 5


class Views:
    """A transform that makes several images of one: a list, one of each transform.

    `torch_dts.DataLoader` decodes a sample once for all of them, and draws their random
    choices apart (docs/format.md section 5: view 0, 1, ...). The views may differ in size:

    >>> Views([global_crop, global_crop, *[local_crop] * 6])

    A batch of a loader is then ``[[images of view 0, images of view 1, ...], labels]``.
    Anywhere else it is a transform like any other.

    Args:
        transforms: 1 to 256 transforms; the same one may come several times.

    Attributes:
        transforms: A list of them.

    Raises:
        ValueError: There are none, or too many.
        TypeError: One can't be called.
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)
        if not 1 <= len(self.transforms) <= MAX_VIEWS:
            raise ValueError(f"transforms has {len(self.transforms)} entries, expected 1 to {MAX_VIEWS}")
        for place, transform in enumerate(self.transforms):
            if not callable(transform):
                raise TypeError(f"transforms[{place}] is {transform!r}, expected something to call")

    def __call__(self, image: Any) -> list[Any]:
        return apply_views(self.transforms, image)

    def __repr__(self) -> str:
        parts = [repr(part).replace("\n", "\n    ") for part in self.transforms]
        return f"{type(self).__name__}([" + ",".join(f"\n    {part}" for part in parts) + "\n])"


@dataclass(frozen=True)
class ViewsReading:
    """A transform as it was read, view by view.

    Attributes:
        readings: Of each view.
        plans: What native code runs for each view; None where Python runs the transform.
        reason: Why there are none; "" where there are.
        is_list: The transform gives a list, of one view too.
    """

    readings: tuple[Reading, ...]
    plans: tuple[Plan, ...] | None
    reason: str
    is_list: bool


def parts_of(transform: Any, views: int = 1) -> tuple[list[Any], bool]:
    """The transform of each view, and whether the result is a list of views.

    Args:
        transform: A `Views`, or any other transform.
        views: How many of any other there are to be (a loader's argument).

    Raises:
        ValueError: Views are asked for of a `Views`.
    """
    if type(transform) is not Views:
        return [transform] * views, views > 1
    if views != 1:
        raise ValueError(f"views is {views}, but the transform is a Views already: leave views out")
    return list(transform.transforms), True


def read_views(
    transform: Any, views: int = 1, *, source_channels: int = 3, source_size: tuple[int, int] | None = None
) -> ViewsReading:
    """Reads each view; arguments as of `parts_of` and `read`.

    Raises:
        ValueError: Views are asked for of a `Views`.
    """
    parts, is_list = parts_of(transform, views)
    known: dict[int, Reading] = {}
    for part in parts:
        if id(part) not in known:
            known[id(part)] = read(part, source_channels=source_channels, source_size=source_size)
    readings = tuple(known[id(part)] for part in parts)
    plans = tuple(reading.plan for reading in readings if reading.plan is not None)
    if len(plans) == len(readings):
        return ViewsReading(readings, plans, "", is_list)
    first = next(i for i, reading in enumerate(readings) if reading.plan is None)
    where = f"view {first}: " if type(transform) is Views else ""
    return ViewsReading(readings, None, where + readings[first].reason, is_list)


def encode_views(
    plans: Sequence[Plan],
    dtype: torch.dtype | None = None,
    memory_format: torch.memory_format | None = None,
    repeat: int = 1,
    decoder: Decoder = "auto",
    decode: Decode = "exact",
) -> str:
    """Plans as the text that the native ops take (csrc/core/pipeline/view_plans.h).

    Args:
        plans: Of each view.
        dtype, memory_format, decoder, decode: As of `Plan.encode`.
        repeat: All views so many times, with view numbers that go on.

    Raises:
        ValueError: As `Plan.encode`; there are more views than 256.
    """
    num_views = len(plans) * repeat
    if num_views > MAX_VIEWS:
        raise ValueError(
            f"{len(plans)} views times repeat={repeat} are {num_views} augmentations of an image, "
            f"expected at most {MAX_VIEWS}"
        )
    return "view\n".join([plan.encode(dtype, memory_format, decoder, decode) for plan in plans] * repeat)


def apply_views(parts: Sequence[Any], image: Any, seeds: Sequence[int] = ()) -> list[Any]:
    """What each transform makes of an image, as if it had been decoded for each.

    Args:
        parts: Transforms; None: the image as it is.
        image: From the decoder. One that changes it changes a copy.
        seeds: Of the global generators, for each; empty: they go on as they are.
    """
    made = []
    for view, part in enumerate(parts):
        own = image if view == len(parts) - 1 else _copy(image)
        if seeds:
            seed_generators(seeds[view])
        made.append(own if part is None else part(own))
    return made


def _copy(image: Any) -> Any:
    if isinstance(image, (Image.Image, np.ndarray)):
        return image.copy()
    return image.clone() if isinstance(image, torch.Tensor) else image
