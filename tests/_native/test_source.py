# SPDX-License-Identifier: Apache-2.0
"""Sample sources: numbers, labels, indices and bytes against what was put in."""

import os
import pathlib
import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_dts import CorruptFileError, _native
from torch_dts._paths import join_paths

BLOCK = 16 << 20


def int64(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)


def read(source: int, *samples: int) -> list[bytes | None]:
    """The bytes of each sample, None for a missing one."""
    arena, offsets, sizes, _ = _native.source_read(source, int64(*samples))
    data = arena.numpy().tobytes()
    return [
        None if size < 0 else data[at : at + size]
        for at, size in zip(offsets.tolist(), sizes.tolist(), strict=True)
    ]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """Files of 10, 0 and 100 000 bytes, one that is not there, and a FIFO."""
    paths = [tmp_path / name for name in ("a", "b", "c\udcff", "gone", "fifo")]
    for path, size in zip(paths[:3], (10, 0, 100_000), strict=True):
        path.write_bytes(os.urandom(size))
    os.mkfifo(paths[4])
    return paths


def test_dts(written: Any, handle: int) -> None:
    source = _native.source_dts(handle)
    assert _native.source_info(source) == (6, 3, BLOCK, 0, False, False)
    labels, indices = _native.source_samples(source, torch.arange(6))
    assert labels.tolist() == written.labels
    assert indices.tolist() == written.source_index
    assert read(source, 4, 0, 3, 1, 3, 2, 5) == [written.samples[i] for i in (4, 0, 3, 1, 3, 2, 5)]
    assert _native.source_keep(source) == 0
    _native.source_close(source)


@pytest.mark.parametrize("keep", [1, 2])
def test_dts_kept_in_memory(written: Any, handle: int, keep: int) -> None:
    source = _native.source_dts(handle, keep)
    assert _native.source_keep(source, 1) == 1
    info = _native.source_info(source)
    assert (info.held_bytes, info.is_shared, info.is_complete) == (BLOCK, keep == 2, False)
    assert read(source, *range(6)) == written.samples
    assert _native.source_keep(source, check=False) == 2
    assert _native.source_keep(source) == 0
    info = _native.source_info(source)
    assert (info.held_bytes, info.is_shared, info.is_complete) == (3 * BLOCK, keep == 2, True)
    assert read(source, *range(6)) == written.samples
    _native.source_close(source)


@pytest.mark.parametrize("keep", [1, 2])
def test_dts_samples_in_memory_need_no_file(written: Any, tmp_path: pathlib.Path, keep: int) -> None:
    path = tmp_path / "copy.dts"
    path.write_bytes(written.path.read_bytes())
    opened = _native.file_open(path)
    source = _native.source_dts(opened, keep)
    _native.file_close(opened)  # the source has the file
    assert _native.source_keep(source, 1) == 1
    path.write_bytes(path.read_bytes()[: 2 * BLOCK])
    with pytest.raises(CorruptFileError, match="the file changed since it was opened"):
        read(source, 5)
    _native.source_close(source)


@pytest.mark.parametrize("keep", [1, 2])
def test_dts_with_damage_in_one_block(written: Any, tmp_path: pathlib.Path, keep: int) -> None:
    path = tmp_path / "damaged.dts"
    data = bytearray(written.path.read_bytes())
    data[2 * BLOCK + 5000] ^= 1  # in block 1
    path.write_bytes(data)
    opened = _native.file_open(path)
    source = _native.source_dts(opened, keep)
    assert _native.source_keep(source, 1) == 1
    with pytest.raises(CorruptFileError, match=r"block 1 .*: CRC-32 is .*, expected"):
        _native.source_keep(source)
    assert _native.source_info(source).held_bytes == BLOCK
    assert _native.source_keep(source, check=False) == 2
    _native.source_close(source)
    _native.file_close(opened)


def test_dts_of_a_file_of_pixels_is_refused(tmp_path: pathlib.Path) -> None:
    header = bytearray(144)
    header[:20] = b".DTS\x03\0\0\0   MNIST\x01\0\0\0"
    for at, value in ((28, 10), (36, 28), (40, 28), (44, 1), (52, 1), (56, 1), (64, 1), (68, 1), (80, 256)):
        header[at : at + 4] = value.to_bytes(4, "little")
    header[32:36] = b"NHWC"
    header[48:52] = b"GRAY"
    path = tmp_path / "pixels.dts"
    path.write_bytes(bytes(header) + bytes(112 + 785))
    opened = _native.file_open(path)
    with pytest.raises(ValueError, match=r"a pixel file \(MNIST\) has no blocks"):
        _native.source_dts(opened)
    _native.file_close(opened)


def test_files(folder: list[pathlib.Path]) -> None:
    for paths in (folder, join_paths(folder)):
        source = _native.source_files(paths, torch.arange(5) * 10)
        assert _native.source_info(source) == (5, 0, 0, 0, False, False)
        labels, indices = _native.source_samples(source, int64(4, 0))
        assert labels.tolist() == [40, 0]
        assert indices.tolist() == [4, 0]
        expected = [path.read_bytes() for path in folder[:3]]
        assert read(source, 4, 2, 1, 0, 3, 2) == [None, expected[2], b"", expected[0], None, expected[2]]
        _native.source_close(source)


def test_files_kept_in_memory(folder: list[pathlib.Path]) -> None:
    expected = [path.read_bytes() for path in folder[:3]]
    source = _native.source_files(folder[:3], torch.zeros(3, dtype=torch.int64), keep=1)
    assert read(source, 2, 0) == [expected[2], expected[0]]
    assert not _native.source_info(source).is_complete
    assert read(source, 1, 2) == [b"", expected[2]]
    info = _native.source_info(source)
    assert info.is_complete
    assert 100_010 <= info.held_bytes <= 8 << 20
    for path in folder[:3]:
        path.unlink()
    assert read(source, 2, 1, 0) == [expected[2], b"", expected[0]]
    _native.source_close(source)


@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 3, 5, 1), (4, 2, 2, 3)])
def test_pixels_are_used_in_place(shape: tuple[int, ...]) -> None:
    pixels = torch.randint(0, 256, shape, dtype=torch.uint8)
    source = _native.source_pixels(pixels, int64(7, 8, 9, 10))
    assert _native.source_info(source) == (4, 0, 0, pixels.numel(), False, True)
    assert _native.source_samples(source, int64(3))[0].tolist() == [10]
    pixels[2] += 1  # seen by the source
    expected = [pixels[i].numpy().tobytes() for i in (2, 0)]
    arena, offsets, sizes, shapes = _native.source_read(source, int64(2, 0))
    assert shapes.tolist() == [[*shape[1:3], shape[3] if len(shape) == 4 else 1]] * 2
    del pixels
    assert read(source, 2, 0) == expected
    assert sizes.tolist() == [len(expected[0])] * 2
    assert offsets.tolist() == [0, 64]
    assert arena.numel() == 128
    _native.source_close(source)


def test_join(written: Any, handle: int, folder: list[pathlib.Path]) -> None:
    pixels = torch.arange(12, dtype=torch.uint8).reshape(3, 2, 2)
    parts = [
        _native.source_pixels(pixels, int64(1, 2, 3)),
        _native.source_dts(handle, 1),
        _native.source_files(folder, torch.arange(5)),
    ]
    source = _native.source_join(parts)
    for part in parts:
        _native.source_close(part)
    assert _native.source_info(source) == (14, 0, 0, 12, False, False)
    labels, indices = _native.source_samples(source, torch.arange(14))
    assert labels.tolist() == [1, 2, 3, *written.labels, 0, 1, 2, 3, 4]
    assert indices.tolist() == [0, 1, 2, *(3 + i for i in written.source_index), 9, 10, 11, 12, 13]
    expected = [folder[0].read_bytes(), written.samples[3], bytes(range(4, 8)), None]
    for num_kept in (0, 3):
        assert _native.source_keep(source, num_kept) == num_kept
        assert read(source, 9, 6, 1, 12) == expected
    assert _native.source_info(source).held_bytes == 12 + 3 * BLOCK
    _native.source_close(source)


def test_wrong_arguments(handle: int) -> None:
    zeros = torch.zeros(2, dtype=torch.int64)
    pixels = torch.zeros(2, 3, 3, dtype=torch.uint8)
    with pytest.raises(ValueError, match="keep is 3, expected 0"):
        _native.source_dts(handle, 3)
    with pytest.raises(ValueError, match=r"keep is 2, expected 0 \(nothing\) or 1"):
        _native.source_files(["a", "b"], zeros, 2)
    with pytest.raises(ValueError, match="2 labels for 1 files, expected one each"):
        _native.source_files(["a"], zeros)
    with pytest.raises(ValueError, match=r"labels must have dtype torch.int64"):
        _native.source_files(["a", "b"], zeros.int())
    with pytest.raises(ValueError, match="pixels has 2 dimensions, expected 3"):
        _native.source_pixels(pixels[0], zeros)
    with pytest.raises(ValueError, match=r"expected 3 images \(one per label\) of 9 bytes"):
        _native.source_pixels(pixels, int64(1, 2, 3))
    with pytest.raises(ValueError, match=r"pixels must have dtype torch.uint8"):
        _native.source_pixels(pixels.float(), zeros)
    with pytest.raises(ValueError, match="pixels must be contiguous"):
        _native.source_pixels(pixels.transpose(1, 2)[:, 1:], zeros)
    with pytest.raises(ValueError, match="no sources to join"):
        _native.source_join([])
    source = _native.source_dts(handle)
    with pytest.raises(IndexError, match="sample 6 is out of range, the source has 6"):
        _native.source_read(source, int64(6))
    with pytest.raises(IndexError, match="sample -1 is out of range"):
        _native.source_samples(source, int64(-1))
    _native.source_close(source)


def test_closed_and_unknown_handles(handle: int) -> None:
    source = _native.source_dts(handle)
    _native.source_close(source)
    for use in (_native.source_close, _native.source_info, lambda handle: _native.source_join([handle])):
        with pytest.raises(ValueError, match=f"closed or unknown source handle {source}"):
            use(source)
    with pytest.raises(ValueError, match="closed or unknown file handle 987654"):
        _native.source_dts(987654)
    buffers = _native.buffers_open()
    _native.buffers_close(buffers)
    with pytest.raises(ValueError, match=f"closed or unknown read buffers handle {buffers}"):
        _native.buffers_close(buffers)


def test_threads_read_one_source(written: Any, handle: int) -> None:
    source = _native.source_dts(handle, 1)
    results: list[list[bytes | None]] = []

    def work() -> None:
        _native.source_keep(source)
        results.append(read(source, 5, 3, 1, 0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[written.samples[i] for i in (5, 3, 1, 0)]] * 4
    assert _native.source_info(source).is_complete
    _native.source_close(source)
