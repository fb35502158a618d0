# SPDX-License-Identifier: Apache-2.0
"""Photos, transforms and comparisons for the tests of backends."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torchvision import transforms

import torch_dts

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NUM_PHOTOS = 27
# Number of a photo: what is special about it. The last four aren't for DALI.
KINDS: dict[int, dict[str, Any]] = {
    4: {"progressive": True},
    7: {"subsampling": "4:4:4"},
    9: {"subsampling": "4:2:2"},
    11: {"mode": "L"},
    5: {"mode": "CMYK"},
    13: {"format": "PNG"},
    17: {"mode": "CMYK"},
    18: {"format": "PNG"},
}
NUM_CMYK, NUM_PNG = 2, 2

TRAIN = [transforms.RandomResizedCrop(48), transforms.RandomHorizontalFlip()]
TENSOR = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
RANDOM = transforms.Compose([*TRAIN, *TENSOR])
FIXED = transforms.Compose([transforms.Resize(56), transforms.CenterCrop(48), *TENSOR])


def photo(number: int) -> Image.Image:
    """A soft noisy image of 60 to 120 pixels; no two numbers alike."""
    random = np.random.default_rng(number)
    coarse = random.integers(0, 256, (6, 7, 3), dtype=np.uint8)
    size = (60 + 11 * (number % 6), 64 + 8 * (number % 7))
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def encoded(number: int, mode: str = "RGB", format: str = "JPEG", **how: Any) -> bytes:
    """A photo as a file."""
    buffer = io.BytesIO()
    quality = {"quality": 92} if format == "JPEG" else {}
    photo(number).convert(mode).save(buffer, format, **quality, **how)
    return buffer.getvalue()


def save_all(root: pathlib.Path) -> pathlib.Path:
    """Writes all photos into class folders."""
    for number in range(NUM_PHOTOS):
        folder = root / ("cat", "dog", "owl")[number % 3]
        folder.mkdir(exist_ok=True)
        (folder / f"{number:02}.jpg").write_bytes(encoded(number, **KINDS.get(number, {})))
    return root


def with_bad_tables(data: bytes) -> bytes:
    """The JPEG with a Huffman table that can't be, behind a header that is whole."""
    changed = bytearray(data)
    at = 2
    while changed[at + 1] != 0xC4:
        at += 2 + changed[at + 2] * 256 + changed[at + 3]
    changed[at + 5 : at + 21] = bytes([255] * 16)
    return bytes(changed)


def batches_of(dataset: Any, backend: str, epochs: int = 1, **how: Any) -> list[list[Any]]:
    """Each batch of some epochs, as copies; 2 threads, batches of 5 and a seed unless said otherwise."""
    how = {"batch_size": 5, "num_workers": 2, "seed": 11, "shuffle": True, **how}
    loader = torch_dts.DataLoader(dataset, backend=backend, **how)
    found = [[part.clone() for part in batch] for _ in range(epochs) for batch in loader]
    loader.close()
    return found


def levels(images: Tensor, mean: list[float] = MEAN, std: list[float] = STD) -> Tensor:
    """Normalised images as values 0 to 255."""
    columns = (torch.tensor(values).view(1, 3, 1, 1) for values in (std, mean))
    scale, shift = columns
    return (images.float() * scale + shift) * 255


def check_close(found: Tensor, exact: Tensor, rounding: float = 0.02) -> None:
    """What docs/gpu.md promises about DALI's pixels, in levels of 0 to 255."""
    assert found.shape == exact.shape
    difference = (found - exact).abs()
    assert difference[:, :, 2:-2, 2:-2].max() <= 1 + rounding
    assert difference.max() <= 10 + rounding
    assert difference.mean() <= 0.2 + rounding


def check_batches(found: list[list[Any]], exact: list[list[Any]], **how: Any) -> None:
    """Equal labels, and whatever comes behind them, and images that are close."""
    assert len(found) == len(exact)
    for one, other in zip(found, exact, strict=True):
        assert one[0].dtype == other[0].dtype
        assert one[0].stride() == other[0].stride()
        for part, expected in zip(one[1:], other[1:], strict=True):
            assert torch.equal(part, expected)
    check_close(
        levels(torch.cat([batch[0] for batch in found])),
        levels(torch.cat([batch[0] for batch in exact])),
        **how,
    )
