# SPDX-License-Identifier: Apache-2.0
"""Plans in plain Python: the text, and what torchvision's functions on PIL images make of it.

Random choices are drawn by docs/format.md section 5, written anew here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

DTYPES = (torch.uint8, torch.float32, torch.float16, torch.bfloat16)
FILTERS = (
    InterpolationMode.NEAREST,
    InterpolationMode.LANCZOS,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.BOX,
    InterpolationMode.HAMMING,
)
PAD_MODES = ("constant", "edge", "reflect", "symmetric")
MASK = 0xFFFFFFFF

Step = dict[str, Any]


def philox(seed: int, counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Philox4x32-10."""
    key = [seed & MASK, seed >> 32 & MASK]
    c = list(counter)
    for _ in range(10):
        product0, product1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [
            product1 >> 32 & MASK ^ c[1] ^ key[0],
            product1 & MASK,
            product0 >> 32 & MASK ^ c[3] ^ key[1],
            product0 & MASK,
        ]
        key = [key[0] + 0x9E3779B9 & MASK, key[1] + 0xBB67AE85 & MASK]
    return c[0], c[1], c[2], c[3]


def u(r: int) -> float:
    return (r >> 8) * 2.0**-24


def below(r: int, m: int) -> int:
    return (r * m) >> 32


def between(r: int, low: float, high: float) -> float:
    return low + u(r) * (high - low)


@dataclass
class Draws:
    """The random words of one sample."""

    seed: int
    epoch: int
    index: int
    occurrence: int = 0
    view: int = 0

    def __call__(self, op: int, draw: int) -> tuple[int, int, int, int]:
        second = self.index >> 32 & 0xFF | self.view << 8 | self.occurrence % 65536 << 16
        return philox(self.seed, (self.index & MASK, second, self.epoch, 0x80000000 | op << 16 | draw))

    def gate(self, step: Step) -> bool:
        return u(self(step["op"], 0)[0]) < step["p"]

    def sides(self, step: Step, draw: int, width: int, height: int) -> tuple[int, int, int, int]:
        """round(sqrt(area * a)), round(sqrt(area / a)), and two more words."""
        r = self(step["op"], draw)
        area = width * height * between(r[0], *step["scale"])
        a = math.exp(between(r[1], math.log(step["ratio"][0]), math.log(step["ratio"][1])))
        return round(math.sqrt(area * a)), round(math.sqrt(area / a)), r[2], r[3]


def encode(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(encode(part) for part in value)
    return value.hex() if isinstance(value, float) else str(int(value))


def line(name: str, keys: Step) -> str:
    return " ".join([name, *(f"{key}={encode(value)}" for key, value in keys.items())])


@dataclass
class PlanCase:
    """A plan as data: steps are dicts of a plan line's keys, with its name under "name"."""

    steps: list[Step] = field(default_factory=list)
    channels: int = 3
    dtype: int = 0
    layout: int = 0
    scale: int = 0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    erasing: Step | None = None
    source_channels: int = 3
    max_pixels: int = 0

    def text(self, height: int, width: int) -> str:
        source = {"channels": self.source_channels, "max_pixels": self.max_pixels, "pass_order": 2}
        lines = [line("source", source)]
        for step in self.steps:
            keys = {key: value for key, value in step.items() if key != "name"}
            lines.append(line(step["name"], keys))
        output = {"height": height, "width": width, "channels": self.channels}
        output |= {"dtype": self.dtype, "layout": self.layout, "scale": self.scale}
        if self.mean:
            output |= {"mean": self.mean, "std": self.std}
        lines.append(line("output", output))
        if self.erasing is not None:
            lines.append(line("erasing", self.erasing))
        return "\n".join(lines) + "\n"

    def pixels(self, image: Image.Image, draws: Draws) -> Image.Image:
        for step in self.steps:
            image = STEPS[step["name"]](image, step, draws)
        return image

    def values(self, image: Image.Image, draws: Draws) -> Tensor:
        """[C, H, W], as ToTensor or ToDtype, Normalize and RandomErasing give it."""
        values = F.pil_to_tensor(self.pixels(image, draws))
        if self.dtype:
            values = values.to(torch.float32)
            if self.scale == 1:
                values = values.div(255)
            elif self.scale == 2:
                values = values.mul(1.0 / 255.0)
            if self.mean:
                values = F.normalize(values, list(self.mean), list(self.std))
        values = values.to(DTYPES[self.dtype])
        return values if self.erasing is None else erase(values, self.erasing, draws)


def resized_crop(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    width, height = image.size
    size = [step["height"], step["width"]]
    mode = FILTERS[step["filter"]]
    for attempt in range(10):
        w, h, r2, r3 = draws.sides(step, attempt, width, height)
        if 0 < w <= width and 0 < h <= height:
            top, left = below(r2, height - h + 1), below(r3, width - w + 1)
            return F.resized_crop(image, top, left, h, w, size, mode)
    low, high = min(step["ratio"]), max(step["ratio"])
    w, h = width, height
    if width / height < low:
        h = round(w / low)
    elif width / height > high:
        w = round(h * high)
    return F.resized_crop(image, (height - h) // 2, (width - w) // 2, h, w, size, mode)


def resize(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    size = [step["height"], step["width"]] if step["width"] else [step["height"]]
    return F.resize(image, size, FILTERS[step["filter"]], max_size=step.get("max_size") or None)


def fill_of(step: Step) -> Any:
    fill = step.get("fill", 0)
    return fill[0] if isinstance(fill, tuple) and len(fill) == 1 else fill


def pad(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    return F.pad(image, list(step["padding"]), fill_of(step), PAD_MODES[step.get("pad_mode", 0)])


def random_crop(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    if "padding" in step:
        image = pad(image, step, draws)
    width, height = image.size
    if step.get("pad_if_needed"):
        if width < step["width"]:
            image = pad(image, step | {"padding": (step["width"] - width, 0)}, draws)
        if height < step["height"]:
            image = pad(image, step | {"padding": (0, step["height"] - height)}, draws)
    width, height = image.size
    if width < step["width"] or height < step["height"]:
        raise ValueError("too small")
    r = draws(step["op"], 0)
    top, left = below(r[0], height - step["height"] + 1), below(r[1], width - step["width"] + 1)
    return F.crop(image, top, left, step["height"], step["width"])


def color_jitter(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    names = ("brightness", "contrast", "saturation", "hue")
    order = [0, 1, 2, 3]
    r, f = draws(step["op"], 0), draws(step["op"], 1)
    for i in (3, 2, 1):
        j = below(r[3 - i], i + 1)
        order[i], order[j] = order[j], order[i]
    for i in order:
        if names[i] in step:
            factor = between(f[i], *step[names[i]])
            image = getattr(F, f"adjust_{names[i]}")(image, factor)
    return image


def random_grayscale(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    return F.rgb_to_grayscale(image, len(image.getbands())) if draws.gate(step) else image


def rotation(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    angle = between(draws(step["op"], 0)[0], *step["degrees"])
    center = list(step["center"]) if "center" in step else None
    return F.rotate(image, angle, FILTERS[step["filter"]], False, center, fill_of(step))


def gaussian_blur(image: Image.Image, step: Step, draws: Draws) -> Image.Image:
    sigma = between(draws(step["op"], 0)[0], *step["sigma"])
    return F.gaussian_blur(image, list(step["kernel"]), [sigma, sigma])


def normals(count: int, step: Step, draws: Draws) -> list[float]:
    """The per-value stream: Box-Muller on pairs of words."""
    words = draws(step["op"], 65535)
    seed = words[0] | words[1] << 32
    values: list[float] = []
    for k in range((count + 3) // 4):
        r = philox(seed, (k & MASK, k >> 32, 0, 0))
        for first, second in ((r[0], r[1]), (r[2], r[3])):
            radius = math.sqrt(-2.0 * math.log(1.0 - u(first)))
            angle = 2.0 * math.pi * u(second)
            values += [radius * math.cos(angle), radius * math.sin(angle)]
    return values[:count]


def erase(values: Tensor, step: Step, draws: Draws) -> Tensor:
    if not draws.gate(step):
        return values
    channels, height, width = values.shape
    for attempt in range(1, 11):
        h, w, r2, r3 = draws.sides(step, attempt, width, height)
        if h < height and w < width:
            top, left = below(r2, height - h + 1), below(r3, width - w + 1)
            if step.get("random"):
                patch = torch.tensor(normals(channels * h * w, step, draws)).reshape(channels, h, w)
            else:
                given = step["value"] if isinstance(step["value"], tuple) else (step["value"],)
                patch = torch.tensor(given, dtype=torch.float32)[:, None, None]
            return F.erase(values, top, left, h, w, patch)
    return values


STEPS = {
    "resized_crop": resized_crop,
    "resize": resize,
    "center_crop": lambda image, step, draws: F.center_crop(image, [step["height"], step["width"]]),
    "random_crop": random_crop,
    "pad": pad,
    "horizontal_flip": lambda image, step, draws: F.hflip(image) if draws.gate(step) else image,
    "vertical_flip": lambda image, step, draws: F.vflip(image) if draws.gate(step) else image,
    "color_jitter": color_jitter,
    "grayscale": lambda image, step, draws: F.to_grayscale(image, step["channels"]),
    "random_grayscale": random_grayscale,
    "rotation": rotation,
    "autocontrast": lambda image, step, draws: F.autocontrast(image) if draws.gate(step) else image,
    "gaussian_blur": gaussian_blur,
}
