# SPDX-License-Identifier: Apache-2.0
"""Pictures, the draws of docs/format.md section 5 in numpy, and tests of distributions."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

Pictures = list[bytes]


def encode(pixels: Any, form: str = "PNG", **how: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **how)
    return out.getvalue()


def open_rgb(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def smooth(generator: np.random.Generator, width: int, height: int, channels: int = 3) -> Any:
    """uint8 [H, W, 3], or [H, W] for one channel: colours that run into each other."""
    shape = (4, 5) if channels == 1 else (4, 5, channels)
    coarse = Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8))
    return np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))


@pytest.fixture
def pictures() -> Callable[..., Pictures]:
    """Factory: pictures(count, seed=0, low=1, high=120): JPEG, gray JPEG, PNG, noise of any size."""

    def make(count: int, seed: int = 0, low: int = 1, high: int = 120) -> Pictures:
        generator = np.random.default_rng(seed)
        datas = []
        for i in range(count):
            width, height = (int(side) for side in generator.integers(low, high, 2))
            if i % 4 == 3:
                datas.append(encode(generator.integers(0, 256, (height, width, 3), dtype=np.uint8)))
            else:
                pixels = smooth(generator, width, height, 1 if i % 4 == 1 else 3)
                datas.append(encode(pixels, "PNG" if i % 4 == 2 else "JPEG"))
        return datas

    return make


@pytest.fixture
def opened() -> Callable[[bytes], Image.Image]:
    """opened(data): Pillow's picture in mode RGB."""
    return open_rgb


@pytest.fixture
def on_pil() -> Callable[..., Tensor]:
    """on_pil(transform, pictures): the batch that the transform itself makes."""

    def run(transform: Any, datas: Pictures) -> Tensor:
        return torch.stack([transform(open_rgb(data)).as_subclass(Tensor) for data in datas])

    return run


def philox(key: int, counter: Sequence[Any]) -> list[Any]:
    """Philox4x32-10: four uint32 arrays for one key and four words of counters."""
    mask = np.uint64(0xFFFFFFFF)
    words = [np.asarray(word, dtype=np.uint64) for word in counter]
    keys = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
        words = [
            second >> np.uint64(32) ^ words[1] ^ np.uint64(keys[0]),
            second & mask,
            first >> np.uint64(32) ^ words[3] ^ np.uint64(keys[1]),
            first & mask,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


class Draws:
    """Random choices about samples, in the words of docs/format.md section 5."""

    def __init__(self, indices: Any, seed: int = 0, epoch: int = 0) -> None:
        self.indices = np.asarray(indices, dtype=np.uint64)
        self.seed = seed
        self.epoch = epoch

    @staticmethod
    def normals(key: int, count: int) -> Any:
        """The stream of an operation that needs a value per pixel: Box-Muller of Philox's words."""
        words = philox(key, [np.arange((count + 3) // 4), 0, 0, 0])
        uniform = [(word >> np.uint64(8)).astype(np.float64) * 2.0**-24 for word in words]
        pairs = []
        for first, second in ((uniform[0], uniform[1]), (uniform[2], uniform[3])):
            radius = np.sqrt(-2 * np.log(1 - first))
            pairs += [radius * np.cos(2 * np.pi * second), radius * np.sin(2 * np.pi * second)]
        return np.stack(pairs, axis=1).flatten()[:count].astype(np.float32)

    def words(self, op: int, draw: int = 0) -> list[Any]:
        counter = (self.indices & np.uint64(0xFFFFFFFF), self.indices >> np.uint64(32) & np.uint64(0xFF))
        return philox(self.seed, [*counter, self.epoch, 0x80000000 | op << 16 | draw])

    def uniform(self, op: int, draw: int = 0, word: int = 0) -> Any:
        return (self.words(op, draw)[word] >> np.uint64(8)).astype(np.float64) * 2.0**-24

    def below(self, op: int, bound: int, word: int, draw: int = 0) -> Any:
        return (self.words(op, draw)[word] * np.uint64(bound) >> np.uint64(32)).astype(np.int64)

    def gates(self, op: int, p: float) -> list[bool]:
        return list(self.uniform(op) < p)

    def between(self, op: int, low: float, high: float, draw: int = 0, word: int = 0) -> Any:
        return low + self.uniform(op, draw, word) * (high - low)

    def crops(self, op: int, size: tuple[int, int], crop: tuple[int, int]) -> list[tuple[int, int]]:
        """(top, left) of RandomCrop; sizes are (height, width)."""
        tops = self.below(op, size[0] - crop[0] + 1, 0)
        return list(zip(tops.tolist(), self.below(op, size[1] - crop[1] + 1, 1).tolist(), strict=True))

    def boxes(
        self,
        op: int,
        sizes: Sequence[tuple[int, int]],
        scale: tuple[float, float],
        ratio: tuple[float, float],
        erasing: bool = False,
    ) -> list[tuple[int, int, int, int]]:
        """(top, left, height, width) of RandomResizedCrop, or of RandomErasing without its gate."""
        first = 1 if erasing else 0
        attempts = [
            (
                self.between(op, *scale, draw, 0),
                np.exp(self.between(op, math.log(ratio[0]), math.log(ratio[1]), draw, 1)),
                self.words(op, draw),
            )
            for draw in range(first, first + 10)
        ]
        return [self._box(i, size, ratio, attempts, erasing) for i, size in enumerate(sizes)]

    @staticmethod
    def _box(
        i: int, size: tuple[int, int], ratio: tuple[float, float], attempts: list[Any], erasing: bool
    ) -> tuple[int, int, int, int]:
        height, width = size
        for area_part, aspect, words in attempts:
            area = height * width * float(area_part[i])
            along, across = round(math.sqrt(area * aspect[i])), round(math.sqrt(area / aspect[i]))
            h, w = (along, across) if erasing else (across, along)
            fits = h < height and w < width if erasing else 0 < w <= width and 0 < h <= height
            if fits:
                top = int(words[2][i]) * (height - h + 1) >> 32
                return top, int(words[3][i]) * (width - w + 1) >> 32, h, w
        if erasing:
            return 0, 0, 0, 0
        h, w = height, width
        if width / height < ratio[0]:
            h = round(width / ratio[0])
        elif width / height > ratio[1]:
            w = round(height * ratio[1])
        return (height - h) // 2, (width - w) // 2, h, w


@pytest.fixture
def draws() -> type[Draws]:
    """Draws(indices, seed=0, epoch=0): what native code draws for them."""
    return Draws


def kolmogorov(distance: float, size: float) -> float:
    """P of a greater distance of two distribution functions that are the same."""
    x = (math.sqrt(size) + 0.12 + 0.11 / math.sqrt(size)) * distance
    if x < 0.2:  # the sum has not converged there; the probability differs from 1 by less than 1e-12
        return 1.0
    return min(1.0, max(0.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))))


class Statistics:
    """p-values, near 0 where the data speak against the assumption."""

    @staticmethod
    def same(first: Any, second: Any) -> float:
        """Of the assumption that two samples have one distribution (Kolmogorov-Smirnov)."""
        first, second = np.sort(first), np.sort(second)
        both = np.concatenate([first, second])
        parts = [np.searchsorted(values, both, side="right") / len(values) for values in (first, second)]
        size = len(first) * len(second) / (len(first) + len(second))
        return kolmogorov(float(np.abs(parts[0] - parts[1]).max()), size)

    @staticmethod
    def uniform(values: Any) -> float:
        """Of the assumption that values are uniform on [0, 1]."""
        values = np.sort(values)
        ranks = np.arange(len(values) + 1) / len(values)
        distance = max((ranks[1:] - values).max(), (values - ranks[:-1]).max())
        return kolmogorov(float(distance), len(values))

    @staticmethod
    def counts(found: Any, expected: Any) -> float:
        """Of the assumption that counts have these expectations (chi square)."""
        found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
        square = float(((found - expected) ** 2 / expected).sum())
        freedom = torch.tensor((len(found) - 1) / 2, dtype=torch.float64)
        return float(torch.special.gammaincc(freedom, torch.tensor(square / 2, dtype=torch.float64)))


@pytest.fixture
def statistics() -> type[Statistics]:
    return Statistics


@pytest.fixture
def on_gray() -> Callable[..., Tensor]:
    """on_gray(transform, pixels [n, H, W]): the batch of the transform over PIL images of mode L."""

    def run(transform: Any, pixels: Any) -> Tensor:
        return torch.stack([transform(Image.fromarray(image)).as_subclass(Tensor) for image in pixels])

    return run
