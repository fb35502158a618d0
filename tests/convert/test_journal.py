# SPDX-License-Identifier: Apache-2.0
"""The journal: what comes back of it, cut and damaged in every way."""

from __future__ import annotations

import os
import pathlib
import zlib

import pytest
import torch

from torch_dts import CorruptFileError
from torch_dts.convert._check import Checked
from torch_dts.convert._journal import Journal, discard_journal, new_rows
from torch_dts.convert._report import BadSample

KEY = {"level": 3, "seed": 42, "samples": "0" * 64}
PLAN = bytes(range(32))


def row(number: int, offset: int, data: bytes) -> torch.Tensor:
    return torch.tensor([[number, offset, len(data), zlib.crc32(data), 0, 1, 2, 3]])


@pytest.fixture
def target(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "x.dts")


def fill(target: str) -> None:
    """Two encoded samples, a check's result and two blocks."""
    pathlib.Path(target + ".samples").write_bytes(b"firstsecond!")
    journal = Journal(target, KEY)
    assert not journal.is_begun
    odd = BadSample(os.fsdecode(b"\xff.jpg"), 2, "empty\n")
    journal.note_check(Checked(torch.tensor([10, 20, -1]), 77, 1, [odd]))
    journal.add_samples(row(1, 0, b"first"))
    journal.add_samples(new_rows(0))
    journal.add_samples(row(0, 5, b"second!"))
    assert journal.begin_blocks(PLAN) == {}
    journal.add_block(1, [5, 6, 7, 8])
    journal.add_block(0, [1, 2, 3, 4])
    journal.close()


def test_all_comes_back(target: str) -> None:
    fill(target)
    journal = Journal(target, KEY)
    assert journal.is_begun
    checked = journal.checked
    assert checked is not None
    assert (checked.sizes.tolist(), checked.max_area, checked.num_deep) == ([10, 20, -1], 77, 1)
    assert checked.bad == [BadSample(os.fsdecode(b"\xff.jpg"), 2, "empty\n")]
    assert journal.samples.tolist() == [*row(1, 0, b"first").tolist(), *row(0, 5, b"second!").tolist()]
    assert journal.spool_bytes == 12
    assert journal.begin_blocks(PLAN) == {0: [1, 2, 3, 4], 1: [5, 6, 7, 8]}
    journal.remove()
    assert os.listdir(os.path.dirname(target)) == []


def test_another_plan_makes_the_blocks_void(target: str) -> None:
    fill(target)
    journal = Journal(target, KEY)
    assert journal.begin_blocks(bytes(32)) == {}
    journal.close()
    journal = Journal(target, KEY)
    assert journal.begin_blocks(bytes(32)) == {}
    journal.close()


def test_cut_at_every_byte(target: str) -> None:
    """What is whole before the cut stays; what is added then comes behind it."""
    fill(target)
    data = pathlib.Path(target + ".journal").read_bytes()
    counts = set()
    for end in range(len(data)):
        pathlib.Path(target + ".journal").write_bytes(data[:end])
        journal = Journal(target, KEY)
        rows, blocks = journal.samples, journal.begin_blocks(PLAN)
        counts.add((journal.checked is not None, rows.shape[0], len(blocks)))
        journal.add_block(9, [9, 9, 9, 9])
        journal.close()
        journal = Journal(target, KEY)
        assert journal.samples.equal(rows)
        assert journal.begin_blocks(PLAN) == {**blocks, 9: [9, 9, 9, 9]}
        journal.close()
    assert counts == {(False, 0, 0), (True, 0, 0), (True, 1, 0), (True, 2, 0), (True, 2, 1)}


def test_a_flipped_bit_ends_it(target: str) -> None:
    fill(target)
    path = pathlib.Path(target + ".journal")
    data = path.read_bytes()
    at = data.index(b"SMPL", data.index(b"SMPL") + 1) + 20
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    journal = Journal(target, KEY)
    assert journal.samples.tolist() == row(1, 0, b"first").tolist()
    assert journal.begin_blocks(PLAN) == {}
    journal.close()


@pytest.mark.parametrize(("content", "left"), [(b"firstsec", [1]), (b"Firstsecond!", [0]), (None, [])])
def test_samples_whose_bytes_are_gone(target: str, content: bytes | None, left: list[int]) -> None:
    fill(target)
    os.unlink(target + ".samples")
    if content is not None:
        pathlib.Path(target + ".samples").write_bytes(content)
    journal = Journal(target, KEY)
    assert journal.samples[:, 0].tolist() == left
    journal.close()


def test_another_key_names_what_differs(target: str) -> None:
    fill(target)
    before = pathlib.Path(target + ".journal").read_bytes()
    with pytest.raises(
        ValueError, match=r"x\.dts\.journal is of another conversion.*differ: samples; seed was 42, now 1"
    ):
        Journal(target, {"level": 3, "samples": "1" * 64, "seed": 1})
    with pytest.raises(ValueError, match="encoder was None, now 'Pillow 1'"):
        Journal(target, {**KEY, "encoder": "Pillow 1"})
    assert pathlib.Path(target + ".journal").read_bytes() == before


def test_a_file_that_is_no_journal(target: str) -> None:
    path = pathlib.Path(target + ".journal")
    path.write_bytes(b"dear diary, today I packed a data set")
    with pytest.raises(CorruptFileError, match=r"x\.dts\.journal at byte 0: not a conversion's journal"):
        Journal(target, KEY)
    discard_journal(target)
    assert path.read_bytes().startswith(b"dear diary")


def test_two_at_a_time(target: str) -> None:
    journal = Journal(target, KEY)
    with pytest.raises(BlockingIOError, match="another conversion is writing this file now"):
        Journal(target, KEY)
    with pytest.raises(BlockingIOError, match="another conversion is writing this file now"):
        discard_journal(target)
    journal.close()
    Journal(target, KEY).close()


def test_discard(target: str) -> None:
    discard_journal(target)
    pathlib.Path(target + ".samples").write_bytes(b"mine")
    discard_journal(target)
    assert os.listdir(os.path.dirname(target)) == ["x.dts.samples"]
    fill(target)
    discard_journal(target)
    assert os.listdir(os.path.dirname(target)) == []
