# SPDX-License-Identifier: Apache-2.0
"""Items of map-style data sets."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image

from torch_dts.convert._items import extension_of, image_bytes, read_item


def jpeg(size: tuple[int, int] = (24, 16), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 60).convert(mode).save(out, "JPEG")
    return out.getvalue()


def rgb(data: bytes) -> bytes:
    return Image.open(io.BytesIO(data)).convert("RGB").tobytes()


@pytest.mark.parametrize("path", ["a/b.jpg", pathlib.Path("a/b.jpg")])
def test_paths(path: str | pathlib.Path) -> None:
    assert read_item((path, 3), "x") == ("a/b.jpg", b"", 3)


@pytest.mark.parametrize(
    "data",
    [
        b"\1\2\3",
        bytearray(b"\1\2\3"),
        memoryview(b"\1\2\3"),
        memoryview(b"\1\0\2\0\3")[::2],
        torch.tensor([1, 2, 3], dtype=torch.uint8),
        torch.tensor([1, 0, 2, 0, 3], dtype=torch.uint8)[::2],
        np.array([1, 2, 3], dtype=np.uint8),
    ],
)
def test_encoded_bytes(data: object) -> None:
    path, encoded, label = read_item([data, 0], "x")
    assert (path, bytes(encoded), label) == ("", b"\1\2\3", 0)


@pytest.mark.parametrize("label", [7, np.int64(7), np.uint8(7), torch.tensor(7), np.array(7)])
def test_class_numbers(label: object) -> None:
    number = read_item(("x", label), "x")[2]
    assert number == 7
    assert type(number) is int


def test_an_image_as_opened_keeps_its_file(tmp_path: pathlib.Path) -> None:
    data = jpeg() + b"trailing bytes"
    (tmp_path / "x.jpg").write_bytes(data)
    image = Image.open(tmp_path / "x.jpg")
    assert image_bytes(image, "x") == data
    # and is as fresh as before
    assert image_bytes(image, "x") == data
    assert image.convert("RGB").tobytes() == rgb(data)
    assert image_bytes(Image.open(io.BytesIO(data)), "x") == data


@pytest.mark.parametrize("change", ["load", "convert", "draft", "edit", "crop"])
def test_an_image_that_is_not_as_opened_becomes_png(change: str) -> None:
    image: Image.Image = Image.open(io.BytesIO(jpeg((64, 48))))
    if change == "load":
        image.load()
    elif change == "convert":
        image = image.convert("L")
    elif change == "draft":
        image.draft("RGB", (16, 12))
    elif change == "edit":
        image.putpixel((0, 0), (1, 2, 3))
    else:
        image = image.crop((1, 1, 9, 9))
    expected = image.copy()
    stored = Image.open(io.BytesIO(image_bytes(image, "x")))
    assert stored.format == "PNG"
    assert (stored.mode, stored.size) == (expected.mode, expected.size)
    assert stored.tobytes() == expected.tobytes()


def test_a_later_frame_is_not_the_file() -> None:
    out = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:])
    image = Image.open(io.BytesIO(out.getvalue()))
    image.seek(1)
    assert rgb(image_bytes(image, "x")) == frames[1].tobytes()


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "I;16", "I", "F"]
)
def test_every_mode_decodes_to_what_the_loader_gives(mode: str) -> None:
    base = Image.effect_noise((9, 7), 80)
    if mode == "I;16":
        image = Image.fromarray(np.asarray(base).astype(np.uint16) * 3)
    elif mode in ("LA", "RGBA"):
        image = base.convert(mode)
        image.putalpha(base)
    else:
        image = base.convert(mode)
    assert image.mode == mode
    assert rgb(image_bytes(image, "x")) == image.convert("RGB").tobytes()


def test_png_is_deterministic() -> None:
    image = Image.effect_noise((30, 20), 50)
    assert image_bytes(image, "x") == image_bytes(image.copy(), "x")


def test_an_image_without_pixels() -> None:
    with pytest.raises((ValueError, OSError), match=r"set\[3\]: Image of mode RGB, 0 x 5 can't be stored"):
        image_bytes(Image.new("RGB", (0, 5)), "set[3]")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, r"set\[5\] must be \(image, class number\), found int 3"),
        (("x", 1, 2), r"must be \(image, class number\), found tuple of 3: \(str, int, int\)"),
        ({"image": 1}, r"must be \(image, class number\), found dict"),
        (("x", 1.5), r"class number must be an int, found float 1.5"),
        (("x", None), r"class number must be an int, found NoneType None"),
        (("x", torch.tensor([1])), r"class number must be an int, found Tensor of shape \(1,\), torch.int64"),
        (("x", torch.tensor(1.0)), r"class number must be an int, found Tensor of shape \(\), torch.float32"),
        ((torch.zeros(3, 4, 5), 0), r"found Tensor of shape \(3, 4, 5\), torch.float32.*transform"),
        ((np.zeros((4, 5, 3), np.uint8), 0), r"found ndarray of shape \(4, 5, 3\), uint8"),
        ((None, 0), r"set\[5\]: the image must be a path, encoded bytes .* found NoneType None"),
    ],
)
def test_items_of_another_kind(item: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        read_item(item, "set[5]")


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(ValueError, match=r"set\[5\]: .* is not the path of a file"):
        read_item((path, 0), "set[5]")


@pytest.mark.parametrize(
    ("image_format", "extension"),
    [("JPEG", ".jpg"), ("PNG", ".png"), ("BMP", ".bmp"), ("GIF", ".gif"), ("TIFF", ".tif"), ("PPM", ".ppm"),
     ("WEBP", ".webp")],
)  # fmt: skip
def test_extension_by_content(image_format: str, extension: str) -> None:
    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, image_format)
    assert extension_of(out.getvalue()) == extension


def test_extension_of_unknown_content() -> None:
    assert extension_of(b"") == ".img"
    assert extension_of(b"RIFF....WAVE") == ".img"
