# SPDX-License-Identifier: Apache-2.0
"""The level recoder: who exports what, and that nobody can tell."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from torch_dts.convert import _pillow_process
from torch_dts.convert._level_recoder import LevelRecoder
from torch_dts.convert._levels import export_image


def encoded(kind: str, mode: str = "RGB", seed: int = 0) -> bytes:
    values = np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    out = io.BytesIO()
    options = {"comment": b"note"} if kind == "JPEG" else {}
    Image.fromarray(values).resize((520, 450), Image.Resampling.BICUBIC).convert(mode).save(
        out, kind, **options
    )
    return out.getvalue()


def arena_of(images: list[bytes]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sizes = torch.tensor([len(data) for data in images])
    padded = (sizes + 63) // 64 * 64
    arena = torch.frombuffer(
        bytearray(b"".join(data.ljust(-(-len(data) // 64) * 64) for data in images)), dtype=torch.uint8
    )
    return arena, torch.cumsum(padded, 0) - padded, sizes


def pixels(data: bytes | memoryview) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_who_exports(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images = [
        encoded("JPEG"),
        encoded("PNG", seed=1),
        encoded("JPEG", "L", seed=2),
        encoded("JPEG", "CMYK", seed=3),
        encoded("JPEG", seed=4)[:-900],
        b"nothing",
    ]
    asked: list[int] = []
    export = _pillow_process.PillowPool.export

    def counting(
        self: _pillow_process.PillowPool, images: list[memoryview], level: int
    ) -> list[tuple[bytes, str]]:
        asked.append(len(images))
        return export(self, images, level)

    monkeypatch.setattr(_pillow_process.PillowPool, "export", counting)
    recoder = LevelRecoder(level, 5, num_workers=1)
    stored = recoder.recode(*arena_of(images))
    recoder.close()
    assert asked == [4]
    for source, each in zip(images[:4], stored[:4], strict=True):
        assert each.reason == ""
        assert np.array_equal(pixels(each.data), pixels(export_image(source, level)))
        assert bytes(each.data).count(b"\xff\xdd\0\4\0\5") == 1
        assert b"note" not in bytes(each.data)
    assert "truncated" in stored[4].reason
    assert stored[5].reason.startswith("not an image that PIL knows; starts with b'")


def test_pillow_s_bytes() -> None:
    images = [encoded("JPEG"), encoded("PNG")]
    recoder = LevelRecoder(3, None, num_workers=1, as_pillow=True)
    assert [each.data for each in recoder.recode(*arena_of(images))] == [
        export_image(data, 3) for data in images
    ]
    recoder.close()


def test_no_markers() -> None:
    recoder = LevelRecoder(2, None, num_workers=1)
    for each, source in zip(
        recoder.recode(*arena_of([encoded("JPEG"), encoded("PNG")])), ("JPEG", "PNG"), strict=True
    ):
        assert b"\xff\xdd" not in bytes(each.data)
        pillow = export_image(encoded(source), 2)
        assert np.array_equal(pixels(each.data), pixels(pillow))
        assert len(each.data) < len(pillow)
    recoder.close()


def test_parameters_name_the_encoders() -> None:
    recoder = LevelRecoder(1, "auto", num_workers=1)
    assert recoder.parameters["encoder"].startswith(f"Pillow {Image.__version__}, libjpeg-turbo ")
    assert recoder.name == "level 1"
    recoder.close()
