# SPDX-License-Identifier: Apache-2.0
"""Stored samples of pixels, and that every reader gives their pixels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import torch_dts
from torch_dts import _native
from torch_dts._raw import RawShape, as_image_file, raw_image, raw_sample, raw_shape
from torch_dts.convert import _metadata


def picture(seed: int, mode: str = "RGB", size: tuple[int, int] = (9, 7)) -> Image.Image:
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8), mode)


def as_png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def test_the_bytes_of_a_sample() -> None:
    image = picture(1)
    data = raw_sample(image)
    assert data == b"DTSR" + b"\x07\0\x09\0\x03" + bytes(7) + np.asarray(image).tobytes()
    assert raw_shape(data) == RawShape(7, 9, 3)
    gray = raw_sample(picture(2, "L"))
    assert raw_shape(gray) == RawShape(7, 9, 1)
    assert raw_image(gray, RawShape(7, 9, 1)).mode == "L"
    assert raw_sample(picture(3).convert("P")) == raw_sample(picture(3).convert("P").convert("RGB"))
    with pytest.raises(ValueError, match="65536 x 1 pixels, a raw sample has at most 65535 a side"):
        raw_sample(Image.new("L", (65536, 1)))


@pytest.mark.parametrize("at", range(16))
def test_a_changed_head_is_no_such_sample(at: int) -> None:
    data = bytearray(raw_sample(picture(1)))
    data[at] ^= 0x10
    assert raw_shape(bytes(data)) is None


@pytest.mark.parametrize("length", [0, 3, 15, 16, 204, 206])
def test_another_length_is_no_such_sample(length: int) -> None:
    data = raw_sample(picture(1)) + b"\0"
    assert len(data) == 206
    assert raw_shape(data[:length]) is None
    assert bytes(as_image_file(data[:length])) == data[:length]


def write_mixed(path: Path) -> list[Image.Image]:
    """A file of four samples: RGB pixels, a PNG, gray pixels, RGB pixels of another size."""
    images = [picture(1), picture(2), picture(3, "L"), picture(4, size=(20, 30))]
    stored = [raw_sample(images[0]), as_png(images[1]), raw_sample(images[2]), raw_sample(images[3])]
    sizes = torch.tensor([len(data) for data in stored])
    labels = torch.tensor([0, 1, 1, 0])
    block_size, head = 16 << 20, 4096
    arena = torch.zeros(block_size, dtype=torch.uint8)
    offset = head
    for data in stored:
        arena[offset : offset + len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        offset += -(-len(data) // 64) * 64
    writer = _native.writer_open(
        str(path),
        overwrite=False,
        level=0,
        is_training=1,
        num_classes=2,
        num_blocks=1,
        block_size=block_size,
        block_header_size=head,
        has_raw=True,
    )
    crc = _native.finish_block(arena, 0, 0, head, sizes, labels)
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    _native.writer_add_section(writer, "CLSS", _metadata.encode_classes(["cat", "dog"]))
    names = ["cat/a.jpg", "dog/b.png", "dog/c.jpg", "cat/d.jpg"]
    _native.writer_add_section(writer, "PATH", _metadata.encode_paths(names))
    _native.writer_seal(writer, 600, int(sizes.sum()))
    _native.writer_publish(writer)
    return [image.convert("RGB") for image in images]


def test_every_reader_gives_the_pixels(tmp_path: Path) -> None:
    from torchvision.transforms import v2

    images = write_mixed(tmp_path / "a.dts")
    dataset = torch_dts.DTSDataset(tmp_path / "a.dts")
    assert dataset.file.header.version == (3, 1, 0, 0)
    for i, image in enumerate(images):
        assert dataset[i][0].mode == "RGB"
        assert np.array_equal(np.asarray(dataset[i][0]), np.asarray(image))
    stream = torch_dts.DTSIterableDataset(tmp_path / "a.dts", shuffle=False)
    assert [np.asarray(image).tobytes() for image, _ in stream] == [i.tobytes() for i in images]

    dataset.transform = v2.Compose([v2.Resize((8, 8)), v2.PILToTensor()])
    expected = torch.stack([dataset.transform(image) for image in images])
    for mode in ("partial", "fully"):
        loader = torch_dts.DataLoader(dataset, batch_size=4, num_workers=2, mode=mode)
        found, labels = next(iter(loader))
        assert torch.equal(found, expected)
        assert labels.tolist() == [0, 1, 1, 0]
        assert loader.stats().num_foreign == 1  # the PNG alone


def test_what_the_native_plan_refuses_raises_the_transforms_own_error(tmp_path: Path) -> None:
    from torchvision.transforms import v2

    write_mixed(tmp_path / "a.dts")
    dataset = torch_dts.DTSDataset(tmp_path / "a.dts", v2.Compose([v2.RandomCrop(8), v2.PILToTensor()]))
    loader = torch_dts.DataLoader(torch.utils.data.Subset(dataset, [0]), num_workers=1)
    with pytest.raises(ValueError, match=r"Required crop size \(8, 8\) is larger than.*\(7, 9\).*sample 0"):
        next(iter(loader))


def test_extract_makes_pngs_of_pixels(tmp_path: Path) -> None:
    images = write_mixed(tmp_path / "a.dts")
    torch_dts.extract(tmp_path / "a.dts", tmp_path / "out")
    for name, image in zip(["cat/a.jpg", "dog/b.png", "dog/c.jpg", "cat/d.jpg"], images, strict=True):
        found = Image.open(tmp_path / "out" / name)
        assert found.format == "PNG"
        assert found.convert("RGB").tobytes() == image.tobytes()
    assert torch_dts.verify(tmp_path / "a.dts").ok
