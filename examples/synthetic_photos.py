# SPDX-License-Identifier: Apache-2.0
"""Make a small folder of photo-like JPEGs without downloading anything.

They are no photographs: clouds of noise with a photograph's spectrum, a shape and a
colour that tell the class. Decoding one costs about what a photograph of that size
costs. The same arguments and Pillow version give the same bytes.
"""

from __future__ import annotations

import os
import pathlib
import shutil

import numpy as np
from PIL import Image, ImageDraw

CLASSES = ("blue_disc", "green_square", "orange_bars", "pink_ring", "red_triangle", "white_cross")
COLORS = ((40, 80, 220), (50, 170, 70), (240, 150, 30), (240, 110, 180), (210, 40, 40), (235, 235, 235))
SIZES = ((500, 375), (500, 333), (375, 500), (640, 427))


def clouds(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    """float32 [height, width, 3] around 0: octaves of noise, finer ones weaker."""
    total = np.zeros((height, width, 3), np.float32)
    for cells, weight in ((3, 70.0), (9, 35.0), (30, 16.0), (150, 12.0)):
        shape = (cells * height // width + 2, cells + 2)
        # Mostly light and dark, less colour: so do photographs, and JPEG counts on it.
        grid = rng.standard_normal((*shape, 1), np.float32) + 0.4 * rng.standard_normal(
            (*shape, 3), np.float32
        )
        for channel in range(3):
            layer = Image.fromarray(grid[..., channel]).resize((width, height), Image.Resampling.BICUBIC)
            total[..., channel] += weight * np.asarray(layer)
    total += 6.0 * rng.standard_normal((height, width, 1), np.float32)  # the sensor's noise
    return total


def draw_shape(mask: Image.Image, label: int, box: tuple[int, int, int, int]) -> None:
    """Draws the shape of class `label` into an 8-bit mask."""
    draw = ImageDraw.Draw(mask)
    left, top, right, bottom = box
    third = (right - left) // 3
    if label == 0:
        draw.ellipse(box, fill=255)
    elif label == 1:
        draw.rectangle(box, fill=255)
    elif label == 2:
        for x in range(left, right, max(2, third // 2)):
            draw.rectangle((x, top, x + max(1, third // 4), bottom), fill=255)
    elif label == 3:
        draw.ellipse(box, outline=255, width=max(1, third // 2))
    elif label == 4:
        draw.polygon(((left, bottom), (right, bottom), ((left + right) // 2, top)), fill=255)
    else:
        draw.rectangle((left + third, top, right - third, bottom), fill=255)
        draw.rectangle((left, top + third, right, bottom - third), fill=255)


def make_photo(index: int, label: int, seed: int) -> Image.Image:
    """Picture `index`: everything random about it comes from (seed, index)."""
    rng = np.random.Generator(np.random.Philox(key=[seed, index]))
    width, height = SIZES[int(rng.integers(len(SIZES)))]
    side = int(min(width, height) * rng.uniform(0.35, 0.75))
    left, top = int(rng.integers(width - side)), int(rng.integers(height - side))
    mask = Image.new("L", (width, height))
    draw_shape(mask, label, (left, top, left + side, top + side))
    inside = np.asarray(mask, np.float32)[..., None] / 255
    background = rng.uniform(60, 190, size=3).astype(np.float32)
    base = inside * np.array(COLORS[label], np.float32) + (1 - inside) * background
    pixels = np.clip(base + clouds(rng, width, height) * (1 - 0.6 * inside), 0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def make_folder(folder: str | os.PathLike[str], count: int, num_classes: int = 6, seed: int = 0) -> None:
    """Fills `folder` with `count` JPEGs in class folders, all or nothing.

    A folder that is already there is kept as it is.
    """
    target = pathlib.Path(folder)
    if target.exists():
        return
    if not 1 <= num_classes <= len(CLASSES) or count < num_classes:
        raise ValueError(f"need 1 to {len(CLASSES)} classes and a picture for each: {num_classes=}, {count=}")
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for index in range(count):
        label = index % num_classes
        class_folder = partial / CLASSES[label]
        class_folder.mkdir(parents=True, exist_ok=True)
        make_photo(index, label, seed).save(class_folder / f"{index:05d}.jpg", quality=92)
    partial.rename(target)
