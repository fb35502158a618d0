# SPDX-License-Identifier: Apache-2.0
"""Width and height from headers."""

from __future__ import annotations

import io

import torch
from PIL import Image

from torch_dts.convert._image_sizes import image_sizes


def encoded(kind: str, size: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size).save(out, kind)
    return out.getvalue()


def test_sizes_of_every_kind() -> None:
    images = [encoded("JPEG", (30, 20)), encoded("PNG", (7, 9)), b"no image", encoded("GIF", (2, 3)), b""]
    sizes = torch.tensor([len(data) for data in images])
    arena = torch.frombuffer(bytearray(b"".join(images)), dtype=torch.uint8)
    found = image_sizes(arena, torch.cumsum(sizes, 0) - sizes, sizes)
    assert found == [(30, 20), (7, 9), (0, 0), (2, 3), (0, 0)]
