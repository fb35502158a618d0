# SPDX-License-Identifier: Apache-2.0
import zlib

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, build, samples_of
from tampering import flip, patch, read

from torch_dts import CorruptFileError, DTSFile
from torch_dts.file._whole_file import check_block, check_whole_file, crc_problem, files_identity


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 2, "b": 1}), [b"a", b"b"], blocks=[[1], [0, 2]])


def test_check_block(path):
    crcs = [zlib.crc32(read(path, HEADER_BYTES + b * BLOCK_SIZE, BLOCK_SIZE)) for b in range(2)]
    with DTSFile(path) as file:
        assert [check_block(file.handle, b) for b in range(2)] == [(crcs[0], ""), (crcs[1], "")]
    flip(path, HEADER_BYTES + BLOCK_SIZE)
    with DTSFile(path) as file:
        crc, problem = check_block(file.handle, 1)
        assert crc == zlib.crc32(read(path, HEADER_BYTES + BLOCK_SIZE, BLOCK_SIZE))
        assert problem == f"block 1 (stored samples 1..2): CRC-32 is {crc:#010x}, expected {crcs[1]:#010x}"
        with pytest.raises(IndexError, match="block 2"):
            check_block(file.handle, 2)


@pytest.mark.parametrize("num_workers", [None, 1, 3])
def test_check_whole_file(path, num_workers):
    with DTSFile(path) as file:
        check_whole_file(file.handle, file.volumes, num_workers)
    flip(path, HEADER_BYTES + BLOCK_SIZE - 1)
    flip(path, HEADER_BYTES + 2 * BLOCK_SIZE - 1)
    with DTSFile(path) as file, pytest.raises(CorruptFileError, match=r"block 0 .*CRC-32") as caught:
        check_whole_file(file.handle, file.volumes, num_workers)
    assert caught.value.offset == HEADER_BYTES


def test_bytes_behind_the_blocks_count(path):
    patch(path, HEADER_BYTES + 2 * BLOCK_SIZE, b"more")
    with (
        DTSFile(path) as file,
        pytest.raises(CorruptFileError, match=r"the CRC-32 of the whole file is 0x.*, the header says 0x"),
    ):
        check_whole_file(file.handle, file.volumes)


def test_crc_problem():
    assert (
        crc_problem(1, 0xFFFFFFFF) == "the CRC-32 of the whole file is 0x00000001, the header says 0xffffffff"
    )


def test_files_identity(path):
    with DTSFile(path) as file:
        volumes = file.volumes
    before = files_identity(volumes)
    state = path.stat()
    assert before == (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    assert files_identity(volumes) == before
    patch(path, HEADER_BYTES + 2 * BLOCK_SIZE, b"more")
    assert files_identity(volumes) != before
    path.unlink()
    assert files_identity(volumes) == ()
