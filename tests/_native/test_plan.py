# SPDX-License-Identifier: Apache-2.0
"""Plans against Pillow and torchvision's functional operations with the same drawn parameters."""

import io
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from plan_reference import Draws, PlanCase, Step

HEIGHT, WIDTH = 40, 48
SEED, EPOCH = 0x923456789ABCDEF0, 5
NORMALIZE: dict[str, Any] = {"scale": 1, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def photo(generator: np.random.Generator, width: int, height: int, mode: str = "RGB", **how: Any) -> bytes:
    shape = (5, 6) if mode == "L" else (5, 6, 3)
    coarse = generator.integers(0, 256, shape, dtype=np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    image.save(out, "JPEG", **how)
    return out.getvalue()


def photos(count: int, seed: int, low: int = 20, high: int = 160) -> list[bytes]:
    generator = np.random.default_rng(seed)
    found = []
    for i in range(count):
        width, height = (int(side) for side in generator.integers(low, high, 2))
        quality, subsampling = int(generator.integers(30, 95)), int(generator.integers(0, 3))
        mode = "L" if i % 10 == 9 else "RGB"
        how = {} if mode == "L" else {"subsampling": subsampling}
        found.append(photo(generator, width, height, mode, quality=quality, **how))
    return found


def opened(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def run(
    datas: list[bytes],
    text: str,
    shapes: list[tuple[int, int, int]] | None = None,
    indices: list[int] | None = None,
    occurrences: list[int] | None = None,
    seed: int = SEED,
    epoch: int = EPOCH,
    view: int = 0,
) -> tuple[Tensor, Tensor]:
    count = len(datas)
    sizes = torch.tensor([len(data) for data in datas], dtype=torch.int64)
    return _native.run_plan(
        torch.frombuffer(bytearray(b"".join(datas) or b"x"), dtype=torch.uint8),
        sizes.cumsum(0) - sizes,
        sizes,
        torch.tensor(shapes or [(0, 0, 0)] * count, dtype=torch.int64).reshape(-1, 3),
        text,
        torch.tensor(list(range(count)) if indices is None else indices, dtype=torch.int64),
        torch.tensor(occurrences or [], dtype=torch.int64),
        seed,
        epoch,
        view,
    )


def check(case: PlanCase, images: list[Image.Image], got: Tensor, status: Tensor, tolerance: int = 0) -> int:
    """Each sample is the reference's, or not OK where the reference has none of the plan's size."""
    done = 0
    for i, image in enumerate(images):
        try:
            expected = case.values(image, Draws(SEED, EPOCH, i))
        except ValueError:
            assert status[i] == 2, (case, i)
            continue
        if expected.shape != got[i].shape:
            assert status[i] == 2, (case, i)
            assert not got[i].any()
            continue
        assert status[i] == 0, (case, i)
        assert got.dtype == expected.dtype
        if tolerance:
            assert (got[i].int() - expected.int()).abs().max() <= tolerance, (case, i)
        else:
            assert torch.equal(got[i], expected), (case, i, image.size)
        done += 1
    return done


def check_photos(case: PlanCase, datas: list[bytes], tolerance: int = 0) -> int:
    got, status = run(datas, case.text(HEIGHT, WIDTH))
    return check(case, [opened(data) for data in datas], got, status, tolerance)


def step(name: str, **keys: Any) -> Step:
    return {"name": name, **keys}


def resized_crop(**keys: Any) -> Step:
    given = {"op": 0, "height": HEIGHT, "width": WIDTH, "scale": (0.08, 1.0), "ratio": (0.75, 4 / 3)}
    return step("resized_crop", **(given | {"filter": 2} | keys))


def flip(op: int, direction: str = "horizontal", p: float = 0.5) -> Step:
    return step(f"{direction}_flip", op=op, p=p)


RESIZE = step("resize", height=HEIGHT, width=WIDTH, filter=2)
CROP = step("center_crop", height=HEIGHT, width=WIDTH)
FLIPS = [flip(20), flip(21, "vertical")]
COLOURS = {"brightness": (0.6, 1.4), "contrast": (0.6, 1.4), "saturation": (0.6, 1.4), "hue": (-0.1, 0.1)}

GEOMETRY: dict[str, list[Step]] = {
    "standard": [resized_crop(), flip(1)],
    "flips first": [*FLIPS, resized_crop(), flip(1)],
    "fallback of ten misses": [resized_crop(scale=(3.0, 4.0)), flip(1)],
    "narrow boxes": [resized_crop(scale=(0.001, 0.01), ratio=(0.1, 10.0))],
    "validation": [step("resize", height=64, width=0, filter=2), CROP],
    "resize and smaller than crop": [step("resize", height=30, width=0, filter=3), *FLIPS, CROP, flip(1)],
    "max_size": [step("resize", height=60, width=0, filter=1, max_size=64), CROP],
    "crop of a resize": [
        step("resize", height=60, width=0, filter=4),
        *FLIPS,
        step("random_crop", op=0, height=HEIGHT, width=WIDTH),
        flip(1, "vertical"),
        flip(2),
    ],
    "center crop": [*FLIPS, CROP],
    "two resizes": [step("resize", height=90, width=0, filter=2), flip(1), resized_crop(), flip(2)],
    "crop twice": [step("random_crop", op=0, height=50, width=60, pad_if_needed=1), flip(1), CROP],
    "random crop, too small among them": [step("random_crop", op=0, height=HEIGHT, width=WIDTH)],
    "constant border": [
        *FLIPS,
        step("random_crop", op=0, height=HEIGHT, width=WIDTH, padding=(60, 50, 40, 70), fill=(1, 2, 3)),
        flip(1),
    ],
    "edge": [
        flip(1),
        step(
            "random_crop",
            op=0,
            height=HEIGHT,
            width=WIDTH,
            padding=(4, 5, 66, 7),
            pad_mode=1,
            pad_if_needed=1,
        ),
    ],
    "reflection": [
        *FLIPS,
        step(
            "random_crop", op=0, height=HEIGHT, width=WIDTH, padding=(5, 2, 5, 3), pad_mode=2, pad_if_needed=1
        ),
    ],
    "symmetric": [
        step(
            "random_crop", op=0, height=HEIGHT, width=WIDTH, padding=(9, 9, 9, 9), pad_mode=3, pad_if_needed=1
        )
    ],
    "cut off": [
        step("random_crop", op=0, height=HEIGHT, width=WIDTH, padding=(-3, 5, 2, -4), fill=9, pad_if_needed=1)
    ],
    "pad": [
        step("resize", height=30, width=40, filter=0),
        *FLIPS,
        step("pad", padding=(3, 6, 5, 4), fill=(7,), pad_mode=0),
    ],
    "pad by reflection": [
        step("resize", height=33, width=40, filter=5),
        flip(1),
        step("pad", padding=(3, 6, 5, 1), pad_mode=2),
    ],
}


@pytest.mark.parametrize("name", GEOMETRY)
def test_geometry_is_torchvisions(name: str) -> None:
    for dtype, layout, scale in ((0, 1, 0), (1, 0, 1)):
        case = PlanCase(GEOMETRY[name], dtype=dtype, layout=layout, scale=scale)
        assert check_photos(case, photos(30, seed=len(name))) >= 10


@pytest.mark.parametrize("interpolation", range(6))
def test_every_filter(interpolation: int) -> None:
    case = PlanCase([resized_crop(filter=interpolation), flip(1)])
    assert check_photos(case, photos(25, seed=interpolation)) == 25


OTHERS: dict[str, list[Step]] = {
    "jitter": [RESIZE, *FLIPS, step("color_jitter", op=0, **COLOURS), flip(1)],
    "some jitter": [RESIZE, step("color_jitter", op=0, contrast=(0.2, 3.0), hue=(-0.5, 0.5))],
    "no jitter": [RESIZE, step("color_jitter", op=0)],
    "jitter of an untouched crop": [CROP, step("color_jitter", op=0, **COLOURS)],
    "gray": [RESIZE, flip(1), step("grayscale", channels=3)],
    "sometimes gray": [RESIZE, flip(1), step("random_grayscale", op=2, p=0.5)],
    "autocontrast": [RESIZE, *FLIPS, step("autocontrast", op=2, p=0.7)],
    "rotation": [RESIZE, *FLIPS, step("rotation", op=2, degrees=(-40.0, 70.0), filter=2, fill=(9, 8, 7))],
    "nearest rotation": [*FLIPS, step("rotation", op=2, degrees=(-180.0, 180.0), filter=0), RESIZE],
    "rotation about a corner": [
        RESIZE,
        step("rotation", op=2, degrees=(90.0, 90.0), filter=2, fill=3, center=(3.0, 4.5)),
    ],
    "contrastive learning": [
        resized_crop(scale=(0.2, 1.0)),
        flip(1),
        step("color_jitter", op=2, **COLOURS),
        step("random_grayscale", op=3, p=0.2),
    ],
}


@pytest.mark.parametrize("name", OTHERS)
def test_colours_and_rotation_are_torchvisions(name: str) -> None:
    assert check_photos(PlanCase(OTHERS[name]), photos(30, seed=len(name))) >= 20


def test_one_channel_from_there_on() -> None:
    steps = [
        RESIZE,
        *FLIPS,
        step("grayscale", channels=1),
        step("color_jitter", op=2, **COLOURS),
        step("autocontrast", op=3, p=0.5),
        step("random_grayscale", op=4, p=0.5),
        step("rotation", op=5, degrees=(-20.0, 20.0), filter=2, fill=(9,)),
        step("pad", padding=(3, -2, -3, 2), fill=(7,)),
    ]
    for dtype in (0, 2):
        case = PlanCase(steps, channels=1, dtype=dtype, scale=min(dtype, 1))
        assert check_photos(case, photos(25, seed=1)) == 25


@pytest.mark.parametrize("channels", [1, 3])
def test_gray_files_as_gray(channels: int) -> None:
    """A gray JPEG may be decoded as one channel; nobody sees it."""
    generator = np.random.default_rng(channels)
    datas = [photo(generator, 70, 50, "L"), photo(generator, 50, 70)]
    gray = step("grayscale", channels=channels)
    border = step("random_crop", op=0, height=HEIGHT, width=WIDTH, padding=(0, 30, 0, 0), fill=(9,))
    coloured = border | {"fill": (1, 200, 3)}
    late = [step("color_jitter", op=5, **COLOURS), *FLIPS]
    for first in ([RESIZE, *FLIPS], [border, *FLIPS], [coloured], [RESIZE, *late]):
        assert check_photos(PlanCase([*first, gray, *late], channels), datas) == 2


@pytest.mark.parametrize("kernel", [(5, 3), (1, 1), (23, 9)])
def test_blur_is_torchvisions_within_one_level(kernel: tuple[int, int]) -> None:
    """torch adds the same products in another order."""
    case = PlanCase([RESIZE, *FLIPS, step("gaussian_blur", op=2, kernel=kernel, sigma=(0.1, 2.0)), flip(3)])
    assert check_photos(case, photos(25, seed=2), tolerance=1) == 25


def test_a_kernel_larger_than_the_image_is_left_to_torchvision() -> None:
    datas = photos(3, seed=3)
    case = PlanCase([RESIZE, step("gaussian_blur", op=2, kernel=(101, 3), sigma=(1.0, 1.0))])
    _, status = run(datas, case.text(HEIGHT, WIDTH))
    assert status.tolist() == [2, 2, 2]


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("dtype", [1, 2, 3])
@pytest.mark.parametrize("scale", [0, 1, 2])
def test_values_are_torchs(layout: int, dtype: int, scale: int) -> None:
    datas = photos(4, seed=4)
    for mean, std in (((), ()), ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), ((0.5,), (0.25,))):
        case = PlanCase(
            [resized_crop(), flip(1)], dtype=dtype, layout=layout, scale=scale, mean=mean, std=std
        )
        assert check_photos(case, datas) == 4
        got, _ = run(datas, case.text(HEIGHT, WIDTH))
        memory_format = torch.channels_last if layout else torch.contiguous_format
        assert got.is_contiguous(memory_format=memory_format)


ERASING = {"op": 4, "p": 0.8, "scale": (0.02, 0.33), "ratio": (0.3, 3.3)}


@pytest.mark.parametrize("value", [0.0, (0.5, -1.0, 2.0), "random"])
@pytest.mark.parametrize(("dtype", "layout"), [(1, 0), (2, 1), (3, 0)])
def test_erasing_is_torchvisions(value: Any, dtype: int, layout: int) -> None:
    erasing = ERASING | ({"random": 1} if value == "random" else {"value": value})
    case = PlanCase([RESIZE], dtype=dtype, layout=layout, erasing=erasing, **NORMALIZE)
    assert check_photos(case, photos(8, seed=5)) == 8


def test_erasing_of_bytes_and_boxes_that_never_fit() -> None:
    case = PlanCase([RESIZE], erasing=ERASING | {"value": 77.0})
    assert check_photos(case, photos(15, seed=6)) == 15
    case = PlanCase([RESIZE], erasing=ERASING | {"value": 77.0, "scale": (1.0, 1.0), "ratio": (1.0, 1.0)})
    assert check_photos(case, photos(5, seed=7)) == 5


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels(channels: int) -> None:
    """MNIST and CIFAR: images that come as pixels, all of one size."""
    generator = np.random.default_rng(channels)
    shape = (32, 32) if channels == 1 else (32, 32, 3)
    arrays = [generator.integers(0, 256, shape, dtype=np.uint8) for _ in range(40)]
    images = [Image.fromarray(array) for array in arrays]
    for padding_mode in range(4):
        crop = step("random_crop", op=0, height=32, width=32, padding=(4, 4, 4, 4), pad_mode=padding_mode)
        case = PlanCase([crop, flip(1)], channels, dtype=1, scale=1, source_channels=channels)
        got, status = run([a.tobytes() for a in arrays], case.text(32, 32), [(32, 32, channels)] * 40)
        assert check(case, images, got, status) == 40
    case = PlanCase([], channels, source_channels=channels, max_pixels=1)
    got, status = run([a.tobytes() for a in arrays], case.text(32, 32), [(32, 32, channels)] * 40)
    assert check(case, images, got, status) == 40


def test_pixels_of_other_channels_and_sizes_are_not_the_plans() -> None:
    case = PlanCase([], 3)
    shapes = [(2, 3, 1), (2, 3, 3), (3, 2, 3), (2, 3, 4)]
    _, status = run([bytes(h * w * c) for h, w, c in shapes], case.text(2, 3), shapes)
    assert status.tolist() == [0, 0, 2, 2]  # gray is repeated


def test_odd_images(odd_images: pathlib.Path, odd_expected: dict[str, Any]) -> None:
    """Pillow's picture, or a status that sends the sample to Pillow."""
    native = 0
    case = PlanCase([resized_crop(height=20, width=24), flip(1)], dtype=1, max_pixels=10**7, **NORMALIZE)
    for sample in odd_expected["samples"]:
        pil = sample["pil"]
        data = (odd_images / sample["path"]).read_bytes()
        images, status = run([data], case.text(20, 24))
        if status[0] != 0:
            assert not images.any()
            assert (
                pil["ok"] is False
                or pil["format"] != "JPEG"
                or sample["compare"] == "lenient"
                or sample["path"] == "coding/progressive_unfinished.jpg"
                or pil["width"] * pil["height"] > 10**7
            ), sample["path"]
            continue
        native += 1
        assert pil["ok"], sample["path"]
        assert torch.equal(images[0], case.values(opened(data), Draws(SEED, EPOCH, 0))), sample["path"]
    assert native >= 20


def random_steps(generator: np.random.Generator) -> list[Step]:
    """A few operations in any order, each with some parameters."""

    def size(high: int) -> dict[str, int]:
        return {"height": int(generator.integers(1, high)), "width": int(generator.integers(1, high))}

    def number(low: int, high: int) -> int:
        return int(generator.integers(low, high))

    makers: list[Callable[[int], Step]] = [
        lambda op: resized_crop(op=op, filter=number(0, 6), **size(60)),
        lambda op: step("resize", filter=number(0, 6), **size(60)),
        lambda op: step("resize", height=number(5, 50), width=0, max_size=number(50, 80), filter=2),
        lambda op: step("center_crop", **size(60)),
        lambda op: step("random_crop", op=op, pad_if_needed=1, pad_mode=number(0, 2), **size(60)),
        lambda op: step("pad", padding=tuple(number(0, 9) for _ in range(4)), pad_mode=number(0, 2)),
        lambda op: flip(op),
        lambda op: flip(op, "vertical"),
        lambda op: step("color_jitter", op=op, **COLOURS),
        lambda op: step("random_grayscale", op=op, p=0.5),
        lambda op: step("autocontrast", op=op, p=0.5),
        lambda op: step("rotation", op=op, degrees=(-30.0, 30.0), filter=2),
    ]
    return [makers[number(0, len(makers))](op) for op in range(number(1, 7))]


def test_operations_in_any_order() -> None:
    generator = np.random.default_rng(17)
    datas = photos(12, seed=8, low=5, high=90)
    done = 0
    for round in range(150):
        case = PlanCase(random_steps(generator))
        i = round % len(datas)
        image = opened(datas[i])
        try:
            expected = case.values(image, Draws(SEED, EPOCH, i))
        except ValueError:
            continue
        got, status = run([datas[i]], case.text(*expected.shape[1:]), indices=[i])
        assert status.tolist() == [0], case
        assert torch.equal(got[0], expected), case
        done += 1
    assert done > 120
