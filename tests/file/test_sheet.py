# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from PIL import Image, ImageFont

from torch_dts.file._sheet import Tile, _Writer, check_sheet_size, draw_sheet, fit

GAP = 8


def solid(color, size=(40, 20)):
    return Image.new("RGB", size, color)


def places(sheet, tile_size, columns, count):
    """The square of each tile, without its caption."""
    line = sheet.height // -(-count // columns) - tile_size - GAP
    for i in range(count):
        left = GAP + i % columns * (tile_size + GAP)
        top = GAP + i // columns * (tile_size + GAP + line)
        yield sheet.crop((left, top, left + tile_size, top + tile_size))


def test_pictures_lie_row_by_row():
    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (9, 9, 9), (0, 99, 0)]
    sheet = draw_sheet((Tile(solid(color), "") for color in colors), 5, 3, 64)
    for square, color in zip(places(sheet, 64, 3, 5), colors, strict=True):
        assert square.getpixel((32, 32)) == color
        assert square.getpixel((32, 2)) == (255, 255, 255)  # wide pictures leave room above and below


def test_captions_are_drawn_and_cut():
    def below(caption):
        sheet = draw_sheet([Tile(solid((0, 0, 255), (64, 64)), caption)], 1, 4, 64)
        return np.asarray(sheet.crop((GAP, GAP + 64, sheet.width, sheet.height)).convert("L"))

    assert below("").min() == 255
    assert below("cat").min() < 100
    long = below("a very long name of a class, much longer than the picture")
    assert (long[:, 64:] == 255).all()
    assert long[:, 40:64].min() < 150


def test_a_bad_sample_is_marked():
    sheet = draw_sheet([Tile(None, "cat", "sample 3: broken " * 30), Tile(solid((0, 0, 0)), "")], 2, 2, 100)
    bad, good = places(sheet, 100, 2, 2)
    colors = {color for _, color in bad.getcolors(10000)}
    assert (200, 0, 0) in colors
    assert (250, 225, 225) in colors
    assert (200, 0, 0) not in {color for _, color in good.getcolors(10000)}


@pytest.mark.parametrize(
    ("size", "expected"),
    [((400, 200), (100, 50)), ((40, 30), (80, 60)), ((100, 60), (100, 60)), ((1000, 1), (100, 1))],
)
def test_fit(size, expected):
    assert fit(Image.new("L", size), 100).size == expected


def test_small_pictures_keep_their_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    large = np.asarray(fit(Image.fromarray(pixels), 100))
    assert (large == pixels.repeat(3, 0).repeat(3, 1)).all()


def test_characters_the_font_lacks_are_written_as_escapes():
    writer = _Writer(12)
    assert writer._printable("cat 7_-") == "cat 7_-"
    assert writer._printable("caf\u00e9") in ("caf\u00e9", "cafe")
    assert writer._printable("\u732bx\udcff") == "\\u732bx\\xff"
    draw_sheet([Tile(solid((0, 0, 0)), "\u732b\n\udcff\U0001f408")], 1, 1, 64)


def test_a_font_with_latin_letters_only(monkeypatch):
    font = ImageFont.load_default_imagefont()
    monkeypatch.setattr(ImageFont, "load_default", lambda size=None: font)
    assert _Writer(12)._printable("caf\u00e9 \u732b") == "caf\u00e9 \\u732b"
    draw_sheet([Tile(solid((0, 0, 0)), "\u732b"), Tile(None, "", "\u732b is broken")], 2, 2, 64)


def test_sheets_too_large():
    check_sheet_size(48, 8, 160)
    with pytest.raises(ValueError, match=r"a sheet of 1 columns and 1000 rows .* fewer or smaller pictures"):
        check_sheet_size(1000, 1, 160)
    with pytest.raises(ValueError, match="expected at most 134217728"):
        check_sheet_size(400, 20, 10_000)
