# SPDX-License-Identifier: Apache-2.0
import pytest
from building import BLOCK_SIZE, HEADER_BYTES, build, samples_of
from tampering import entries, patch

import torch_dts
from torch_dts.file._padding import gaps


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 3, "b": 2}), [b"a", b"b"])


def test_gaps_lie_between_the_parts(path):
    with torch_dts.open(path) as file:
        found = list(gaps(file.header, file.sections, 16 + 40 * len(file.sections), file.file_bytes))
    assert found[0] == (144, 4096)
    assert found[-1][1] == HEADER_BYTES
    first = min(entry.offset for entry in entries(path).values())
    assert found[1][1] in (first, HEADER_BYTES) or found[1][0] > first
    assert all(start < end for start, end in found)


@pytest.mark.parametrize("offset", [144, 4095, HEADER_BYTES - 1, HEADER_BYTES - (5 << 20)])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_nonzero_byte_is_found(tmp_path, offset, is_old):
    tags = {"tags": ()} if is_old else {}
    path = build(tmp_path / "b.dts", samples_of({"a": 3, "b": 2}), [b"a", b"b"], **tags)
    patch(path, offset, b"\x07")
    (problem,) = torch_dts.verify(path).problems
    assert problem.kind == "padding"
    assert problem.message == f"byte {offset} is 0x07, expected 0: no part of the file is there"


def test_behind_the_last_part(path):
    end = path.stat().st_size
    assert end == HEADER_BYTES + BLOCK_SIZE
    patch(path, end + (3 << 20), b"\x01")
    assert torch_dts.verify(path).problems[0].message.startswith(f"byte {end + (3 << 20)} is 0x01")
