# SPDX-License-Identifier: Apache-2.0
"""The restart recoder: bytes, facts and reasons."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from torch_dts.convert._restart_recoder import RestartRecoder, libjpeg_version, native_interval


def jpeg(**options: object) -> bytes:
    out = io.BytesIO()
    values = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    Image.fromarray(values).resize((240, 160), Image.Resampling.BICUBIC).save(out, "JPEG", **options)
    return out.getvalue()


@pytest.mark.parametrize(("given", "native"), [(None, -1), ("auto", 0), (7, 7)])
def test_native_interval(given: str | int | None, native: int) -> None:
    assert native_interval(given) == native


def test_recode() -> None:
    images = [jpeg(comment=b"c" * 40), b"no JPEG", jpeg(progressive=True)]
    sizes = torch.tensor([len(data) for data in images])
    offsets = torch.cumsum(sizes, 0) - sizes
    arena = torch.frombuffer(bytearray(b"".join(images)), dtype=torch.uint8)
    recoder = RestartRecoder(5, "needed")
    first, second, third = recoder.recode(arena, offsets, sizes)
    assert (first.kept_because, first.dropped_segments, first.dropped_bytes) == (0, 1, 44)
    assert b"\xff\xdd\0\4\0\5" in bytes(first.data)
    assert bytes(second.data) == b"no JPEG"
    assert recoder.keep_reasons[second.kept_because] == "no JPEG, or one only Pillow can judge"
    assert [each.reason for each in (first, second, third)] == [""] * 3
    for source, each in ((images[0], first), (images[2], third)):
        with Image.open(io.BytesIO(source)) as old, Image.open(io.BytesIO(each.data)) as new:
            assert np.array_equal(np.asarray(old), np.asarray(new))
            assert "progressive" not in new.info
    keeping = RestartRecoder("auto", "keep")
    kept = keeping.recode(arena, offsets, sizes)[0]
    assert kept.dropped_segments == 0
    assert b"c" * 40 in bytes(kept.data)
    assert keeping.keeps_area
    assert keeping.parameters == {"encoder": "torch_dts"}
    recoder.close()


def test_libjpeg_version() -> None:
    assert libjpeg_version().startswith("libjpeg-turbo ")
