# SPDX-License-Identifier: Apache-2.0
import errno
import os
import pathlib
import zlib

import numpy as np
import pytest
import torch

from torch_dts import CorruptFileError, _native


def test_missing_file_is_oserror(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        _native.file_open(tmp_path / "no such file.dts")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(tmp_path / "no such file.dts")


def test_directory_and_fifo(tmp_path: pathlib.Path) -> None:
    with pytest.raises(IsADirectoryError, match="directory"):
        _native.file_open(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file") as caught:
        _native.file_open(tmp_path / "fifo")
    assert caught.value.errno == errno.EINVAL


def test_foreign_file_is_corrupt_file_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff|%.dts")
    path.write_bytes(b"not a dts file " * 20)
    with pytest.raises(CorruptFileError, match=r"\\xff\|%\.dts at byte 0: .*\.DTS") as caught:
        _native.file_open(path)
    assert caught.value.path == str(path)
    assert caught.value.offset == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _native.file_close(-1), "closed or unknown file handle -1"),
        (lambda: _native.file_describe(10**9), "closed or unknown file handle 1000000000"),
        (lambda: _native.writer_abort(0), "closed or unknown writer handle 0"),
    ],
)
def test_unknown_handle_is_value_error(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def test_other_runtime_errors_pass_unchanged() -> None:
    error = RuntimeError("something else | with bars")
    assert _native.translate_error(error) is error


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1_000_003])
def test_crc32_is_zlibs(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    assert _native.crc32(torch.from_numpy(data)) == zlib.crc32(data.tobytes())


def test_tensor_checks() -> None:
    with pytest.raises(ValueError, match=r"data must have dtype torch\.uint8"):
        _native.crc32(torch.zeros(4))
    with pytest.raises(ValueError, match="data must be contiguous"):
        _native.crc32(torch.zeros(8, dtype=torch.uint8)[::2])


def test_library_names() -> None:
    assert _native.crc32_backend() in ("libdeflate", "zlib")
    assert _native.jpeg_library().startswith("libjpeg-turbo ")
    assert _native.simd_level() in ("generic", "avx2", "avx512")
