# SPDX-License-Identifier: Apache-2.0
"""A contact sheet: pictures in a grid, each with a line of text below it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from torch_dts._paths import display

_GAP = 8  # pixels between tiles
_BACKGROUND = (255, 255, 255)
_TEXT = (0, 0, 0)
_MARK = (200, 0, 0)
_MARK_GROUND = (250, 225, 225)
_NOWHERE = "\uffff"  # no font has it: its picture is the one for missing characters
MOST_PIXELS = 1 << 27  # of a sheet; Pillow refuses to open much larger ones


@dataclass(frozen=True)
class Tile:
    """One place of a sheet.

    Attributes:
        image: Mode RGB; None: there is no picture, and `problem` says why.
        caption: Below the picture; cut where it is too long.
        problem: Written where the picture would be.
    """

    image: Image.Image | None
    caption: str
    problem: str = ""


def check_sheet_size(num_tiles: int, num_columns: int, tile_size: int) -> None:
    """Refuses a sheet that no memory should be spent on.

    Raises:
        ValueError: More pixels than MOST_PIXELS.
    """
    num_rows = -(-num_tiles // num_columns)
    width, height = num_columns * (tile_size + _GAP), num_rows * (tile_size + _GAP + tile_size // 4)
    if width * height > MOST_PIXELS or max(width, height) > 65000:
        raise ValueError(
            f"a sheet of {num_columns} columns and {num_rows} rows of pictures of {tile_size} pixels would "
            f"have about {width} x {height} pixels, expected at most {MOST_PIXELS}, and 65000 a side: "
            "take fewer or smaller pictures"
        )


def fit(image: Image.Image, tile_size: int) -> Image.Image:
    """The picture in mode RGB as large as fits into a square of `tile_size` pixels.

    Larger ones become smaller; those under half the size are enlarged by a whole number, so
    that their pixels stay as they are.
    """
    rgb = image.convert("RGB")
    longest = max(rgb.size)
    if longest > tile_size:
        scale = tile_size / longest
        size = (max(1, round(rgb.width * scale)), max(1, round(rgb.height * scale)))
        return rgb.resize(size, Image.Resampling.BOX, reducing_gap=2.0)
    times = max(1, tile_size // max(1, longest))
    return rgb.resize((rgb.width * times, rgb.height * times), Image.Resampling.NEAREST)


def draw_sheet(tiles: Iterable[Tile], num_tiles: int, num_columns: int, tile_size: int) -> Image.Image:
    """Draws tiles row by row.

    Args:
        tiles: `num_tiles` of them; each picture is let go once it is drawn.
        num_columns: Tiles a row.
        tile_size: Side of a picture's square, in pixels.

    Returns:
        A picture in mode RGB.
    """
    writer = _Writer(max(10, tile_size // 12))
    step_x, step_y = tile_size + _GAP, tile_size + _GAP + writer.line_height
    num_columns = max(1, min(num_columns, num_tiles))
    num_rows = max(1, -(-num_tiles // num_columns))
    sheet = Image.new("RGB", (_GAP + num_columns * step_x, _GAP + num_rows * step_y), _BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    for number, tile in enumerate(tiles):
        left = _GAP + number % num_columns * step_x
        top = _GAP + number // num_columns * step_y
        if tile.image is None:
            _draw_problem(draw, writer, tile.problem, left, top, tile_size)
        else:
            image = fit(tile.image, tile_size)
            sheet.paste(image, (left + (tile_size - image.width) // 2, top + (tile_size - image.height) // 2))
        writer.write(draw, (left, top + tile_size + 1), tile.caption, tile_size, _TEXT)
    return sheet


def _draw_problem(
    draw: ImageDraw.ImageDraw, writer: _Writer, problem: str, left: int, top: int, size: int
) -> None:
    right, bottom = left + size - 1, top + size - 1
    draw.rectangle((left, top, right, bottom), fill=_MARK_GROUND, outline=_MARK, width=2)
    draw.line((left, top, right, bottom), fill=_MARK, width=2)
    draw.line((left, bottom, right, top), fill=_MARK, width=2)
    words = problem.split()
    y = top + 4
    while words and y + writer.line_height < bottom:
        count = 1
        while count < len(words) and writer.width(" ".join(words[: count + 1])) <= size - 8:
            count += 1
        writer.write(draw, (left + 4, y), " ".join(words[:count]), size - 8, _MARK)
        words = words[count:]
        y += writer.line_height


class _Writer:
    """Writes lines in Pillow's own font, whatever characters they hold."""

    def __init__(self, font_size: int) -> None:
        self._font = ImageFont.load_default(font_size)
        _, top, _, bottom = self._font.getbbox("Ágjy|")
        self.line_height = int(bottom - min(0, top)) + 2
        self._known: dict[str, str] = {}
        self._missing = self._picture(_NOWHERE)

    def width(self, text: str) -> float:
        return float(self._font.getlength(self._printable(text)))

    def write(
        self,
        draw: ImageDraw.ImageDraw,
        place: tuple[int, int],
        text: str,
        width: int,
        color: tuple[int, int, int],
    ) -> None:
        """Writes one line from `place` (left, top), cut with "..." where it is wider than `width`."""
        text = self._printable(text)
        if self._font.getlength(text) > width:
            while text and self._font.getlength(text + "...") > width:
                text = text[:-1]
            text += "..."
        draw.text(place, text, fill=color, font=self._font)

    def _printable(self, text: str) -> str:
        """The text with letters that the font lacks without their accents, or written as escapes."""
        return "".join(self._character(c) for c in display(text))

    def _character(self, c: str) -> str:
        if c not in self._known:
            picture = self._picture(c)
            is_missing = picture is None or (picture == self._missing and not c.isspace())
            self._known[c] = _in_ascii(c) if is_missing else c
        return self._known[c]

    def _picture(self, c: str) -> bytes | None:
        """The character as the font draws it; None where it can't."""
        try:
            mask = self._font.getmask(c)
        except (UnicodeError, OSError, ValueError):
            return None
        return bytes(mask)


def _in_ascii(c: str) -> str:
    letters = unicodedata.normalize("NFKD", c).encode("ascii", "ignore").decode()
    return letters if letters.strip() else c.encode("ascii", "backslashreplace").decode()
