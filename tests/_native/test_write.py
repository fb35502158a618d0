# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import struct
import zlib

import pytest
import torch

from torch_dts import CorruptFileError, _native

BLOCK = 16 << 20


def open_writer(
    path: pathlib.Path, num_blocks: int = 1, overwrite: bool = False, resume: bool = False
) -> int:
    return _native.writer_open(
        path,
        overwrite=overwrite,
        level=0,
        is_training=1,
        num_classes=2,
        num_blocks=num_blocks,
        block_size=BLOCK,
        block_header_size=4096,
        resume=resume,
    )


def block_of(data: bytes) -> tuple[torch.Tensor, int, torch.Tensor]:
    arena = torch.full((BLOCK,), 255, dtype=torch.uint8)
    arena[4096 : 4096 + len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    sizes = torch.tensor([len(data)])
    return arena, _native.finish_block(arena, 0, 0, 4096, sizes, torch.tensor([1])), sizes


def test_finish_block_bytes() -> None:
    arena, crc, _ = block_of(b"abc")
    expected = struct.pack("<4sIIIIi", b"LV0B", 0, 1, 4096, 3, 1).ljust(4096, b"\0") + b"abc"
    assert bytes(arena.numpy()) == expected.ljust(BLOCK, b"\0")
    assert crc == zlib.crc32(expected.ljust(BLOCK, b"\0"))


def test_finish_block_refuses_what_does_not_fit() -> None:
    arena = torch.zeros(BLOCK, dtype=torch.uint8)
    with pytest.raises(ValueError, match="341"):
        _native.finish_block(arena, 0, 0, 4096, torch.zeros(341).long(), torch.zeros(341).long())
    with pytest.raises(ValueError, match=str(BLOCK)):
        _native.finish_block(arena, 0, 0, 4096, torch.tensor([BLOCK - 4095]), torch.tensor([0]))


def test_read_files_into(tmp_path: pathlib.Path) -> None:
    name = tmp_path / os.fsdecode(b"caf\xe9.jpg")
    name.write_bytes(b"coffee")
    (tmp_path / "tea.jpg").write_bytes(b"tea")
    arena = torch.zeros(128, dtype=torch.uint8)
    _native.read_files_into([name, tmp_path / "tea.jpg"], torch.tensor([64, 0]), torch.tensor([6, 3]), arena)
    assert bytes(arena.numpy()) == b"tea".ljust(64, b"\0") + b"coffee".ljust(64, b"\0")


@pytest.mark.parametrize("size", [2, 4])
def test_a_source_that_changed_is_named(tmp_path: pathlib.Path, size: int) -> None:
    (tmp_path / "tea.jpg").write_bytes(b"tea")
    with pytest.raises(CorruptFileError, match=r"tea\.jpg.*changed"):
        _native.read_files_into(
            [tmp_path / "tea.jpg"],
            torch.tensor([0]),
            torch.tensor([size]),
            torch.zeros(64, dtype=torch.uint8),
        )


def test_nothing_under_the_final_name_until_finish(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "set.dts"
    writer = open_writer(path)
    assert [p.name for p in tmp_path.iterdir()] == ["set.dts.partial"]
    arena, crc, sizes = block_of(b"abc")
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    _native.writer_seal(writer, 1, 3)
    _native.writer_publish(writer)
    assert [p.name for p in tmp_path.iterdir()] == ["set.dts"]
    with pytest.raises(ValueError, match="unknown writer handle"):
        _native.writer_seal(writer, 1, 3)


def test_abort_leaves_nothing(tmp_path: pathlib.Path) -> None:
    writer = open_writer(tmp_path / "set.dts")
    _native.writer_abort(writer)
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_writer_takes_over_blocks(tmp_path: pathlib.Path) -> None:
    arena, crc, sizes = block_of(b"abc")
    writer = open_writer(tmp_path / "set.dts", num_blocks=1, resume=True)
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    _native.writer_abort(writer)
    assert [p.name for p in tmp_path.iterdir()] == ["set.dts.partial"]
    writer = open_writer(tmp_path / "set.dts", num_blocks=1, resume=True)
    scratch = torch.zeros(BLOCK, dtype=torch.uint8)
    assert _native.writer_adopt_block(writer, 0, crc ^ 1, sizes, scratch) is False
    assert _native.writer_adopt_block(writer, 0, crc, sizes, scratch) is True
    assert scratch.equal(arena)
    with pytest.raises(ValueError, match="block 0 is written twice"):
        _native.writer_adopt_block(writer, 0, crc, sizes, scratch)
    _native.writer_seal(writer, 1, 3)
    _native.writer_publish(writer)
    assert [p.name for p in tmp_path.iterdir()] == ["set.dts"]


def test_missing_and_repeated_blocks(tmp_path: pathlib.Path) -> None:
    writer = open_writer(tmp_path / "set.dts", num_blocks=2)
    arena, crc, sizes = block_of(b"abc")
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    with pytest.raises(ValueError, match="block 0"):
        _native.writer_write_block(writer, 0, arena, crc, sizes)
    with pytest.raises(ValueError, match="block 2"):
        _native.writer_write_block(writer, 2, arena, crc, sizes)
    with pytest.raises(ValueError, match="block 1"):
        _native.writer_seal(writer, 1, 3)
    _native.writer_abort(writer)
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_one_target(tmp_path: pathlib.Path) -> None:
    writer = open_writer(tmp_path / "set.dts")
    with pytest.raises(BlockingIOError, match="another process"):
        open_writer(tmp_path / "set.dts")
    _native.writer_abort(writer)
    _native.writer_abort(open_writer(tmp_path / "set.dts"))


def test_existing_target(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "set.dts"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="exists"):
        open_writer(path)
    _native.writer_abort(open_writer(path, overwrite=True))
    assert path.read_bytes() == b"precious"


def test_target_that_appears_meanwhile(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "set.dts"
    writer = open_writer(path)
    arena, crc, sizes = block_of(b"abc")
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    path.write_bytes(b"precious")
    _native.writer_seal(writer, 1, 3)
    with pytest.raises(FileExistsError, match="exists"):
        _native.writer_publish(writer)
    _native.writer_abort(writer)
    assert path.read_bytes() == b"precious"


def test_mean_and_std_of_the_header(tmp_path: pathlib.Path) -> None:
    writer = open_writer(tmp_path / "a.dts")
    arena, crc, sizes = block_of(b"abc")
    _native.writer_write_block(writer, 0, arena, crc, sizes)
    mean, std = torch.tensor([0.25, 0.5, 0.75]), torch.tensor([0.125, 0.25, 0.5])
    with pytest.raises(ValueError, match="mean has 2 values, expected 3"):
        _native.writer_set_normalization(writer, mean[:2], std)
    with pytest.raises(ValueError, match=r"mean must have dtype torch\.float32"):
        _native.writer_set_normalization(writer, mean.double(), std)
    with pytest.raises(ValueError, match="of channel 0, expected at most 1 and"):
        _native.writer_set_normalization(writer, mean, 2 * mean + 1)
    _native.writer_set_normalization(writer, mean, std)
    _native.writer_seal(writer, 0, 3)
    _native.writer_publish(writer)
    stored = (tmp_path / "a.dts").read_bytes()
    assert struct.unpack_from("<6f", stored, 116) == (0.25, 0.5, 0.75, 0.125, 0.25, 0.5)
