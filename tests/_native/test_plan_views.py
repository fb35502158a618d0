# SPDX-License-Identifier: Apache-2.0
"""run_views: each view is what run_plan makes with its number."""

import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from torch_dts import _native

SOURCE = "source channels=3 max_pixels=0 pass_order=2\n"
PLANS = (
    SOURCE + "resized_crop op=0 height=9 width=8 scale=0.1,1 ratio=0.75,1.33 filter=2\n"
    "output height=9 width=8 channels=3 dtype=1 layout=1 scale=1\n",
    SOURCE + "grayscale channels=1\ncenter_crop height=5 width=5\nhorizontal_flip op=0 p=0.5\n"
    "output height=5 width=5 channels=1 dtype=0 layout=0 scale=0\n",
    SOURCE + "resized_crop op=0 height=3 width=3 scale=0.1,1 ratio=0.75,1.33 filter=2\n"
    "output height=3 width=3 channels=3 dtype=2 layout=0 scale=1\n",
)


def picture(number: int, mode: str = "RGB") -> bytes:
    coarse = np.random.default_rng(number).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((90, 70), Image.Resampling.BICUBIC).convert(mode)
    stream = io.BytesIO()
    # Pillow's restart markers come every so many rows of blocks
    image.save(stream, "JPEG", quality=90, **({"restart_marker_rows": 1} if number % 2 else {}))
    return stream.getvalue()


def arguments(datas: list[bytes]) -> tuple[Any, ...]:
    sizes = torch.tensor([len(data) for data in datas])
    arena = torch.frombuffer(bytearray(b"".join(datas)), dtype=torch.uint8)
    return arena, sizes.cumsum(0) - sizes, sizes, torch.zeros(len(datas), 3, dtype=torch.int64)


def test_views_are_those_of_separate_runs() -> None:
    datas = [picture(number, "L" if number % 3 == 0 else "RGB") for number in range(8)]
    samples = arguments(datas)
    indices, occurrences = torch.arange(8) * 7, torch.arange(8) % 3
    views, status = _native.run_views(*samples, "view\n".join(PLANS), indices, occurrences, 5, 2)
    assert status.tolist() == [0] * 8
    for number, (plan, view) in enumerate(zip(PLANS, views, strict=True)):
        expected, _ = _native.run_plan(*samples, plan, indices, occurrences, 5, 2, number)
        assert view.dtype == expected.dtype
        assert view.stride() == expected.stride()
        assert torch.equal(view, expected)


def test_a_bad_sample_is_zeros_in_all_views() -> None:
    samples = arguments([b"no picture", picture(1)])
    views, status = _native.run_views(
        *samples, "view\n".join(PLANS), torch.arange(2), torch.zeros(2, dtype=torch.int64), 0, 0
    )
    assert _native.DECODE_STATUS[int(status[0])] == "no JPEG"
    assert all(not view[0].any() and view[1].any() for view in views)


def test_wrong_plans() -> None:
    never = torch.empty(0, dtype=torch.int64)
    with pytest.raises(ValueError, match="view 1: plan: found no line 'output', expected one"):
        _native.run_views(*arguments([picture(1)]), PLANS[0] + "view\n", torch.arange(1), never, 0, 0)
