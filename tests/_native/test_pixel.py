# SPDX-License-Identifier: Apache-2.0
"""The ops for pixel files: what one writes the other reads, and errors as Python's."""

from __future__ import annotations

import pathlib

import pytest
import torch

from torch_dts import CorruptFileError, _native
from torch_dts._native import _pixel


def open_writer(path: pathlib.Path, overwrite: bool = False, **changes: object) -> int:
    arguments: dict[str, object] = {
        "dataset_type": "PIXELS",
        "is_training": 1,
        "num_classes": 2,
        "num_samples": 3,
        "height": 4,
        "width": 5,
        "channels": 3,
        **changes,
    }
    return _pixel.pixel_writer_open(path, overwrite=overwrite, **arguments)  # type: ignore[arg-type]


@pytest.fixture
def pixels() -> torch.Tensor:
    return torch.randint(0, 256, (3, 4, 5, 3), dtype=torch.uint8)


@pytest.fixture
def path(tmp_path: pathlib.Path, pixels: torch.Tensor) -> pathlib.Path:
    path = tmp_path / "ä \udcff%.dts"  # a name that is no UTF-8
    writer = open_writer(path)
    _pixel.pixel_writer_write(writer, pixels[:1])
    _pixel.pixel_writer_write(writer, pixels[1:].flatten())
    _pixel.pixel_writer_finish(writer, torch.tensor([1, 0, 1]), b'{"a":1}', b"\2\0\0\0\0\0\0\0")
    with pytest.raises(ValueError, match="closed or unknown pixel writer handle"):
        _pixel.pixel_writer_abort(writer)
    return path


@pytest.mark.parametrize("check", [True, False])
def test_round_trip(path: pathlib.Path, pixels: torch.Tensor, check: bool) -> None:
    handle = _native.file_open(path)
    labels, found = _pixel.read_pixels(handle, check)
    assert labels.dtype == torch.int64
    assert labels.tolist() == [1, 0, 1]
    assert found.dtype == torch.uint8
    assert torch.equal(found, pixels)
    assert _native.file_labels(handle).tolist() == [1, 0, 1]
    section = _native.file_section(handle, "INFO")
    assert section is not None
    assert bytes(section.numpy()) == b'{"a":1}'
    offsets, sizes, source_index = _native.file_sample_table(handle)
    assert offsets.tolist() == [259, 319, 379]
    assert sizes.tolist() == [60] * 3
    assert source_index.tolist() == [0, 1, 2]
    arena, places, sizes = _native.read_samples(handle, torch.tensor([2, 0]))
    for place, size, sample in zip(places.tolist(), sizes.tolist(), (2, 0), strict=True):
        assert torch.equal(arena[place : place + size], pixels[sample].flatten())
    _native.file_close(handle)
    with pytest.raises(ValueError, match="closed or unknown file handle"):
        _pixel.read_pixels(handle)


def test_damage(path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)
    handle = _native.file_open(path)
    with pytest.raises(CorruptFileError, match="the CRC-32 of all behind the header is 0x") as caught:
        _pixel.read_pixels(handle)
    assert caught.value.path == str(path)
    assert caught.value.offset is None
    _pixel.read_pixels(handle, check=False)
    _native.file_close(handle)


def test_errors_of_the_writer(tmp_path: pathlib.Path, pixels: torch.Tensor) -> None:
    path = tmp_path / "a.dts"
    for changes, message in (
        ({"num_classes": 257}, "257 classes, expected 1 .. 256"),
        ({"num_samples": 1 << 31}, "2147483648 samples, expected 1 .. 1073741824"),
        ({"num_samples": -1}, "num_samples is -1, expected 0 to 4294967295"),
        ({"height": 65536}, "images of 65536 x 5 x 3"),
        ({"height": 60000, "width": 60000}, "expected less than 4 GiB in a pixel file"),
        ({"dataset_type": "MNIST"}, "dataset_type is 'MNIST', expected 'PIXELS'"),
    ):
        with pytest.raises(ValueError, match=message.replace(".", r"\.")):
            open_writer(path, **changes)
    writer = open_writer(path)
    with pytest.raises(BlockingIOError, match=r"a\.dts"):
        open_writer(path)
    with pytest.raises(ValueError, match=r"pixels must have dtype torch\.uint8"):
        _pixel.pixel_writer_write(writer, pixels.int())
    with pytest.raises(ValueError, match="pixels must be contiguous"):
        _pixel.pixel_writer_write(writer, pixels.transpose(1, 2))
    _pixel.pixel_writer_write(writer, pixels)
    with pytest.raises(ValueError, match="1 bytes of pixels, expected 0 at most"):
        _pixel.pixel_writer_write(writer, torch.zeros(1, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"label 2 is 2, expected 0 \.\. 1"):
        _pixel.pixel_writer_finish(writer, torch.tensor([0, 1, 2]), b"", b"")
    _pixel.pixel_writer_abort(writer)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"kept")
    with pytest.raises(FileExistsError, match=r"a\.dts"):
        open_writer(path)


def test_a_file_of_blocks_has_no_pixels(written: object) -> None:
    handle = _native.file_open(written.path)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="a file of blocks has no pixels"):
        _pixel.read_pixels(handle)
    _native.file_close(handle)
