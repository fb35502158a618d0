# SPDX-License-Identifier: Apache-2.0
"""Opening and describing a file: every value against what was written or against raw bytes."""

import os
import pathlib
import shutil
import struct
import threading
from typing import Any

import pytest
import torch

from torch_dts import CorruptFileError, _native


def test_header_fields(written: Any, handle: int) -> None:
    described = _native.file_describe(handle)
    raw = written.path.read_bytes()[:144]
    header = described["header"]
    (volume,) = described["volumes"]
    assert volume["path"] == str(written.path)
    assert volume["header"] == header
    assert volume["file_bytes"] == written.path.stat().st_size == (16 << 20) * 4
    assert volume["index_room"] == 340
    assert header["version"] == [3, 0, 0, 0]
    assert header["dataset_type"] == "IMAGENET"
    assert header["num_samples"] == struct.unpack_from("<I", raw, 52)[0] == 6
    assert header["num_blocks"] == header["total_blocks"] == 3
    assert header["num_classes"] == 10
    assert header["max_pic_area"] == 1234
    assert header["max_pic_per_block"] == 3
    assert header["crc_code"] == struct.unpack_from("<I", raw, 140)[0]
    source_bytes = sum(len(s) for s in written.samples)
    assert header["compression_ratio"] == pytest.approx((16 << 20) * 4 / source_bytes)


def test_head_is_header_and_table(written: Any, handle: int) -> None:
    raw = written.path.read_bytes()
    table_bytes = 16 + 40 * struct.unpack_from("<I", raw, 4096 + 8)[0]
    assert bytes(_native.file_head(handle).numpy()) == raw[:144] + raw[4096 : 4096 + table_bytes]


def test_sections(written: Any, handle: int) -> None:
    tags = [s["tag"] for s in _native.file_describe(handle)["volumes"][0]["sections"]]
    assert tags == ["HEAD", "BIDX", "SIZE", "LABL", "ORDR"]
    order = _native.file_section(handle, "ORDR")
    assert order is not None
    assert order.view(torch.int32).tolist() == written.source_index
    assert _native.file_section(handle, "PATH") is None


def test_tables(written: Any, handle: int) -> None:
    num_samples, crcs = _native.file_block_table(handle)
    assert num_samples.tolist() == written.block_counts
    raw = written.path.read_bytes()
    blocks = [
        torch.frombuffer(bytearray(raw[at : at + (16 << 20)]), dtype=torch.uint8)
        for at in range(16 << 20, len(raw), 16 << 20)
    ]
    assert crcs.tolist() == [_native.crc32(block) for block in blocks]
    assert _native.file_crc(handle, crcs) == _native.file_describe(handle)["header"]["crc_code"]
    offsets, sizes, source_index = _native.file_sample_table(handle)
    assert [raw[o : o + s] for o, s in zip(offsets.tolist(), sizes.tolist(), strict=True)] == written.samples
    assert source_index.tolist() == written.source_index
    labels = _native.file_labels(handle).tolist()
    assert [labels[source] for source in written.source_index] == written.labels


def test_closed_handle(written: Any) -> None:
    handle = _native.file_open(written.path)
    _native.file_close(handle)
    with pytest.raises(ValueError, match=f"closed or unknown file handle {handle}"):
        _native.file_labels(handle)


def test_a_file_that_changes_is_noticed(written: Any, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy.dts"
    shutil.copy(written.path, copy)
    handle = _native.file_open(copy)
    _native.file_check_unchanged(handle)
    os.utime(copy, ns=(0, 0))
    with pytest.raises(CorruptFileError, match="changed"):
        _native.file_check_unchanged(handle)
    with pytest.raises(CorruptFileError, match="changed"):
        _native.read_samples(handle, torch.tensor([0]))
    _native.file_close(handle)


def test_handles_serve_threads(written: Any, handle: int) -> None:
    """Readers in threads borrow handles of their own and get the same bytes."""
    failures: list[object] = []

    def read() -> None:
        for _ in range(20):
            out = torch.empty(16 << 20, dtype=torch.uint8)
            _native.read_blocks(handle, torch.tensor([2]), out)
            arena, offsets, sizes = _native.read_samples(handle, torch.tensor([5]))
            if bytes(arena[offsets[0] : offsets[0] + sizes[0]].numpy()) != b"last":
                failures.append(arena)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_reads_work_in_a_forked_child(written: Any, handle: int) -> None:
    pid = os.fork()
    if pid == 0:
        arena, _, _ = _native.read_samples(handle, torch.tensor([0]))
        os._exit(0 if bytes(arena[:5].numpy()) == b"first" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
