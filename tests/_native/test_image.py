# SPDX-License-Identifier: Apache-2.0
"""Decoding, resizing and normalising against Pillow and torch, byte for byte."""

import hashlib
import io
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native

FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


def decode(
    datas: list[bytes], boxes: list[list[int]], height: int, width: int, **how: Any
) -> tuple[Tensor, Tensor]:
    arena = torch.tensor(list(b"".join(datas)), dtype=torch.uint8)
    sizes = torch.tensor([len(data) for data in datas], dtype=torch.int64)
    return _native.decode_crop_resize(
        arena,
        sizes.cumsum(0) - sizes,
        sizes,
        torch.tensor(boxes, dtype=torch.int64).reshape(-1, 8),
        height,
        width,
        **how,
    )


def photo(generator: np.random.Generator, width: int, height: int, mode: str = "RGB", **how: Any) -> bytes:
    shape = (3, 4) if mode == "L" else (3, 4, len(mode))
    coarse = generator.integers(0, 256, shape, dtype=np.uint8)
    image = Image.fromarray(coarse, mode).resize((width, height), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    image.save(out, "JPEG", **how)
    return out.getvalue()


def test_odd_images_give_pillows_pixels(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    """What is decoded natively is Pillow's picture; what Pillow refuses is never decoded."""
    native = 0
    for sample in odd_expected["samples"]:
        pil = sample["pil"]
        if pil.get("error") == "DecompressionBombError":
            continue  # how large a picture may be is the caller's decision
        data = (odd_images / sample["path"]).read_bytes()
        width, height = (pil["width"], pil["height"]) if pil["ok"] else (1, 1)
        images, status = decode([data], [[0, 0, height, width, height, width, 0, 0]], height, width)
        if status[0] == 0:
            native += 1
            assert pil["ok"], sample["path"]
            assert hashlib.sha256(images.numpy().tobytes()).hexdigest() == pil["rgb_sha256"], sample["path"]
        else:
            assert not images.any()
            assert (
                pil["ok"] is False
                or pil["format"] != "JPEG"
                or sample["compare"] == "lenient"
                or (sample["path"] in {"coding/progressive_unfinished.jpg"})
            ), sample["path"]
    assert native >= 20


@pytest.mark.parametrize("interpolation", FILTERS)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_crop_and_resize_are_pillows(interpolation: str, mode: str) -> None:
    generator = np.random.default_rng(len(interpolation) * 7 + len(mode))
    for _ in range(25):
        width, height = (int(side) for side in generator.integers(1, 90, 2))
        how = {} if mode == "L" else {"subsampling": int(generator.integers(0, 3)) if mode == "RGB" else 0}
        data = photo(generator, width, height, mode, quality=int(generator.integers(30, 99)), **how)
        left, top = int(generator.integers(0, width)), int(generator.integers(0, height))
        box_width = int(generator.integers(1, width - left + 1))
        box_height = int(generator.integers(1, height - top + 1))
        out_width, out_height = (int(side) for side in generator.integers(1, 60, 2))
        window_left, window_top = (
            int(generator.integers(0, out_width)),
            int(generator.integers(0, out_height)),
        )
        with Image.open(io.BytesIO(data)) as opened:
            image = opened.convert("RGB").crop((left, top, left + box_width, top + box_height))
        resized = image.resize((out_width, out_height), Image.Resampling[interpolation.upper()])
        expected = np.asarray(resized)[window_top:, window_left:]
        row = [top, left, box_height, box_width, out_height, out_width, window_top, window_left]
        images, status = decode([data], [row], *expected.shape[:2], interpolation=interpolation)
        assert status.tolist() == [0]
        np.testing.assert_array_equal(images[0].numpy(), expected)


@pytest.mark.parametrize("how", [{"restart_marker_blocks": 2}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize(("mode", "subsampling"), [("RGB", 0), ("RGB", 1), ("RGB", 2), ("L", 0), ("CMYK", 0)])
def test_crops_of_files_with_restart_markers_are_pillows(
    mode: str, subsampling: int, how: dict[str, int]
) -> None:
    generator = np.random.default_rng(subsampling + len(mode))
    data = photo(generator, 256, 183, mode, quality=90, subsampling=subsampling, **how)
    assert b"\xff\xd7" in data
    with Image.open(io.BytesIO(data)) as opened:
        image = np.asarray(opened.convert("RGB"))
    for _ in range(30):
        top, left = int(generator.integers(0, 183)), int(generator.integers(0, 256))
        if generator.integers(0, 2) == 0:
            top, left = top // 8 * 8, left // 16 * 16
        height, width = int(generator.integers(1, 184 - top)), int(generator.integers(1, 257 - left))
        images, status = decode([data], [[top, left, height, width, height, width, 0, 0]], height, width)
        assert status.tolist() == [0]
        np.testing.assert_array_equal(images[0].numpy(), image[top : top + height, left : left + width])


def test_one_channel_of_gray() -> None:
    data = photo(np.random.default_rng(0), 31, 17, "L")
    images, status = decode([data], [[2, 3, 10, 20, 5, 7, 0, 0]], 5, 7, channels=1)
    assert status.tolist() == [0]
    with Image.open(io.BytesIO(data)) as image:
        expected = image.crop((3, 2, 23, 12)).resize((7, 5), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(images[0, :, :, 0].numpy(), np.asarray(expected))


def test_colour_as_one_channel_is_left_to_pillow() -> None:
    data = photo(np.random.default_rng(0), 31, 17)
    images, status = decode([data], [[0, 0, 17, 31, 5, 7, 0, 0]], 5, 7, channels=1)
    assert _native.DECODE_STATUS[status[0]] == "not decoded natively"
    assert not images.any()


def test_a_batch_is_its_samples() -> None:
    """Threads share the work; each image is the one that comes out alone."""
    generator = np.random.default_rng(3)
    datas = [photo(generator, 40 + i, 30 + i) for i in range(17)]
    datas[5] = datas[5][:100]
    datas[9] = b"no picture"
    boxes = [[1, 2, 20, 25, 12, 14, 0, 0]] * 17
    images, status = decode(datas, boxes, 12, 14)
    words = [_native.DECODE_STATUS[s] for s in status.tolist()]
    assert words.count("ok") == 15
    assert words[9] == "no JPEG"
    assert words[5] != "ok"
    for i in (0, 5, 9, 16):
        alone, _ = decode([datas[i]], boxes[:1], 12, 14)
        assert torch.equal(images[i], alone[0])


def test_no_samples() -> None:
    images, status = decode([], [], 4, 5)
    assert images.shape == (0, 4, 5, 3)
    assert status.shape == (0,)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0, 0, 18, 31, 5, 7, 0, 0], "sample 0: the crop .*17 x 31"),
        ([-1, 0, 5, 5, 5, 7, 0, 0], "sample 0: the crop"),
        ([0, 0, 0, 5, 5, 7, 0, 0], "sample 0: the crop"),
        ([2**62, 0, 2**62, 5, 5, 7, 0, 0], "sample 0: the crop"),
        ([0, 0, 17, 31, 5, 7, 1, 0], "sample 0: the window .*5 x 7"),
    ],
)
def test_wrong_boxes(row: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode([photo(np.random.default_rng(0), 31, 17)], [row], 5, 7)


def test_wrong_arguments() -> None:
    row = [[0, 0, 1, 1, 1, 1, 0, 0]]
    with pytest.raises(ValueError, match="interpolation is 'cubic', expected nearest"):
        decode([b"x"], row, 1, 1, interpolation="cubic")
    with pytest.raises(ValueError, match="channels is 2, expected 1 or 3"):
        decode([b"x"], row, 1, 1, channels=2)
    with pytest.raises(ValueError, match="output size is 0 x 1"):
        decode([b"x"], row, 0, 1)
    with pytest.raises(IndexError, match=r"sample 0 .*lies outside of the arena"):
        _native.decode_crop_resize(
            torch.zeros(4, dtype=torch.uint8), torch.tensor([2]), torch.tensor([3]), torch.tensor(row), 1, 1
        )
