# SPDX-License-Identifier: Apache-2.0
"""The text of a plan, and what may be changed in it."""

import PIL
import pytest
import torch
from PIL import Image

from torch_dts.transforms import _steps as steps
from torch_dts.transforms._plan import DIVIDE, Plan, check_decode, check_decoder

FLOATS = Plan(
    (steps.CenterCrop(4, 5),),
    (3, 4, 5),
    torch.float32,
    DIVIDE,
    (0.5,),
    (0.25, 0.5, 1.0),
    steps.RandomErasing(0, 1.0, (0.5, 0.5), (1.0, 1.0), (0.0,)),
    1,
)
BYTES = Plan((), (1, 4, 5), torch.uint8, source_channels=1)


@pytest.fixture(autouse=True)
def pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PIL, "__version__", "12.0.1")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)


def test_the_text() -> None:
    assert FLOATS.encode() == (
        "source channels=3 max_pixels=1000 pass_order=0\n"
        "center_crop height=4 width=5\n"
        "output height=4 width=5 channels=3 dtype=1 layout=0 scale=1 mean=0x1.0000000000000p-1 "
        "std=0x1.0000000000000p-2,0x1.0000000000000p-1,0x1.0000000000000p+0\n"
        "erasing op=0 p=0x1.0000000000000p+0 scale=0x1.0000000000000p-1,0x1.0000000000000p-1 "
        "ratio=0x1.0000000000000p+0,0x1.0000000000000p+0 value=0x0.0p+0\n"
    )
    assert BYTES.encode() == (
        "source channels=1 max_pixels=1000 pass_order=0\n"
        "output height=4 width=5 channels=1 dtype=0 layout=0 scale=0\n"
    )


@pytest.mark.parametrize(
    ("dtype", "number"), [(torch.uint8, 0), (torch.float32, 1), (torch.float16, 2), (torch.bfloat16, 3)]
)
def test_another_dtype_and_layout(dtype: torch.dtype, number: int) -> None:
    assert f"dtype={number} layout=1" in BYTES.encode(dtype, torch.channels_last)
    if dtype != torch.uint8:
        assert f"dtype={number} layout=0" in FLOATS.encode(dtype, torch.contiguous_format)


def test_what_can_not_be() -> None:
    with pytest.raises(
        ValueError, match=r"dtype is torch.float64, expected one of torch.uint8, torch.float32"
    ):
        FLOATS.encode(torch.float64)
    with pytest.raises(
        ValueError, match=r"dtype is torch.uint8, but the transform gives torch.float32; .* ToImage"
    ):
        FLOATS.encode(torch.uint8)
    with pytest.raises(
        ValueError, match=r"memory_format is torch.preserve_format, expected torch.contiguous"
    ):
        FLOATS.encode(memory_format=torch.preserve_format)


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("10.1.0", 0),
        ("12.1.1", 0),
        ("12.2.0", 1),
        ("12.10.3", 1),
        ("13.0.0", 2),
        ("14.1.0.dev0", 2),
        ("?", 2),
    ],
)
def test_the_order_of_passes_follows_pillow(
    version: str, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PIL, "__version__", version)
    assert f"pass_order={order}" in BYTES.encode()


@pytest.mark.parametrize(("limit", "text"), [(None, 0), (0, 1), (5, 5), (1e9, 10**9)])
def test_the_limit_of_pixels_follows_pillow(
    limit: float | None, text: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    assert f"max_pixels={text} " in BYTES.encode()


def test_the_decoder_is_written_where_it_is_not_the_usual_one() -> None:
    assert BYTES.encode(decoder="libjpeg").startswith(
        "source channels=1 max_pixels=1000 pass_order=0 reader=1\n"
    )
    assert BYTES.encode(decoder="auto") == BYTES.encode()
    with pytest.raises(ValueError, match=r"decoder is 'both', expected 'auto' or 'libjpeg'"):
        check_decoder("both")


def test_fast_decoding_is_written_where_it_is_asked_for() -> None:
    assert BYTES.encode(decode="fast").startswith("source channels=1 max_pixels=1000 pass_order=0 decode=1\n")
    assert BYTES.encode(decode="exact") == BYTES.encode()
    assert check_decode("fast") == "fast"
    with pytest.raises(ValueError, match=r"decode is 'none', expected 'exact' or 'fast'"):
        check_decode("none")
