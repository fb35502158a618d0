# SPDX-License-Identifier: Apache-2.0
"""Section contents, byte for byte."""

from __future__ import annotations

import os
import struct
import zlib

import torch

import torch_dts
from torch_dts.convert import _metadata
from torch_dts.file._names import StoredPaths, decode_classes


def test_info() -> None:
    info = _metadata.encode_info(
        kind="ImageFolder",
        num_listed=5,
        num_skipped=2,
        num_encoded=1,
        bytes_kept=False,
        order="source",
        seed=7,
        check="none",
    )
    assert info.decode() == (
        '{"bytes_kept":false,"check":"none","encoder":null,"encoding":"jpeg","level":0,"order":"source",'
        '"restart_interval":null,"seed":7,"source":{"kind":"ImageFolder","num_encoded":1,"num_samples":5,'
        '"num_skipped":2},'
        f'"writer":"torch_dts {torch_dts.__version__}"}}'
    )


def test_classes() -> None:
    names = ["cat", "", "猫", os.fsdecode(b"\xff")]
    payload = _metadata.encode_classes(names)
    assert payload == b"\4\0\0\0\3\0cat\0\0\3\0\xe7\x8c\xab\1\0\xff"
    assert decode_classes(payload, 4, "x.dts") == names


def test_labels() -> None:
    payload, raw_bytes = _metadata.encode_labels(torch.tensor([0, 258, (1 << 31) - 1]))
    assert raw_bytes == 12
    assert zlib.decompress(payload) == b"\0\0\0\0\2\1\0\0\xff\xff\xff\x7f"


def test_order() -> None:
    assert _metadata.encode_order(torch.tensor([1, 0, 65_536])) == b"\1\0\0\0\0\0\0\0\0\0\1\0"


def test_paths() -> None:
    names = ["a/1.jpg", os.fsdecode(b"b/\xe9.jpg")]
    payload = _metadata.encode_paths(names)
    (end,) = struct.unpack_from("<I", payload)
    assert end == len(payload) - 4
    assert zlib.decompress(payload[4:]) == b"a/1.jpg\0b/\xe9.jpg\0"


def test_paths_in_chunks() -> None:
    names = [f"class/{i}.jpg" for i in range(2 * 65_536 + 1)]
    payload = _metadata.encode_paths(names)
    ends = struct.unpack_from("<3I", payload)
    assert ends[2] == len(payload) - 12
    assert zlib.decompress(payload[12 + ends[1] :]) == b"class/131072.jpg\0"
    stored = StoredPaths(payload, len(names), "x.dts")
    assert list(stored) == names
    assert stored[65_536] == "class/65536.jpg"
