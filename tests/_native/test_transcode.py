# SPDX-License-Identifier: Apache-2.0
"""Transcoded JPEGs against Pillow: the same pixels, mode, profile and orientation."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch import Tensor

from torch_dts import _native

DONE = _native.TRANSCODE_STATUS.index("transcoded")


def pack(datas: list[bytes]) -> tuple[Tensor, Tensor, Tensor]:
    arena = torch.frombuffer(bytearray(b"".join(datas) + b"."), dtype=torch.uint8)
    sizes = torch.tensor([len(data) for data in datas], dtype=torch.int64)
    return arena, sizes.cumsum(0) - sizes, sizes


def transcode(datas: list[bytes], *how: Any) -> tuple[list[bytes], Tensor]:
    out, offsets, sizes, facts = _native.transcode_jpegs(*pack(datas), *how)
    assert offsets.tolist() == (sizes.cumsum(0) - sizes).tolist()
    assert out.numel() == int(sizes.sum())
    whole = out.numpy().tobytes()
    return [whole[a : a + n] for a, n in zip(offsets.tolist(), sizes.tolist(), strict=True)], facts


def photo(generator: np.random.Generator, mode: str = "RGB", **how: Any) -> bytes:
    width, height = (int(side) for side in generator.integers(1, 150, 2))
    shape = (5, 6) if mode == "L" else (5, 6, len(mode))
    coarse = Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8), mode)
    out = io.BytesIO()
    coarse.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", **how)
    return out.getvalue()


def same_picture(one: bytes, other: bytes) -> None:
    with Image.open(io.BytesIO(one)) as a, Image.open(io.BytesIO(other)) as b:
        assert (a.mode, a.size) == (b.mode, b.size)
        assert a.info.get("icc_profile") == b.info.get("icc_profile")
        assert a.info.get("jfif_density") == b.info.get("jfif_density")
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        turned, again = ImageOps.exif_transpose(a), ImageOps.exif_transpose(b)
        assert turned is not None
        assert again is not None
        assert turned.size == again.size


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_pixels_are_pillows(mode: str) -> None:
    generator = np.random.default_rng(len(mode))
    datas = []
    for i in range(40):
        how: dict[str, Any] = {"quality": int(generator.integers(20, 100)), "progressive": i % 3 == 0}
        if mode == "RGB":
            how |= {"subsampling": i % 3, "keep_rgb": i % 15 == 0}
        datas.append(photo(generator, mode, **how))
    for interval in (-1, 0, 1, 7, 100000):
        results, facts = transcode(datas, interval)
        assert facts[:, 0].tolist() == [DONE] * len(datas)
        for before, after in zip(datas, results, strict=True):
            same_picture(before, after)


def test_odd_images_keep_pillows_picture(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    samples = [s for s in odd_expected["samples"] if s["pil"].get("error") != "DecompressionBombError"]
    datas = [(odd_images / sample["path"]).read_bytes() for sample in samples]
    for keep in (False, True):
        results, facts = transcode(datas, 0, keep)
        statuses = facts[:, 0].tolist()
        assert statuses.count(DONE) >= 22
        for sample, before, after, status in zip(samples, datas, results, statuses, strict=True):
            if status != DONE:
                assert after == before, sample["path"]
            else:
                assert sample["pil"]["ok"], sample["path"]
                same_picture(before, after)


def test_tables_alone_make_smaller_files() -> None:
    generator = np.random.default_rng(0)
    datas = [photo(generator, quality=90) for _ in range(20)]
    results, _ = transcode(datas, -1)
    assert all(len(after) < len(before) for before, after in zip(datas, results, strict=True))
    assert all(b"\xff\xdd" not in after for after in results)


def test_metadata_is_dropped_and_counted_or_kept() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "a maker of some length"
    out = io.BytesIO()
    image = Image.new("RGB", (40, 30), (200, 10, 30))
    image.save(out, "JPEG", exif=exif, icc_profile=b"profile" * 20, comment=b"said", dpi=(72, 72))
    data = out.getvalue()
    results, facts = transcode([data], 1)
    status, num_dropped, dropped_bytes = facts[0].tolist()
    assert (status, num_dropped) == (DONE, 2)
    same_picture(data, results[0])
    with Image.open(io.BytesIO(results[0])) as after:
        assert dict(after.getexif()) == {0x0112: 6}
        assert "comment" not in after.info
        assert after.info["dpi"] == (72, 72)
    kept, facts = transcode([data], 1, True)
    assert facts.tolist() == [[DONE, 0, 0]]
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(kept[0])) as after:
        assert dict(after.getexif()) == dict(before.getexif())
        assert after.info["comment"] == b"said"
    assert len(kept[0]) - len(results[0]) == dropped_bytes


def test_what_is_no_whole_jpeg_comes_back_as_it_was() -> None:
    generator = np.random.default_rng(4)
    whole = photo(generator, quality=90)
    datas = [whole, b"", b"no picture", whole[:-2], whole[:-60] + b"\xff\xd9", whole]
    results, facts = transcode(datas)
    words = [_native.TRANSCODE_STATUS[status] for status in facts[:, 0].tolist()]
    assert words[1:5] == ["no JPEG, or one only Pillow can judge"] * 2 + ["incomplete", "damaged"]
    assert results[1:5] == datas[1:5]
    assert facts[1:5, 1:].tolist() == [[0, 0]] * 4
    assert results[0] == results[5] != whole


def test_no_samples() -> None:
    results, facts = transcode([])
    assert results == []
    assert facts.shape == (0, 3)


def test_wrong_arguments() -> None:
    arena, offsets, sizes = pack([b"abc"])
    with pytest.raises(ValueError, match="restart_interval is -2, expected"):
        _native.transcode_jpegs(arena, offsets[:0], sizes[:0], -2)
    with pytest.raises(IndexError, match=r"sample 0 .*arena of 4 bytes"):
        _native.transcode_jpegs(arena, offsets + 2, sizes)
    with pytest.raises(ValueError, match="offsets has 1 elements, sizes has 2"):
        _native.transcode_jpegs(arena, offsets, torch.tensor([1, 1]))
    with pytest.raises(ValueError, match="grain is -1, expected 1 or more"):
        _native.transcode_jpegs(arena, offsets, sizes, grain=-1)


def test_threads_change_nothing() -> None:
    generator = np.random.default_rng(9)
    datas = [photo(generator, progressive=i % 2 == 0) for i in range(7)] + [b"no picture"]
    expected, facts = transcode(datas)
    assert facts[:7, 0].tolist() == [DONE] * 7
    for grain in (2, 8, 100):
        found, other = transcode(datas, 0, False, grain)
        assert found == expected
        assert other.tolist() == facts.tolist()
