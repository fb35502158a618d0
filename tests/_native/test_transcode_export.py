# SPDX-License-Identifier: Apache-2.0
"""Export levels against Pillow doing the same: pixels, sizes, bytes."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native

DONE = _native.DECODE_STATUS.index("ok")
QUALITY = {1: 90, 2: 90, 3: 80}


def pack(datas: list[bytes]) -> tuple[Tensor, Tensor, Tensor]:
    arena = torch.frombuffer(bytearray(b"".join(datas) + b"."), dtype=torch.uint8)
    sizes = torch.tensor([len(data) for data in datas], dtype=torch.int64)
    return arena, sizes.cumsum(0) - sizes, sizes


def export(datas: list[bytes], level: int, *how: Any) -> tuple[list[bytes], Tensor]:
    out, offsets, sizes, facts = _native.export_jpegs(*pack(datas), level, *how)
    whole = out.numpy().tobytes()
    assert len(whole) == int(sizes.sum())
    return [whole[a : a + n] for a, n in zip(offsets.tolist(), sizes.tolist(), strict=True)], facts


def by_pillow(data: bytes, level: int) -> bytes:
    """The rule of the format, written with Pillow alone."""
    with Image.open(io.BytesIO(data)) as opened:
        image: Image.Image = opened.copy()
    width, height = image.size
    short = min(width, height)
    if short > (400 if level == 1 else 440):
        scale = 400.0 / short
        image = image.resize((int(width * scale), int(height * scale)), Image.Resampling.LANCZOS)
    if level > 1:
        width, height = image.size
        most = (600, 400) if width > height else (400, 600)
        final = min(width, most[0]), min(height, most[1])
        left, top = (width - final[0]) // 2, (height - final[1]) // 2
        image = image.crop((left, top, left + final[0], top + final[1]))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY[level])
    return out.getvalue()


def photo(seed: int, width: int, height: int, mode: str = "RGB", **how: Any) -> bytes:
    generator = np.random.default_rng(seed)
    shape = (9, 8) if mode == "L" else (9, 8, len(mode))
    coarse = Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8), mode)
    out = io.BytesIO()
    coarse.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", **how)
    return out.getvalue()


def check(datas: list[bytes], level: int, *how: Any) -> tuple[list[bytes], list[bytes]]:
    results, facts = export(datas, level, *how)
    expected = [by_pillow(data, level) for data in datas]
    for i, (one, other) in enumerate(zip(expected, results, strict=True)):
        assert facts[i, 0] == DONE, i
        with Image.open(io.BytesIO(one)) as a, Image.open(io.BytesIO(other)) as b:
            assert (a.mode, a.size) == (b.mode, b.size), i
            assert facts[i, 1:].tolist() == list(b.size)
            assert a.info.get("icc_profile") == b.info.get("icc_profile")
            assert "exif" not in a.info
            assert "exif" not in b.info
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=str(i))
    return expected, results


@pytest.mark.parametrize("level", [1, 2, 3])
def test_sizes_around_the_thresholds(level: int) -> None:
    sides = (1, 2, 7, 399, 400, 401, 439, 440, 441, 600, 601, 883)
    pairs = [(w, h) for w in sides for h in sides if w < 20 or h < 20 or (w + h) % 3 == level - 1]
    pairs += [(3001, 20), (20, 3001), (2000, 441), (401, 2000), (539, 539)]
    datas = [
        photo(i, w, h, "L" if i % 6 == 0 else "RGB", subsampling=i % 3) for i, (w, h) in enumerate(pairs)
    ]
    check(datas, level)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_random_sizes(level: int) -> None:
    generator = np.random.default_rng(level)
    datas = []
    for i in range(25):
        width, height = (int(side) for side in generator.integers(150, 900, 2))
        mode = "L" if i % 5 == 0 else "RGB"
        datas.append(photo(i, width, height, mode, progressive=i % 4 == 0, quality=50 + 2 * i))
    check(datas, level, (-1, 0, 1, 9)[level])


def test_very_tall_pictures_in_each_pass_order() -> None:
    data = photo(1, 410, 2000)
    results = []
    for order in range(3):
        result, facts = export([data], 1, 0, order)
        assert facts.tolist() == [[DONE, 400, 1951]]
        results += result
    # 90 rows go and 10 columns; 41 times the width is not yet very tall
    assert results[0] == results[1] != results[2]
    check([data, photo(2, 2000, 410)], 1)


def test_bytes_are_few() -> None:
    """Optimal tables pay for the markers; without markers no file is larger than Pillow's."""
    datas = [photo(i, 640, 480, quality=90) for i in range(4)]
    for level in (1, 2, 3):
        expected, results = check(datas, level, -1)
        assert all(len(b) < len(a) for a, b in zip(expected, results, strict=True))
        assert all(b"\xff\xdd" not in b[:700] for b in results)


def test_profiles_and_exif_are_left_out_as_pillow_does() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = photo(3, 500, 450, exif=exif, icc_profile=b"profile" * 9, comment=b"said")
    check([data], 1)


def test_odd_images(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    samples = [s for s in odd_expected["samples"] if s["pil"].get("error") != "DecompressionBombError"]
    datas = [(odd_images / sample["path"]).read_bytes() for sample in samples]
    _, facts = export(datas, 2)
    done = [data for data, fact in zip(datas, facts[:, 0].tolist(), strict=True) if fact == DONE]
    assert len(done) >= 20
    check(done, 2)
    for sample, fact in zip(samples, facts[:, 0].tolist(), strict=True):
        if not sample["pil"]["ok"] or sample["pil"]["mode"] not in ("L", "RGB"):
            assert fact != DONE, sample["path"]


def test_what_pillow_is_to_be_asked_about_gives_no_bytes() -> None:
    whole = photo(5, 450, 450)
    datas = [whole, b"", b"no picture", whole[:-2], photo(6, 50, 50, "CMYK"), whole]
    results, facts = export(datas, 3)
    words = [_native.DECODE_STATUS[status] for status in facts[:, 0].tolist()]
    assert words == ["ok", "no JPEG", "no JPEG", "incomplete", "not decoded natively", "ok"]
    assert results[1:5] == [b""] * 4
    assert facts[1:5, 1:].tolist() == [[0, 0]] * 4
    assert results[0] == results[5] != b""


def test_wrong_arguments() -> None:
    arena, offsets, sizes = pack([])
    for level in (0, 4):
        with pytest.raises(ValueError, match=f"level is {level}, expected 1, 2 or 3"):
            _native.export_jpegs(arena, offsets, sizes, level)
    with pytest.raises(ValueError, match="restart_interval is -2"):
        _native.export_jpegs(arena, offsets, sizes, 1, -2)
    with pytest.raises(ValueError, match="pass_order is 3"):
        _native.export_jpegs(arena, offsets, sizes, 1, 0, 3)
    with pytest.raises(ValueError, match="grain is 0, expected 1 or more"):
        _native.export_jpegs(arena, offsets, sizes, 1, grain=0)


def test_threads_change_nothing() -> None:
    datas = [photo(seed, 460, 445) for seed in range(5)]
    expected, _ = export(datas, 3)
    for grain in (1, 2, 5, 100):
        assert export(datas, 3, 0, None, grain)[0] == expected


def test_pillow_s_limit_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    datas = [photo(1, 20, 30), photo(2, 20, 31)]
    unknown = _native.DECODE_STATUS.index("not decoded natively")
    for limit, expected in ((600, [DONE, unknown]), (599, [unknown, unknown]), (None, [DONE, DONE])):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert export(datas, 1)[1][:, 0].tolist() == expected
