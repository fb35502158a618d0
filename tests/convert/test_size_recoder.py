# SPDX-License-Identifier: Apache-2.0
"""max_size at level 0: which images are encoded anew, and what happens to the others."""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image

from torch_dts.convert._recode import StoredSample
from torch_dts.convert._restart_recoder import RestartRecoder
from torch_dts.convert._size_recoder import SizeRecoder


def encoded(seed: int, size: tuple[int, int], kind: str) -> bytes:
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(values).save(out, kind)
    return out.getvalue()


IMAGES = [
    encoded(1, (30, 20), "JPEG"),
    encoded(2, (8, 50), "PNG"),
    encoded(3, (16, 16), "JPEG"),
    encoded(4, (5, 4), "PNG"),
    b"no image",
]


def recode(recoder: SizeRecoder) -> list[StoredSample]:
    sizes = torch.tensor([len(data) for data in IMAGES])
    arena = torch.frombuffer(bytearray(b"".join(IMAGES)), dtype=torch.uint8)
    try:
        return recoder.recode(arena, torch.cumsum(sizes, 0) - sizes, sizes)
    finally:
        recoder.close()


def test_only_what_is_larger_is_encoded() -> None:
    made = recode(SizeRecoder(20, None, None, num_workers=1))
    sizes = [Image.open(io.BytesIO(each.data)).size for each in made[:4]]
    assert sizes == [(20, 13), (3, 20), (16, 16), (5, 4)]
    assert [each.kept_because for each in made] == [0, 0, 1, 1, 1]
    for i in (2, 3, 4):
        assert bytes(made[i].data) == IMAGES[i]
    out = io.BytesIO()
    smaller = Image.open(io.BytesIO(IMAGES[0])).resize((20, 13), Image.Resampling.LANCZOS)
    smaller.save(out, "JPEG", quality=90)
    found = Image.open(io.BytesIO(made[0].data))
    assert found.tobytes() == Image.open(io.BytesIO(out.getvalue())).tobytes()


def test_the_others_get_restart_markers_where_asked() -> None:
    made = recode(SizeRecoder(20, 1, RestartRecoder(1, "needed"), num_workers=1))
    assert bytes(made[2].data) != IMAGES[2]
    for i in (0, 2):
        assert b"\xff\xdd\x00\x04\x00\x01" in bytes(made[i].data)  # DRI: one MCU
    found, source = (Image.open(io.BytesIO(data)) for data in (made[2].data, IMAGES[2]))
    assert found.tobytes() == source.tobytes()
    assert bytes(made[3].data) == IMAGES[3]
