# SPDX-License-Identifier: Apache-2.0
"""Conversions, Normalize and RandomErasing: torchvision's values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from torch_dts.transforms import compile
from torch_dts.transforms._plan import DIVIDE, MULTIPLY, NO_SCALE
from torch_dts.transforms._read import read

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
ALL_VALUES = v1.CenterCrop((16, 48))


def all_values() -> bytes:
    """A picture with every value in every channel."""
    import io

    pixels = np.random.default_rng(0).permuted(np.tile(np.arange(256), (9, 1)), axis=1)
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8).reshape(3, 48, 16).transpose(2, 1, 0).copy()).save(out, "PNG")
    return out.getvalue()


def ulps(first: Tensor, second: Tensor) -> int:
    """The greatest distance in units of the last place."""
    kind = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
    bits = [tensor.contiguous().view(kind[tensor.dtype]).long() for tensor in (first, second)]
    signed = [
        torch.where(b < 0, -(b & (0x7FFFFFFF if first.dtype == torch.float32 else 0x7FFF)), b) for b in bits
    ]
    return int((signed[0] - signed[1]).abs().max())


def to(dtype: torch.dtype, scale: bool = True) -> v2.ToDtype:
    return v2.ToDtype(dtype, scale=scale)


with_deprecated = pytest.mark.filterwarnings("ignore:The transform `ToTensor")
CONVERSIONS: dict[str, tuple[Any, int]] = {
    "v1.ToTensor": (lambda: [v1.ToTensor()], DIVIDE),
    "v2.ToTensor": (lambda: [v2.ToTensor()], DIVIDE),
    "v1.ConvertImageDtype": (lambda: [v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)], DIVIDE),
    "v2.ConvertImageDtype": (lambda: [v2.PILToTensor(), v2.ConvertImageDtype()], MULTIPLY),
    "v2.ToDtype": (lambda: [v2.ToImage(), to(torch.float32)], MULTIPLY),
    "v2.ToDtype of a type": (
        lambda: [v2.ToImage(), to({tv_tensors.Image: torch.float32, "others": None})],
        MULTIPLY,
    ),
    "v2.ToDtype of others": (lambda: [v2.PILToTensor(), to({"others": torch.float32})], MULTIPLY),
    "unscaled": (lambda: [v2.ToImage(), to(torch.float32, False)], NO_SCALE),
    "bytes": (lambda: [v2.ToImage(), to(torch.uint8), v2.ToPureTensor(), v2.PILToTensor()], NO_SCALE),
    "half": (lambda: [v2.ToImage(), to(torch.float16)], MULTIPLY),
    "v1 half": (lambda: [v1.PILToTensor(), v1.ConvertImageDtype(torch.float16)], DIVIDE),
    "bfloat16": (lambda: [v2.ToImage(), to(torch.bfloat16)], MULTIPLY),
    "half, unscaled": (lambda: [v2.ToImage(), to(torch.float16, False)], NO_SCALE),
    "twice": (lambda: [v2.ToImage(), to(torch.float32), to(torch.float32), v2.ToImage()], MULTIPLY),
}


@with_deprecated
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_every_value_is_converted_as_torch_does(
    name: str, normalized: bool, on_pil: Callable[..., Tensor]
) -> None:
    make, scale = CONVERSIONS[name]
    operations = [ALL_VALUES, *make(), *([v1.Normalize(MEAN, STD)] if normalized else [])]
    reading, expected_type = read(v1.Compose(operations)), torch.float32
    if normalized and ("half" in name or "float16" in name or name == "bytes"):
        assert "Normalize" in reading.reason
        return
    assert reading.plan is not None, reading.reason
    assert reading.plan.scale == scale
    expected = on_pil(v1.Compose(operations), [all_values()])
    found = compile(v1.Compose(operations))([all_values()])
    assert found.dtype == expected.dtype == reading.plan.dtype
    if found.dtype == torch.uint8:
        assert torch.equal(found, expected)
    else:
        assert ulps(found, expected) <= (1 if found.dtype == expected_type else 0)


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize(
    ("mean", "std"), [(MEAN, STD), ([0.5], [0.25]), (MEAN, [0.3]), (tuple(MEAN), tuple(STD))]
)
def test_normalize(library: Any, mean: Any, std: Any, on_pil: Callable[..., Tensor]) -> None:
    for conversion in (v1.ToTensor(), v2.Compose([v2.ToImage(), to(torch.float32)])):
        transform = v1.Compose([ALL_VALUES, conversion, library.Normalize(mean, std, inplace=True)])
        found = compile(transform)([all_values()])
        assert ulps(found, on_pil(transform, [all_values()])) <= 1


def test_normalize_takes_numbers_arrays_and_tensors(on_pil: Callable[..., Tensor]) -> None:
    for mean, std in ((0.4, 0.3), (np.array(MEAN), np.array(STD)), (torch.tensor(MEAN), torch.tensor(STD))):
        transform = v1.Compose([ALL_VALUES, v1.ToTensor(), v1.Normalize(mean, std)])
        assert ulps(compile(transform)([all_values()]), on_pil(transform, [all_values()])) <= 1


def test_float_to_half_behind_normalize(on_pil: Callable[..., Tensor]) -> None:
    operations = [ALL_VALUES, v2.ToImage(), to(torch.float32), v2.Normalize(MEAN, STD), to(torch.float16)]
    found = compile(v2.Compose(operations))([all_values()])
    assert found.dtype == torch.float16
    assert ulps(found, on_pil(v2.Compose(operations), [all_values()])) == 0


def test_flips_of_floats(pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]) -> None:
    operations = [v1.Resize((9, 8)), v1.ToTensor(), v1.RandomHorizontalFlip(1.0), v1.Normalize(MEAN, STD)]
    transform = v1.Compose([*operations, v1.RandomVerticalFlip(1.0)])
    datas = pictures(6)
    assert ulps(compile(transform)(datas), on_pil(transform, datas)) <= 1


ERASINGS: dict[str, tuple[list[Any], list[Any]]] = {
    "last": ([v1.ToTensor(), v1.Normalize(MEAN, STD)], []),
    "before Normalize": ([v1.ToTensor()], [v1.Normalize(MEAN, STD)]),
    "of floats": ([v1.ToTensor()], []),
    "of bytes": ([v2.ToImage()], []),
    "of bytes, v2 scaled": ([v2.ToImage()], [to(torch.float32), v2.Normalize(MEAN, STD)]),
    "of bytes, v1 scaled": ([v2.ToImage()], [v1.ConvertImageDtype(torch.float32)]),
    "of bytes, unscaled": ([v1.PILToTensor()], [to(torch.float32, False)]),
    "of half": ([v2.ToImage(), to(torch.float16)], []),
    "then half": ([v2.ToImage(), to(torch.float32)], [to(torch.bfloat16)]),
}


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("value", [0, (0.25,), (3, 200.7, 0.5)])
@pytest.mark.parametrize("name", ERASINGS)
def test_the_drawn_box_is_erased(
    name: str, value: Any, library: Any, pictures: Callable[..., list[bytes]], draws: Any, opened: Any
) -> None:
    before, behind = ERASINGS[name]
    scale, ratio = (0.1, 0.6), (0.4, 2.0)
    erasing = library.RandomErasing(0.7, scale, ratio, value)
    head = [v1.Resize((30, 40)), v1.RandomHorizontalFlip(0.0), *before]
    datas = pictures(20, seed=3)
    found = compile(v1.Compose([*head, erasing, *behind]))(datas, seed=9)
    boxes = draws(range(20), 9).boxes(1, [(30, 40)] * 20, scale, ratio, erasing=True)
    fires = draws(range(20), 9).gates(1, 0.7)
    assert 0 < sum(fires) < 20
    for i, (top, left, height, width) in enumerate(boxes):
        image = v1.Compose(head)(opened(datas[i]))
        if fires[i]:
            colour = torch.tensor(
                [float(item) for item in value] if isinstance(value, tuple) else [float(value)]
            )
            image = v1.functional.erase(image, top, left, height, width, colour[:, None, None])
        expected = v1.Compose(behind)(image).as_subclass(Tensor)
        assert found.dtype == expected.dtype
        if found.dtype == torch.uint8:
            assert torch.equal(found[i], expected)
        else:
            assert ulps(found[i], expected) <= 1


def test_random_values_are_normal_and_their_own(pictures: Callable[..., list[bytes]], draws: Any) -> None:
    transform = v1.Compose(
        [v1.Resize((60, 60)), v1.ToTensor(), v1.RandomErasing(1.0, (0.5, 0.5), (1, 1), "random")]
    )
    plain = v1.Compose([v1.Resize((60, 60)), v1.ToTensor()])
    datas = pictures(4)
    erased = compile(transform)(datas, seed=1)
    boxes = draws(range(4), 1).boxes(0, [(60, 60)] * 4, (0.5, 0.5), (1, 1), erasing=True)
    values = []
    for i, (top, left, height, width) in enumerate(boxes):
        inside = torch.zeros(60, 60, dtype=torch.bool)
        inside[top : top + height, left : left + width] = True
        assert torch.equal(erased[i][:, ~inside], compile(plain)(datas)[i][:, ~inside])
        values.append(erased[i][:, inside])
    together = torch.cat([value.flatten() for value in values])
    assert abs(float(together.mean())) < 0.03
    assert abs(float(together.std()) - 1) < 0.03
    assert together.unique().numel() > together.numel() * 0.999
    # Box-Muller of the stream whose key are the first two words of draw 65535 (docs/format.md).
    words = [int(word[0]) for word in draws([0], 1).words(0, 65535)]
    key = words[0] | words[1] << 32
    count = boxes[0][2] * boxes[0][3] * 3
    stream = draws.normals(key, count)
    assert ulps(values[0].flatten(), torch.from_numpy(stream)) <= 2


REFUSED: dict[str, list[Any]] = {
    "the result is a PIL image": [],
    "it stands on PIL images": [v1.ConvertImageDtype(torch.float32)],
    "it does nothing to PIL images": [to(torch.float32), v2.ToImage()],
    "it needs floats": [v2.ToImage(), v2.Normalize(MEAN, STD)],
    "behind another conversion": [v1.PILToTensor(), v1.ToTensor()],
    "a second Normalize": [v1.ToTensor(), v1.Normalize(MEAN, STD), v1.Normalize(MEAN, STD)],
    "mean has 2 values": [v1.ToTensor(), v1.Normalize([0.5, 0.5], STD)],
    "is 0 or infinite as float32": [v1.ToTensor(), v1.Normalize(MEAN, 1e-60)],
    "normalise in float32": [v2.ToImage(), to(torch.float16), v2.Normalize(MEAN, STD)],
    "dtype torch.float64": [v2.ToImage(), to(torch.float64)],
    "torch.float32 to torch.uint8": [v1.ToTensor(), to(torch.uint8)],
    "torch.float16 to torch.float32": [v2.ToImage(), to(torch.float16), to(torch.float32)],
    "depends on chance": [v2.ToImage(), v1.RandomHorizontalFlip(), to({"others": torch.float32})],
    "the dict has no dtype": [v2.ToImage(), to({torch.Tensor: torch.float32})],
    "behind RandomErasing it is not": [v1.ToTensor(), v1.RandomErasing(), v1.RandomHorizontalFlip()],
    "put RandomErasing last": [v2.ToImage(), v2.RandomErasing(), v2.CenterCrop(3)],
    "a second RandomErasing": [v1.ToTensor(), v1.RandomErasing(), v1.RandomErasing()],
    "with random values": [v1.ToTensor(), v2.RandomErasing(value="random"), v1.Normalize(MEAN, STD)],
    "random values of uint8": [v2.ToImage(), v2.RandomErasing(value="random")],
    "the range of a uint8 tensor": [v2.ToImage(), v2.RandomErasing(value=-1)],
    "put it behind the conversion": [v2.RandomErasing(), v2.ToImage()],
    "value has 2 values": [v1.ToTensor(), v1.RandomErasing(value=(1, 2))],
    "of the value of RandomErasing": [
        v1.ToTensor(),
        v1.RandomErasing(value=3e38),
        v1.Normalize([0.5], [1e-3]),
    ],
}


@pytest.mark.parametrize("part", REFUSED)
def test_what_native_code_does_not_do_is_refused(part: str) -> None:
    reading = read(v1.Compose([v1.Resize((4, 4)), *REFUSED[part]]))
    assert reading.plan is None
    assert part in reading.reason


def test_another_default_dtype_is_refused() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        reading = read(v1.Compose([v1.Resize((4, 4)), v1.ToTensor()]))
    finally:
        torch.set_default_dtype(torch.float32)
    assert "torch's default dtype is torch.float64" in reading.reason


def test_v2_broadcasts_three_means_over_one_channel_and_is_refused() -> None:
    operations = [v2.Resize((4, 4)), v2.Grayscale(), v2.ToImage(), to(torch.float32), v2.Normalize(MEAN, STD)]
    assert "mean has 3 values, the image has 1 channels" in read(v2.Compose(operations)).reason
