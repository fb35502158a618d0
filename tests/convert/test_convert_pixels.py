# SPDX-License-Identifier: Apache-2.0
"""convert() of data sets whose images are arrays: pixel files."""

from __future__ import annotations

import io
import os
import pathlib
import struct
import warnings
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from array_sets import ARRAY_SETS, array_set, items_of
from PIL import Image
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import CIFAR10, CIFAR100, KMNIST, MNIST, FashionMNIST

import torch_dts
from torch_dts import _native
from torch_dts.convert import _pixel_leaf


@pytest.fixture
def target(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "out.dts"


def refuse(value: Any) -> Any:
    raise AssertionError("not asked")


@pytest.mark.parametrize("kind", ARRAY_SETS)
@pytest.mark.parametrize("train", [True, False])
def test_round_trip(kind: type, train: bool, target: pathlib.Path) -> None:
    plain = array_set(kind, 20, train=train)
    source = array_set(kind, 20, train=train, transform=refuse, target_transform=refuse)
    report = torch_dts.convert(source, target)
    dataset = torch_dts.DTSDataset(report)
    assert items_of(dataset) == items_of(plain)
    assert all(type(label) is int for _, label in (dataset[0], plain[0]))
    assert dataset.classes == list(plain.classes)
    assert dataset.class_to_idx == plain.class_to_idx
    assert dataset.targets == [int(target) for target in plain.targets]
    assert dataset.file.header.is_training == int(train)
    assert dataset.file.info["name"] == kind.__name__
    assert dataset.file.info["source"]["kind"] == kind.__name__
    assert torch_dts.verify(target)
    assert (report.num_samples, report.num_classes) == (20, len(plain.classes))
    assert report.file_bytes == target.stat().st_size
    assert sorted(path.name for path in target.parent.iterdir()) == ["out.dts"]


# What a header holds, field by field: docs/format.md, section 1.
@pytest.mark.parametrize(
    ("kind", "dataset_type", "color_type", "side", "channels", "num_classes"),
    [
        (MNIST, b"   MNIST", b"GRAY", 28, 1, 10),
        (KMNIST, b"   MNIST", b"GRAY", 28, 1, 10),
        (CIFAR10, b" CIFAR10", b" RGB", 32, 3, 10),
        (CIFAR100, b"CIFAR100", b" RGB", 32, 3, 100),
    ],
)
def test_every_byte(
    kind: type,
    dataset_type: bytes,
    color_type: bytes,
    side: int,
    channels: int,
    num_classes: int,
    target: pathlib.Path,
) -> None:
    source = array_set(kind, 7, train=False)
    torch_dts.convert(source, target)
    data = target.read_bytes()
    labels = np.asarray(source.targets, dtype=np.uint8).tobytes()
    pixels = np.ascontiguousarray(source.data).tobytes()
    assert data[256 : 256 + 7] == labels
    end = 256 + 7 + len(pixels)
    assert data[263:end] == pixels
    payload = 7 * (1 + side * side * channels)
    assert end == 256 + payload
    header = struct.pack(
        "<4s4B8sIIII4sIII4sIIIIIQIQIIIIIf3f3fI",
        *(b".DTS", 3, 0, 0, 0, dataset_type, 0, 0, 0, num_classes, b"NHWC", side, side, channels),
        *(color_type, 7, 1, 0, 1, 1, len(data), 256, payload, payload, 0, 0, side * side, 7, 1.0),
        *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, zlib.crc32(data[256:])),
    )
    assert data[:256] == header.ljust(256, b"\0")

    table, magic, crc = struct.unpack("<Q4sI", data[-16:])
    assert (table, magic, crc) == (-(-end // 64) * 64, b"DTSX", zlib.crc32(data[-16:-4]))
    assert data[end:table] == bytes(table - end)
    head = data[table : table + 16 + 40 * 3]
    assert struct.unpack("<4sII", head[:12]) == (b"DTSX", 1, 3)
    assert struct.unpack("<I", head[12:16])[0] == zlib.crc32(head[:12] + bytes(4) + head[16:])
    sections = {}
    for at in range(16, len(head), 40):
        tag, flags, offset, stored, raw, crc, zero = struct.unpack("<4sIQQQII", head[at : at + 40])
        sections[tag] = data[offset : offset + stored]
        assert (flags, stored, zero, offset % 64) == (0, raw, 0, 0)
        assert crc == zlib.crc32(sections[tag])
    assert list(sections) == [b"HEAD", b"INFO", b"CLSS"]
    assert sections[b"HEAD"] == struct.pack("<I", zlib.crc32(data[:140]))
    names = b"".join(struct.pack("<H", len(name)) + name.encode() for name in source.classes)
    assert sections[b"CLSS"] == struct.pack("<I", num_classes) + names


def test_equal_runs_give_equal_files(tmp_path: pathlib.Path) -> None:
    source = array_set(CIFAR10, 3000)  # some pieces
    for name, workers in (("a", 1), ("b", 3)):
        torch_dts.convert(source, tmp_path / name, num_workers=workers, order="source", seed=workers)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_subset_concat_and_files_as_sources(tmp_path: pathlib.Path) -> None:
    first, second = array_set(CIFAR10, 30), array_set(CIFAR10, 20, seed=1)
    written = torch_dts.DTSDataset(torch_dts.convert(second, tmp_path / "second.dts"), transform=refuse)
    source = Subset(ConcatDataset([first, written]), [49, 3, 30, 3, -1])
    report = torch_dts.convert(source, tmp_path / "x.dts")
    expected = [items_of(first)[3], *(items_of(second)[i] for i in (19, 0))]
    found = items_of(torch_dts.DTSDataset(report))
    assert found == [expected[1], expected[0], expected[2], expected[0], expected[1]]
    with torch_dts.open(report) as file:
        assert file.info["name"] == "CIFAR10"
        assert file.info["source"]["kind"] == "Subset"
        assert file.header.dataset_type == "CIFAR10"
    again = torch_dts.convert(torch_dts.open(tmp_path / "second.dts"), tmp_path / "again.dts")
    assert items_of(torch_dts.DTSDataset(again)) == items_of(second)


def test_cifar100_stays_cifar100(tmp_path: pathlib.Path) -> None:
    first = torch_dts.convert(array_set(CIFAR100, 5), tmp_path / "a.dts")
    second = torch_dts.convert(torch_dts.DTSDataset(first), tmp_path / "b.dts")
    with torch_dts.open(second) as file:
        assert file.header.dataset_type == "CIFAR100"
        assert file.info["name"] == "CIFAR100"


def test_split_is_taken_or_given(tmp_path: pathlib.Path) -> None:
    train, test = array_set(MNIST, 3), array_set(MNIST, 3, train=False)
    val = torch_dts.open(torch_dts.convert(test, tmp_path / "val.dts"))
    sources = [
        (train, None, 1),
        (test, None, 0),
        (Subset(test, [0]), None, 0),
        (ConcatDataset([test, val]), None, 0),
        (ConcatDataset([train, test]), None, 1),
        (Subset(ConcatDataset([train, test]), [4]), None, 0),
        (test, "train", 1),
        (train, "val", 0),
    ]
    for number, (source, split, expected) in enumerate(sources):
        report = torch_dts.convert(source, tmp_path / f"{number}.dts", split=split)
        with torch_dts.open(report) as file:
            assert file.header.is_training == expected


def test_class_to_idx(target: pathlib.Path) -> None:
    source = array_set(FashionMNIST, 12)
    order = {name: 9 - i for i, name in enumerate(source.classes)}
    dataset = torch_dts.DTSDataset(torch_dts.convert(source, target, class_to_idx=order))
    assert dataset.classes == source.classes[::-1]
    assert dataset.targets == [9 - label for label in source.targets.tolist()]


def test_the_report(target: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = torch_dts.convert(array_set(CIFAR10, 20), target, progress=True)
    assert "writing: 100%" in capsys.readouterr().err
    assert report.sample_shape == (32, 32, 3)
    assert report.source_bytes == 20 * 3072
    assert (report.num_blocks, report.room_bytes, report.num_encoded, report.skipped) == (1, 0, 0, ())
    assert "  pixels    32 x 32 x 3 (height, width, channels)" in str(report).splitlines()
    assert "blocks" not in str(report)


def test_as_png_in_blocks(tmp_path: pathlib.Path) -> None:
    source = array_set(MNIST, 6, train=False)
    pixel_file = torch_dts.convert(source, tmp_path / "pixels.dts")
    for number, each in enumerate((source, torch_dts.DTSDataset(pixel_file))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = torch_dts.convert(each, tmp_path / f"{number}.dts", encoding="png")
        assert report.num_encoded == 6
        assert report.sample_shape is None
        with torch_dts.open(report) as file:
            assert file.header.has_blocks
            assert not file.header.is_training
            assert file.info["encoding"] == "png"
            assert file.labels.tolist() == source.targets.tolist()
            for i in range(6):
                image = Image.open(io.BytesIO(file.read(i)))
                assert (image.format, image.mode) == ("PNG", "L")
                assert image.tobytes() == source.data[i].numpy().tobytes()


def test_png_of_what_is_encoded_already(image_folder: Any, target: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="encoding='png' is for images that are pixels"):
        torch_dts.convert(image_folder(), target, encoding="png")
    assert not target.exists()


class Own(CIFAR10):  # type: ignore[misc]
    """Items that are not those of the arrays."""

    def __getitem__(self, index: int) -> tuple[Image.Image, int]:
        image, label = super().__getitem__(index)
        return image.rotate(90), label


def test_a_subclass_with_items_of_its_own_is_asked(target: pathlib.Path) -> None:
    source = array_set(Own, 4)
    with pytest.warns(UserWarning, match="4 PIL images were stored as PNG"):
        report = torch_dts.convert(source, target)
    assert report.sample_shape is None
    assert items_of(torch_dts.DTSDataset(report)) == items_of(source)
    report = torch_dts.convert(source, target, encoding="pixels", overwrite=True)
    assert report.sample_shape == (32, 32, 3)
    assert items_of(torch_dts.DTSDataset(report)) == items_of(source)


class Images:
    """A map-style data set of given images."""

    def __init__(self, images: list[Any], labels: list[int] | None = None) -> None:
        self.images = images
        self.labels = [0] * len(images) if labels is None else labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if isinstance(self.images[index], Exception):
            raise self.images[index]
        return self.images[index], self.labels[index]


def test_other_sets_by_request(target: pathlib.Path) -> None:
    arrays = np.random.default_rng(0).integers(0, 256, (3, 9, 7, 3), dtype=np.uint8)
    source = Images([Image.fromarray(arrays[0]), arrays[1], Image.fromarray(arrays[2])], [2, 0, 1])
    report = torch_dts.convert(Subset(source, [2, 0, 1, 0]), target, encoding="pixels")
    dataset = torch_dts.DTSDataset(report)
    found = [np.asarray(image) for image, _ in (dataset[i] for i in range(4))]
    assert np.array_equal(np.stack(found), arrays[[2, 0, 1, 0]])
    assert dataset.targets == [1, 2, 0, 2]
    assert dataset.classes == ["0", "1", "2"]
    header = dataset.file.header
    assert header.dataset_type == "PIXELS"
    assert (header.image_height, header.image_width, header.num_channels) == (9, 7, 3)
    assert header.is_training == 1
    assert dataset.file.info["name"] == "Images"
    raw = target.read_bytes()
    assert raw[8:16] == b"  PIXELS"


def test_limits(target: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = array_set(MNIST, 2)
    source.classes = [str(i) for i in range(257)]
    with pytest.raises(
        ValueError, match=r"has 257 classes; a pixel file holds at most 256.*encoding='png' stores"
    ):
        torch_dts.convert(source, target)
    source.classes = [str(i) for i in range(256)]
    source.targets = torch.tensor([255, 0])
    assert torch_dts.DTSDataset(torch_dts.convert(source, target)).targets == [255, 0]

    monkeypatch.setattr(_pixel_leaf, "MAX_PAYLOAD_BYTES", 2 * 785 - 1)
    message = (
        "2 images of 28 x 28 x 1 are 1570 bytes.*less than 4 GiB.*encoding='png' stores them .* in blocks"
    )
    with pytest.raises(ValueError, match=message):
        torch_dts.convert(source, target, overwrite=True)
    with pytest.raises(ValueError, match=message):
        torch_dts.convert(
            Images([np.zeros((28, 28), np.uint8)] * 2), target, encoding="pixels", overwrite=True
        )


def test_wrong_arguments(image_folder: Any, target: pathlib.Path) -> None:
    source = array_set(MNIST, 3)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (source, {"block_size": 16 << 20}, "block_size=16777216 has no meaning for a pixel file"),
        (Subset(source, []), {}, "the source has no samples"),
        (Subset(source, []), {"encoding": "pixels"}, "the source has no samples"),
        (ConcatDataset([source, array_set(KMNIST, 3)]), {}, "the joined data sets have different classes"),
        (source, {"max_size": 9}, "level, max_size, restart_interval, .* have no meaning for a pixel file"),
        (source, {"class_to_idx": {"cat": 0}}, "class_to_idx lacks the source's class '0 - zero'"),
    ]
    for wrong, arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            torch_dts.convert(wrong, target, **arguments)
    with pytest.raises(TypeError, match="encoding='pixels' needs a data set of images that are pixels"):
        torch_dts.convert(image_folder(), target, encoding="pixels")
    with pytest.raises(ValueError, match=r"path=None works for a folder.*say path="):
        torch_dts.convert(source)
    assert not target.exists()


def test_existing_files(target: pathlib.Path) -> None:
    target.write_bytes(b"kept")
    source = array_set(MNIST, 3)
    with pytest.raises(FileExistsError, match="exists; overwrite=True replaces it"):
        torch_dts.convert(source, target)
    assert target.read_bytes() == b"kept"
    torch_dts.convert(source, target, overwrite=True)
    with torch_dts.open(target) as file, pytest.raises(ValueError, match="would overwrite"):
        torch_dts.convert(file, target, overwrite=True)
    assert torch_dts.verify(target)


def test_damage_is_not_copied(target: pathlib.Path, tmp_path: pathlib.Path) -> None:
    torch_dts.convert(array_set(MNIST, 3), target)
    data = bytearray(target.read_bytes())
    data[300] ^= 1
    target.write_bytes(data)
    with (
        torch_dts.open(target, verify=False) as file,
        pytest.raises(torch_dts.CorruptFileError, match="CRC-32"),
    ):
        torch_dts.convert(file, tmp_path / "x.dts")
    assert not (tmp_path / "x.dts").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_stopped_conversion_leaves_nothing(
    target: pathlib.Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: Any) -> None:
        assert sorted(os.listdir(target.parent)) == ["out.dts.lock", "out.dts.partial"]
        raise error

    monkeypatch.setattr(_native, "pixel_writer_write", fail)
    with pytest.raises(type(error), match=r"No space left|^$"):
        torch_dts.convert(array_set(MNIST, 3), target)
    assert list(target.parent.iterdir()) == []


def test_a_real_constructor(tmp_path: pathlib.Path) -> None:
    """MNIST's own files, in the IDX format."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    random = np.random.default_rng(3)
    for split, count in (("train", 5), ("t10k", 3)):
        pixels = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 10, count, dtype=np.uint8)
        (raw / f"{split}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, count, 28, 28) + pixels.tobytes()
        )
        (raw / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels.tobytes())
    for train in (True, False):
        source = MNIST(tmp_path, train=train)
        dataset = torch_dts.DTSDataset(torch_dts.convert(source, tmp_path / f"{train}.dts"))
        assert items_of(dataset) == items_of(source)
        assert dataset.classes == source.classes
        assert dataset.file.header.is_training == int(train)
