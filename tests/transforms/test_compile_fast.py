# SPDX-License-Identifier: Apache-2.0
"""decode="fast": the same crops, pixels within bounds, exact ones where nothing is decoded smaller."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2

from torch_dts.transforms import Views, compile

CROP = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage()])


def smooth(width: int, height: int) -> Image.Image:
    """Colours that say where a pixel stands: red from left to right, green from above, waves in blue."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    waves = 128 + 60 * np.sin(x / 9) * np.cos(y / 7)
    pixels = np.stack([230 * x / width + 10, 230 * y / height + 10, waves], -1)
    return Image.fromarray(pixels.round().astype(np.uint8))


def encoded(image: Image.Image, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, **{"format": "JPEG", "quality": 92, **options})  # type: ignore[arg-type]
    return out.getvalue()


def kinds_of(image: Image.Image) -> dict[str, bytes]:
    return {
        "4:2:0": encoded(image, subsampling=2),
        "4:2:2": encoded(image, subsampling=1),
        "4:4:4": encoded(image, subsampling=0),
        "gray": encoded(image.convert("L")),
        "restart markers": encoded(image, restart_marker_blocks=3),
        "progressive": encoded(image, progressive=True),
        "CMYK": encoded(image.convert("CMYK")),
    }


def apart(samples: list[bytes], transform: v2.Transform, seed: int = 0) -> Tensor:
    """Absolute differences, fast against exact."""
    exact = compile(transform)(samples, seed=seed)
    fast = compile(transform, decode="fast")(samples, seed=seed)
    return (exact.int() - fast.int()).abs()


@pytest.mark.parametrize("decoder", ["auto", "libjpeg"])
def test_pixels_are_not_shifted(decoder: str) -> None:
    """Red and green change by a level every two pixels and less, so that half a pixel of a crop shows."""
    samples = list(kinds_of(smooth(331, 259)).values()) * 8
    exact = compile(CROP, decoder=decoder)(samples, seed=2)
    fast = compile(CROP, decoder=decoder, decode="fast")(samples, seed=2)
    signed = (fast.int() - exact.int())[:, :, 2:-2, 2:-2].float()
    assert int((signed.flatten(1).abs().amax(1) > 0).sum()) > 40
    assert float(signed[:, :2].flatten(2).mean(2).abs().max()) < 0.6
    assert float(signed.abs().mean()) < 0.7
    assert int(signed.abs().max()) <= 22


def test_bounds_for_noise_and_edges() -> None:
    """The hardest pictures there are: what docs/loader.md says of photos does not hold, this does."""
    random = np.random.default_rng(0)
    noise = Image.fromarray(random.integers(0, 256, (240, 320, 3), dtype=np.uint8))
    y, x = np.mgrid[:240, :320]
    board = Image.fromarray((((x // 5 + y // 5) % 2) * 255).astype(np.uint8)).convert("RGB")
    for image, mean, largest in ((noise, 9.0, 70), (board, 12.0, 110)):
        found = apart([encoded(image, subsampling=2), encoded(image, subsampling=0)] * 6, CROP).float()
        assert 0.5 < float(found.mean()) < mean
        assert float(found.max()) <= largest


def test_a_resize_of_all_and_a_window_of_it() -> None:
    transform = v2.Compose([v2.Resize(60), v2.CenterCrop(41), v2.ToImage()])
    for name, data in kinds_of(smooth(331, 259)).items():
        found = apart([data], transform).float()
        assert 0 < float(found.max()) <= (14 if name == "4:2:2" else 6), name
        assert float(found.mean()) < (1.5 if name == "4:2:2" else 0.8), name


@pytest.mark.parametrize(
    "transform",
    [
        v2.Compose([v2.Resize(150), v2.ToImage()]),  # 259 rows are no 300
        v2.Compose([v2.CenterCrop(50), v2.ToImage()]),
        v2.Compose([v2.Resize(40, interpolation=InterpolationMode.NEAREST), v2.ToImage()]),
        v2.Compose([v2.ColorJitter(0.2), v2.Resize(40), v2.ToImage()]),
    ],
    ids=["not half", "no resize", "nearest", "colours first"],
)
def test_exact_where_nothing_is_decoded_smaller(transform: v2.Transform) -> None:
    assert int(apart(list(kinds_of(smooth(331, 259)).values()), transform).max()) == 0


def test_what_pillow_opens_is_exact() -> None:
    image = smooth(200, 160)
    files = [encoded(image, format="PNG"), encoded(image, format="BMP")]
    assert int(apart(files, CROP).max()) == 0


def test_views_share_a_decoding_that_suits_all_of_them() -> None:
    samples = [encoded(smooth(331, 259)), encoded(smooth(400, 300), subsampling=0)]
    small = v2.Compose([v2.Resize((20, 24)), v2.ToImage()])
    half = v2.Compose([v2.Resize((120, 160)), v2.ToImage()])
    whole = v2.Compose([v2.Resize((200, 250)), v2.ToImage()])
    fast = compile(Views([small, half]), decode="fast")(samples)
    alone = compile(half, decode="fast")(samples)
    assert torch.equal(fast[1], alone)
    exact = compile(small)(samples)
    own = compile(small, decode="fast")(samples)
    assert (fast[0].int() - exact.int()).abs().sum() < (own.int() - exact.int()).abs().sum()
    with_whole = compile(Views([small, whole]), decode="fast")(samples)
    assert torch.equal(with_whole[0], exact)
    assert torch.equal(with_whole[1], compile(whole)(samples))


def test_it_is_named_and_checked() -> None:
    compiled = compile(CROP, decode="fast")
    assert compiled.decode == "fast"
    assert repr(compiled).endswith(", native, decode='fast')")
    assert repr(compile(CROP)).endswith(", native)")
    with pytest.raises(ValueError, match=r"decode is 'quick', expected 'exact' or 'fast'"):
        compile(CROP, decode="quick")  # type: ignore[arg-type]
