# SPDX-License-Identifier: Apache-2.0
"""The steps that kernels.py compares, and the ways to do each of them."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torchvision
from PIL import Image, ImageFilter, features
from torch import Tensor
from torchvision import io as tv_io
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as f1
from torchvision.transforms.v2 import functional as f2

from torch_dts import _native
from torch_dts.transforms import compile

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = 224

# Step, way, what does it, pixels, bytes.
Way = tuple[str, str, Callable[[], object], int, int]


def opencv() -> Any:
    """OpenCV with one thread; None where it isn't installed."""
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError:
        return None
    cv2.setNumThreads(1)
    return cv2


class Images:
    """Some JPEGs of one size, and what they are decoded to, in the form that each library takes."""

    def __init__(self, encoded: list[bytes]) -> None:
        self.encoded = encoded
        self.tensors = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in encoded]
        self.pil = [Image.open(io.BytesIO(data)).convert("RGB") for data in encoded]
        self.width, self.height = self.pil[0].size
        self.pixels = self.width * self.height * len(encoded)
        self.arrays = [np.array(image) for image in self.pil]
        self.small_pil = [image.resize((SIZE, SIZE)) for image in self.pil]
        self.small = np.stack([np.array(image) for image in self.small_pil])
        self.small_pixels = SIZE * SIZE * len(encoded)

    def versions(self) -> str:
        cv2 = opencv()
        return (
            f"Pillow {Image.__version__} with libjpeg-turbo {features.version('libjpeg_turbo')}, "
            f"torchvision {torchvision.__version__}, OpenCV {cv2.__version__ if cv2 else 'not installed'}"
        )


def planned(transform: Any, samples: list[Any], decoder: Any = "auto") -> Callable[[], object]:
    """`run_plan` of a transform that ends in bytes, over JPEGs or arrays `[H, W, 3]`, to such arrays."""
    plan = compile(v2.Compose([transform, v2.PILToTensor()])).plan
    assert plan is not None, transform
    text = plan.encode(memory_format=torch.channels_last, decoder=decoder)  # type: ignore[union-attr]
    datas = [sample if isinstance(sample, bytes) else sample.tobytes() for sample in samples]
    shapes = [(0, 0, 0) if isinstance(sample, bytes) else sample.shape for sample in samples]
    sizes = torch.tensor([len(data) for data in datas])
    arena = torch.frombuffer(bytearray(b"".join(datas)), dtype=torch.uint8)
    offsets, indices = sizes.cumsum(0) - sizes, torch.arange(len(datas))
    never = torch.empty(0, dtype=torch.int64)

    def run() -> object:
        images, status = _native.run_plan(
            arena, offsets, sizes, torch.tensor(shapes), text, indices, never, 0, 0
        )
        assert not bool(status.any())
        return images

    return run


def each(do: Callable[[Any], object], items: list[Any]) -> Callable[[], None]:
    """`do` to one after the other; results are let go of."""

    def run() -> None:
        for item in items:
            do(item)

    return run


def memory(images: Images) -> Iterator[Way]:
    one = SIZE * SIZE * 3 * 4
    for name, num_bytes in (("an image of float32", one), ("64 MB", 64 << 20)):
        source = torch.ones(num_bytes, dtype=torch.uint8)
        target = torch.empty_like(source).zero_()
        times = max(1, (64 << 20) // num_bytes)

        def run(source: Tensor = source, target: Tensor = target, times: int = times) -> None:
            for _ in range(times):
                target.copy_(source)

        yield "copy", name, run, num_bytes * times // 3, 2 * num_bytes * times


def _pillow_decode(data: bytes) -> Any:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def decode(images: Images) -> Iterator[Way]:
    whole = v2.CenterCrop((images.height, images.width))
    yield "whole", "ours", planned(whole, images.encoded), images.pixels, 0
    yield "whole", "libjpeg-turbo, called by us", planned(whole, images.encoded, "libjpeg"), images.pixels, 0
    yield "whole", "Pillow", each(_pillow_decode, images.encoded), images.pixels, 0
    yield "whole", "torchvision.io", each(tv_io.decode_jpeg, images.tensors), images.pixels, 0
    if (cv2 := opencv()) is not None:
        buffers = [np.frombuffer(data, dtype=np.uint8) for data in images.encoded]
        rgb = cv2.IMREAD_COLOR_RGB
        yield "whole", "OpenCV", each(lambda data: cv2.imdecode(data, rgb), buffers), images.pixels, 0


def restarted(encoded: list[bytes]) -> list[bytes]:
    """The JPEGs with restart markers, without loss, as ``convert(restart_interval=...)`` writes them."""
    sizes = torch.tensor([len(data) for data in encoded])
    arena = torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8)
    out, offsets, lengths, _ = _native.transcode_jpegs(arena, sizes.cumsum(0) - sizes, sizes)
    return [
        out[begin : begin + length].numpy().tobytes()
        for begin, length in zip(offsets.tolist(), lengths.tolist(), strict=True)
    ]


def crop(images: Images) -> Iterator[Way]:
    """The middle of half the height and width; the splice is what libjpeg gets with restart markers."""
    height, width = images.height // 2, images.width // 2
    middle, pixels = v2.CenterCrop((height, width)), height * width * len(images.encoded)
    marked = restarted(images.encoded)
    for name, encoded in (("", images.encoded), (", restart markers", marked)):
        yield "middle", "ours" + name, planned(middle, encoded), pixels, 0
        spliced = ", spliced by us" if name else ", rows and columns skipped by us"
        yield "middle", "libjpeg-turbo" + spliced, planned(middle, encoded, "libjpeg"), pixels, 0
    box = (width // 2, height // 2, width // 2 + width, height // 2 + height)
    yield "middle", "Pillow", each(lambda data: _pillow_decode(data).crop(box), images.encoded), pixels, 0


FILTERS = {
    "bilinear": (InterpolationMode.BILINEAR, Image.Resampling.BILINEAR),
    "bicubic": (InterpolationMode.BICUBIC, Image.Resampling.BICUBIC),
    "nearest": (InterpolationMode.NEAREST, Image.Resampling.NEAREST),
}


def resample(images: Images) -> Iterator[Way]:
    """The whole image to 224 x 224."""
    num_bytes = 3 * (images.pixels + images.small_pixels)
    planes = [torch.from_numpy(array).permute(2, 0, 1).contiguous() for array in images.arrays]
    pixels = [torch.from_numpy(array).permute(2, 0, 1) for array in images.arrays]
    cv2 = opencv()
    for step, (mode, filter_) in FILTERS.items():

        def way(name: str, work: Callable[[], object], step: str = step) -> Way:
            return step, name, work, images.pixels, num_bytes

        def by_pillow(image: Any, filter_: Any = filter_) -> Any:
            return image.resize((SIZE, SIZE), filter_)

        def by_torch(tensor: Tensor, mode: Any = mode) -> Tensor:
            return f2.resize(tensor, [SIZE, SIZE], mode, antialias=True)

        yield way("ours", planned(v2.Resize((SIZE, SIZE), mode), images.arrays))
        yield way("Pillow", each(by_pillow, images.pil))
        yield way("torchvision v2, planes", each(by_torch, planes))
        yield way("torchvision v2, pixels", each(by_torch, pixels))
        if cv2 is None:
            continue
        flags = {"bilinear": ("LINEAR", "AREA"), "bicubic": ("CUBIC",), "nearest": ("NEAREST",)}[step]
        for flag in flags:
            number = getattr(cv2, f"INTER_{flag}")
            name = f"OpenCV {flag}" + ("" if flag in ("AREA", "NEAREST") else ", no antialias")
            yield way(
                name,
                each(lambda a, n=number: cv2.resize(a, (SIZE, SIZE), interpolation=n), images.arrays),
            )


def color(images: Images) -> Iterator[Way]:
    """Of 224 x 224 pixels."""
    pixels, num_bytes = images.small_pixels, 6 * images.small_pixels
    tensors = [torch.from_numpy(array).permute(2, 0, 1).contiguous() for array in images.small]
    blur = {"kernel_size": [5, 5], "sigma": [1.0, 1.0]}
    bilinear = InterpolationMode.BILINEAR
    # Ours, as a transform; torchvision's function, of v1 for PIL images and v2 for tensors.
    steps: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "brightness": (
            v2.ColorJitter(brightness=(1.3, 1.3)),
            "adjust_brightness",
            {"brightness_factor": 1.3},
        ),
        "contrast": (v2.ColorJitter(contrast=(1.3, 1.3)), "adjust_contrast", {"contrast_factor": 1.3}),
        "saturation": (
            v2.ColorJitter(saturation=(1.3, 1.3)),
            "adjust_saturation",
            {"saturation_factor": 1.3},
        ),
        "hue": (v2.ColorJitter(hue=(0.1, 0.1)), "adjust_hue", {"hue_factor": 0.1}),
        "grayscale": (v2.Grayscale(3), "rgb_to_grayscale", {"num_output_channels": 3}),
        "blur": (v2.GaussianBlur(5, (1.0, 1.0)), "gaussian_blur", blur),
        "rotate": (
            v2.RandomRotation((30, 30), bilinear),
            "rotate",
            {"angle": 30.0, "interpolation": bilinear},
        ),
    }
    for step, (transform, name, arguments) in steps.items():
        sized = v2.Compose([v2.CenterCrop((SIZE, SIZE)), transform])  # as they are: a plan knows its size
        yield step, "ours", planned(sized, list(images.small)), pixels, num_bytes
        of_pil = getattr(f1, name, None) or getattr(f2, name)
        if step == "blur":  # torchvision turns the image into a tensor and back; Pillow has one of its own
            own = each(lambda image: image.filter(ImageFilter.GaussianBlur(1.0)), images.small_pil)
            yield step, "Pillow, boxes", own, pixels, num_bytes
        if step == "grayscale":
            of_pil, arguments = f1.to_grayscale, {"num_output_channels": 3}
        work = each(lambda image, do=of_pil, a=arguments: do(image, **a), images.small_pil)
        yield step, "torchvision, PIL image", work, pixels, num_bytes
        if step == "grayscale":
            of_tensor: Any = f2.rgb_to_grayscale
        else:
            of_tensor = getattr(f2, name)
        work = each(lambda tensor, do=of_tensor, a=arguments: do(tensor, **a), tensors)
        yield step, "torchvision v2, tensor", work, pixels, num_bytes


def tail(images: Images) -> Iterator[Way]:
    """Flip, ToTensor and Normalize of 224 x 224 pixels; every other image is flipped."""
    batch = torch.from_numpy(images.small)
    flips = torch.arange(len(batch)) % 2 == 0
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    shaped_mean, shaped_std = mean.view(1, 3, 1, 1), std.view(1, 3, 1, 1)
    cases = list(zip(images.small_pil, flips.tolist(), strict=True))

    def by_torchvision(case: tuple[Any, bool], dtype: torch.dtype) -> Tensor:
        image = f1.hflip(case[0]) if case[1] else case[0]
        if dtype == torch.uint8:
            return f1.pil_to_tensor(image)
        return f1.normalize(f1.to_tensor(image), MEAN, STD, inplace=True).to(dtype)

    def by_torch(dtype: torch.dtype, format_: torch.memory_format) -> Tensor:
        planes = batch.permute(0, 3, 1, 2)
        planes = torch.where(flips.view(-1, 1, 1, 1), planes.flip(3), planes)
        if dtype == torch.uint8:
            return planes.contiguous(memory_format=format_)
        values = planes.to(torch.float32, memory_format=format_).div_(255)
        return values.sub_(shaped_mean).div_(shaped_std).to(dtype)

    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.uint8):
        num_bytes = images.small_pixels * 3 * (1 + dtype.itemsize)
        for format_, layout in ((torch.contiguous_format, "NCHW"), (torch.channels_last, "NHWC")):
            step = f"{str(dtype).removeprefix('torch.')} {layout}"

            def ours(dtype: torch.dtype = dtype, format_: Any = format_) -> Tensor:
                numbers = (torch.empty(0),) * 2 if dtype == torch.uint8 else (mean, std)
                last = format_ == torch.channels_last
                return _native.fused_normalize(batch, flips, *numbers, dtype, last)

            def torchs(dtype: torch.dtype = dtype, format_: Any = format_) -> Tensor:
                return by_torch(dtype, format_)

            yield step, "ours", ours, images.small_pixels, num_bytes
            if layout == "NCHW":
                work = each(lambda case, d=dtype: by_torchvision(case, d), cases)
                yield step, "torchvision, PIL images", work, images.small_pixels, num_bytes
            yield step, "torch, whole batch", torchs, images.small_pixels, num_bytes


GROUPS = {
    "memory": memory,
    "decode": decode,
    "crop": crop,
    "resample": resample,
    "color": color,
    "tail": tail,
}
