# SPDX-License-Identifier: Apache-2.0
import pathlib
from typing import Any

import pytest
import torch

from torch_dts import CorruptFileError, _native

BLOCK = 16 << 20


def test_read_blocks_and_index(written: Any, handle: int) -> None:
    ids = torch.tensor([2, 0])
    arena = torch.zeros(2 * BLOCK, dtype=torch.uint8)
    _native.read_blocks(handle, ids, arena)
    raw = written.path.read_bytes()
    assert bytes(arena[:BLOCK].numpy()) == raw[3 * BLOCK : 4 * BLOCK]
    assert bytes(arena[BLOCK:].numpy()) == raw[BLOCK : 2 * BLOCK]
    block, offsets, sizes, labels = _native.index_samples(handle, arena, ids)
    assert block.tolist() == [2, 2, 0, 0, 0]
    assert labels.tolist() == [2, 3, 3, 0, 9]
    found = [bytes(arena[o : o + s].numpy()) for o, s in zip(offsets.tolist(), sizes.tolist(), strict=True)]
    assert found == [b"y" * 65, b"last", b"first", b"", b"x" * 64]


def test_read_blocks_into_two_dimensions(handle: int) -> None:
    arena = torch.zeros(3, BLOCK, dtype=torch.uint8)
    _native.read_blocks(handle, torch.arange(3), arena)
    assert [bytes(row[:4].numpy()) for row in arena] == [b"LV0B"] * 3
    assert arena[:, 4].tolist() == [0, 1, 2]


def test_read_samples_in_the_order_asked(written: Any, handle: int) -> None:
    ids = [3, 0, 5, 0, 1, 2]
    arena, offsets, sizes = _native.read_samples(handle, torch.tensor(ids))
    assert (offsets % 64).tolist() == [0] * 6
    found = [bytes(arena[o : o + s].numpy()) for o, s in zip(offsets.tolist(), sizes.tolist(), strict=True)]
    assert found == [written.samples[i] for i in ids]


def test_read_no_samples(handle: int) -> None:
    arena, offsets, sizes = _native.read_samples(handle, torch.tensor([], dtype=torch.int64))
    assert (arena.numel(), offsets.numel(), sizes.numel()) == (0, 0, 0)


@pytest.mark.parametrize("bad", [-1, 6, 2**40])
def test_sample_out_of_range(handle: int, bad: int) -> None:
    with pytest.raises(IndexError, match=str(bad)):
        _native.read_samples(handle, torch.tensor([0, bad]))


@pytest.mark.parametrize("bad", [-1, 3, 2**40])
def test_block_out_of_range(handle: int, bad: int) -> None:
    with pytest.raises(IndexError, match=str(bad)):
        _native.read_blocks(handle, torch.tensor([bad]), torch.empty(BLOCK, dtype=torch.uint8))
    with pytest.raises(IndexError, match=str(bad)):
        _native.check_blocks(handle, torch.tensor([bad]))


def test_wrong_out(handle: int) -> None:
    with pytest.raises(ValueError, match=rf"out has 5 bytes, expected {BLOCK} \(1 blocks\)"):
        _native.read_blocks(handle, torch.tensor([0]), torch.empty(5, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"out must be torch\.uint8"):
        _native.read_blocks(handle, torch.tensor([0]), torch.empty(BLOCK))


def test_damaged_block(written: Any, tmp_path: pathlib.Path) -> None:
    raw = bytearray(written.path.read_bytes())
    raw[2 * BLOCK + 4096 + 1000] ^= 1
    path = tmp_path / "hurt.dts"
    path.write_bytes(raw)
    handle = _native.file_open(path)
    arena = torch.empty(BLOCK, dtype=torch.uint8)
    with pytest.raises(CorruptFileError, match=r"block 1 .*CRC"):
        _native.read_blocks(handle, torch.tensor([1]), arena)
    _native.read_blocks(handle, torch.tensor([1]), arena, check=False)
    assert arena[4096 + 1000] == raw[2 * BLOCK + 4096 + 1000]
    crcs, problems = _native.check_blocks(handle, torch.arange(3))
    assert [bool(p) for p in problems] == [False, True, False]
    assert "CRC" in problems[1]
    assert crcs[1] == _native.crc32(arena)
    _native.file_close(handle)
