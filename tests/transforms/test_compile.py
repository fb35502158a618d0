# SPDX-License-Identifier: Apache-2.0
"""Encoded images to a batch."""

import io
import os
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torchvision import transforms as v1
from torchvision.transforms import v2

from torch_dts import transforms
from torch_dts.transforms import compile

FIXED = v1.Compose([v1.Resize((18, 21)), v1.PILToTensor()])
TRAIN = v1.Compose(
    [v1.RandomResizedCrop(12), v1.RandomHorizontalFlip(), v1.ColorJitter(0.4, 0.4), v1.ToTensor()]
)
JPEG = b"\xff\xd8"


@pytest.mark.filterwarnings("ignore")
def test_odd_images(
    odd_images: pathlib.Path, odd_expected: dict[str, Any], on_pil: Callable[..., Tensor]
) -> None:
    """Pillow's pixels for whatever it opens, Pillow's error for the rest."""
    compiled = compile(FIXED)
    good, bad = [], []
    for sample in odd_expected["samples"]:
        data = (odd_images / sample["path"]).read_bytes()
        try:
            with Image.open(io.BytesIO(data)) as image:
                image.convert("RGB")
            good.append((sample["path"], data))
        except Exception as error:
            bad.append((data, type(error)))
    assert len(good) > 30
    assert len(bad) > 3
    datas = [data for _, data in good]
    batch, expected = compiled(datas), on_pil(FIXED, datas)
    assert [good[i][0] for i in range(len(good)) if not torch.equal(batch[i], expected[i])] == []
    for data, kind in bad:
        with pytest.raises(kind, match=r"sample 1 of the batch"):
            compiled([datas[0], data])


def test_an_image_comes_out_the_same_in_any_batch(pictures: Callable[..., list[bytes]]) -> None:
    datas = pictures(8, low=20)
    compiled = compile(TRAIN)
    together = compiled(datas, seed=5, epoch=2, indices=range(100, 108))
    assert together.shape == (8, 3, 12, 12)
    assert together.dtype == torch.float32
    for i in (0, 3, 7):
        alone = compiled([datas[i]], seed=5, epoch=2, indices=torch.tensor([100 + i]))
        assert torch.equal(alone[0], together[i])
    assert torch.equal(compiled(datas, seed=5 - 2**64, epoch=2, indices=range(100, 108)), together)
    for other in ({"seed": 6}, {"epoch": 3}, {"indices": range(8)}):
        how = {"seed": 5, "epoch": 2, "indices": range(100, 108), **other}
        assert not torch.equal(compiled(datas, **how), together)
    assert torch.equal(compiled(datas), compiled(datas, seed=0, epoch=0, indices=list(range(8))))


def test_one_thread_or_many(pictures: Callable[..., list[bytes]]) -> None:
    datas = pictures(20, low=20)
    threads = torch.get_num_threads()
    batches = []
    try:
        for count in (1, 4):
            torch.set_num_threads(count)
            batches.append(compile(TRAIN)(datas))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(*batches)


def test_bytes_like_samples(pictures: Callable[..., list[bytes]]) -> None:
    datas = pictures(4)
    kinds = [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, dtype=np.uint8)]
    mixed = [kind(data) for kind, data in zip(kinds, datas, strict=True)]
    for transform in (FIXED, v1.Compose([v1.Lambda(lambda image: image), FIXED])):
        assert torch.equal(compile(transform)(mixed), compile(FIXED)(datas))


def test_wrong_arguments(pictures: Callable[..., list[bytes]]) -> None:
    compiled, datas = compile(FIXED), pictures(2)
    for transform in (compiled, compile(None)):
        with pytest.raises(ValueError, match="samples is empty, expected at least one"):
            transform([])
        with pytest.raises(TypeError, match="sample 1 is str, expected the bytes of an encoded image"):
            transform([datas[0], "cat.jpg"])
    with pytest.raises(TypeError, match="sample 0 is int"):
        compiled(datas[0])
    for epoch in (-1, 1 << 32):
        with pytest.raises(ValueError, match=f"epoch is {epoch}, expected 0 to 4294967295"):
            compiled(datas, epoch=epoch)
    with pytest.raises(
        ValueError, match=r"indices is torch.int64 of shape \(3,\), expected integers of shape \(2,\)"
    ):
        compiled(datas, indices=[1, 2, 3])
    with pytest.raises(ValueError, match=r"indices is torch.float32 of shape"):
        compiled(datas, indices=[1.0, 2.0])
    for number in (-1, 1 << 40):
        with pytest.raises(
            ValueError, match=rf"indices has numbers from .*{number}.*, expected 0 to 2\^40 - 1"
        ):
            compiled(datas, indices=[number, 5])
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        compiled(datas, seed=1.5)


def test_pillows_error_names_the_sample(pictures: Callable[..., list[bytes]]) -> None:
    datas = pictures(3)
    for bad in (b"", b"no picture", JPEG, datas[0][:40]):
        for transform in (FIXED, v1.Compose([v1.Lambda(lambda image: image), FIXED])):
            with pytest.raises(OSError, match=r"\(sample 2 of the batch\)"):
                compile(transform)([datas[0], datas[1], bad])


def test_torchvisions_error_for_what_a_transform_refuses(pictures: Callable[..., list[bytes]]) -> None:
    large, small = pictures(1, low=60, high=61), pictures(1, low=9, high=10)
    for library in (v1, v2):
        compiled = compile(v1.Compose([library.RandomCrop(40), v1.ToTensor()]))
        assert compiled(large).shape == (1, 3, 40, 40)
        with pytest.raises(
            ValueError, match=r"Required crop size \(40, 40\) is larger than .*sample 1 of the batch"
        ):
            compiled(large + small)
    with pytest.raises(RuntimeError, match=r"Padding size should be less than .*sample 1 of the batch"):
        compile(v1.Compose([v1.GaussianBlur(41), v1.CenterCrop(40), v1.ToTensor()]))(large + small)


def test_a_transform_that_does_what_native_code_does_not(
    pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    """Then its own result counts, and must be like the others."""
    datas = pictures(3, low=9, high=10)
    compiled = compile(v1.Compose([v1.RandomCrop(40), v1.ToTensor()]))
    compiled.transform = v1.Compose([v1.CenterCrop(40), v1.ToTensor()])
    assert torch.equal(compiled(datas), on_pil(compiled.transform, datas))
    compiled.transform = v1.Compose([v1.CenterCrop(30), v1.ToTensor()])
    with pytest.raises(
        RuntimeError, match=r"a tensor of \[3, 30, 30\] for sample 0 of the batch, expected \[3, 40, 40\]"
    ):
        compiled(datas)
    compiled.transform = v1.CenterCrop(40)
    with pytest.raises(TypeError, match="the transform gives Image for sample 0, expected a tensor"):
        compiled(datas)


def test_pillows_limits_of_pixels(
    pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    datas = pictures(1, low=40, high=41)  # a JPEG of 1600 pixels
    expected, compiled = on_pil(FIXED, datas), compile(FIXED)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1600)
    assert torch.equal(compiled(datas), expected)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1599)
    with pytest.warns(Image.DecompressionBombWarning, match="1600 pixels"):
        assert torch.equal(compiled(datas), expected)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 799)
    with pytest.raises(Image.DecompressionBombError, match=r"1600 pixels.*sample 0 of the batch"):
        compiled(datas)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert torch.equal(compiled(datas), expected)


def test_python_transforms_are_seeded_by_sample(pictures: Callable[..., list[bytes]]) -> None:
    datas = pictures(5, low=20)

    def noisy(image: Image.Image) -> Tensor:
        return torch.tensor([random.random(), float(np.random.random()), float(torch.rand(()))])

    compiled = compile(noisy)
    assert compiled.plan is None
    states = random.getstate(), torch.get_rng_state()
    batch = compiled(datas, seed=4, indices=range(10, 15))
    assert batch.shape == (5, 3)
    assert batch.unique().numel() == 15
    assert torch.equal(compiled(datas[3:4], seed=4, indices=[13])[0], batch[3])
    assert not torch.equal(compiled(datas, seed=5, indices=range(10, 15)), batch)
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])


def test_python_transforms_give_what_the_transform_gives(
    pictures: Callable[..., list[bytes]], on_pil: Callable[..., Tensor]
) -> None:
    datas = pictures(4)
    transform = v2.Compose([v2.Lambda(lambda image: image), v2.Resize((5, 6)), v2.ToImage()])
    batch = compile(transform)(datas)
    assert type(batch) is Tensor
    assert torch.equal(batch, on_pil(transform, datas))
    with pytest.raises(TypeError, match=r"the transform gives Image, expected a tensor; ToTensor\(\)"):
        compile(None)(datas)
    with pytest.raises(ZeroDivisionError, match=r"division by zero \(sample 0 of the batch\)"):
        compile(lambda image: 1 / 0)(datas)


def test_repr_and_names() -> None:
    assert repr(compile(FIXED)).endswith(", native)")
    assert repr(compile(None)).startswith("CompiledTransform(None, Python, without a transform")
    assert set(transforms.__all__) == {"CompiledTransform", "Views", "compile", "explain"}


CHECKED = """
import sys, torch
from torchvision.transforms import v2
from torch_dts.transforms import compile
transform = v2.Compose([v2.RandomResizedCrop(16), v2.ToImage()])
data = [sys.stdin.buffer.read()] * 20
batches = [compile(transform, decoder=decoder)(data, seed=3) for decoder in ("auto", "libjpeg")]
assert torch.equal(*batches)
print(batches[0].sum().item())
from torch_dts import _native
arena = torch.frombuffer(bytearray(data[0]), dtype=torch.uint8)
where = arena, torch.tensor([0]), torch.tensor([arena.numel()])
boxes = torch.tensor([[1, 2, 20, 30, 16, 16, 0, 0]])
assert _native.decode_crop_resize(*where, boxes, 16, 16)[1].item() == 0
assert _native.pixel_sums(*where, torch.zeros(1, 3, dtype=torch.int64))[0, 0].item() == 0
assert _native.export_jpegs(*where, 3)[3][0, 0].item() == 0
"""


def test_either_decoder_and_both_beside_each_other(pictures: Callable[..., list[bytes]]) -> None:
    data = pictures(1, low=40)[0]
    transform = v2.Compose([v2.RandomResizedCrop(16), v2.ToImage()])
    expected = compile(transform)([data] * 20, seed=3).sum().item()
    done = subprocess.run(
        [sys.executable, "-c", CHECKED],
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, "TORCH_DTS_CHECK_DECODER": "1"},
    )
    assert done.returncode == 0, done.stderr.decode()
    assert float(done.stdout) == expected
    with pytest.raises(ValueError, match=r"decoder is 'pillow', expected 'auto' or 'libjpeg'"):
        compile(transform, decoder="pillow")  # type: ignore[arg-type]
