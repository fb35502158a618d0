# SPDX-License-Identifier: Apache-2.0
import errno
import re
import struct

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, Sample, build, build_paths, samples_of
from tampering import (
    cut,
    entries,
    flip,
    patch,
    patch_index,
    replace_section,
    resign_block,
    resign_table,
    section,
    set_header,
)

import torch_dts
from torch_dts import CorruptFileError, _native, verify
from torch_dts.file import Problem

CLASSES = [b"a", b"b"]
NO_PART = "no part of the file is there"
BLOCKS = [[4, 0], [2, 1, 3]]
BLOCK_1 = HEADER_BYTES + BLOCK_SIZE


@pytest.fixture
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS)


@pytest.fixture
def old_path(tmp_path, samples):
    return build(tmp_path / "old.dts", samples, CLASSES, blocks=BLOCKS, tags=())


def only(report):
    """The one problem of a report."""
    assert not report.ok
    assert not report
    assert len(report.problems) == 1, report
    return report.problems[0]


def test_a_good_file(path):
    report = verify(path)
    assert report.ok
    assert report
    assert report.path == str(path)
    assert (report.num_blocks, report.num_samples) == (2, 5)
    assert report.problems == report.notes == ()
    assert report.seconds > 0
    assert str(report) == f"{path}: 5 samples in 2 blocks, all right"


def test_what_convert_wrote(dts_file):
    path = dts_file()
    assert torch_dts.verify(path).ok


def test_a_good_old_file(old_path):
    report = verify(old_path, num_workers=1)
    assert report.ok
    assert report.notes == ()


def test_a_set_without_samples(tmp_path):
    assert verify(build(tmp_path / "a.dts", [], [b"a"], blocks=[])).ok


def test_a_damaged_block_and_its_samples(path, samples):
    # The second half of a/1.jpg is gone.
    start = BLOCK_1 + 4096 + -(-len(samples[2].data) // 64) * 64
    half = len(samples[1].data) // 2
    patch(path, start + half, bytes(len(samples[1].data) - half))
    problem = only(verify(path))
    assert problem.kind == "block"
    assert problem.block == 1
    assert problem.samples == (1, 2, 3)
    assert problem.paths == ("a/1.jpg", "a/2.jpg", "b/0.jpg")
    assert problem.likely == (1,)
    assert problem.message.startswith("block 1 (stored samples 2..4): CRC-32 is 0x")
    assert str(problem) == problem.message


def test_damage_that_no_marker_shows(path):
    flip(path, BLOCK_1 + BLOCK_SIZE - 1)
    problem = only(verify(path))
    assert problem.samples == (1, 2, 3)
    assert problem.likely == ()


def test_other_kinds_of_pictures_do_not_look_damaged(tmp_path, odd_images):
    contents = [
        b"BM" + bytes(60),
        b"\xff\xd8cut",
        b"no picture",
        (odd_images / "png" / "la.png").read_bytes(),
        b"",  # stored before the PNG, at the same place
    ]
    samples = [Sample(b"a/%d" % i, 0, data) for i, data in enumerate(contents)]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    flip(path, HEADER_BYTES + BLOCK_SIZE - 1)
    problem = only(verify(path))
    assert problem.samples == (0, 1, 2, 3, 4)
    assert problem.likely == (1, 2, 4)


def test_several_blocks(path):
    flip(path, HEADER_BYTES + 4096 + 100)
    flip(path, BLOCK_1 + 4096)
    report = verify(path)
    assert [problem.block for problem in report.problems] == [0, 1]
    assert [problem.samples for problem in report.problems] == [(0, 4), (1, 2, 3)]
    assert report.problems[1].likely == (2,)  # its first byte, so it is no JPEG
    lines = str(report).splitlines()
    assert lines[0] == f"{path}: 5 samples in 2 blocks, 2 problems"
    assert lines[1].startswith("block 0 (stored samples 0..1): CRC-32")
    assert len(lines) == 3


def test_samples_that_are_no_jpegs_are_no_problem(tmp_path):
    samples = [Sample(b"a/text.jpg", 0, b"text"), Sample(b"a/empty.jpg", 0, b"")]
    assert verify(build(tmp_path / "a.dts", samples, [b"a"])).ok


def test_an_index_that_lies(path):
    patch_index(path, 1, 2, 0, 1)
    resign_block(path, 1)
    problem = only(verify(path))
    assert problem.kind == "block"
    assert problem.block == 1
    assert "sample 0 has label 1, expected 0 as section 'LABL' says" in problem.message


def test_a_file_crc_that_lies(path):
    set_header(path, crc_code=1)
    problem = only(verify(path))
    assert problem == Problem("file", problem.message)
    assert problem.message.startswith("the CRC-32 of the whole file is 0x")
    assert problem.message.endswith(", the header says 0x00000001")


def test_bytes_behind_the_blocks(path):
    patch(path, HEADER_BYTES + 2 * BLOCK_SIZE, b"more")
    padding, whole = verify(path).problems
    assert padding == Problem(
        "padding", f"byte {HEADER_BYTES + 2 * BLOCK_SIZE} is 0x6d, expected 0: " + NO_PART
    )
    assert whole.kind == "file"


def test_a_block_and_the_file(path):
    """Damage of a block explains a wrong CRC of the file only when nothing else is wrong."""
    set_header(path, crc_code=1)
    flip(path, BLOCK_1 + BLOCK_SIZE - 1)
    assert [problem.kind for problem in verify(path).problems] == ["block", "file"]


class TestWithoutBlockCrcs:
    def test_only_the_file_crc_can_tell(self, old_path):
        flip(old_path, BLOCK_1 + BLOCK_SIZE - 1)
        problem = only(verify(old_path))
        assert problem.kind == "file"
        assert problem.block is None
        assert problem.samples == problem.likely == ()
        assert (
            "no CRC-32 of single blocks is known, so it is not known where the damage is" in problem.message
        )

    def test_samples_that_look_damaged_are_named(self, old_path):
        flip(old_path, BLOCK_1 + 4096)
        problem = only(verify(old_path))
        assert problem.kind == "file"
        assert problem.samples == problem.likely == (2,)
        assert problem.paths == ("0/00000002.jpeg",)

    def test_a_damaged_index(self, old_path):
        patch(old_path, BLOCK_1, b"LV7B")
        report = verify(old_path)
        kinds = [(problem.kind, problem.block) for problem in report.problems]
        assert kinds == [("block", 1), ("file", None)]
        assert "block 1: magic is 'LV7B', expected 'LV0B'" in report.problems[0].message


class TestSections:
    def test_a_damaged_table(self, path):
        patch(path, 4096 + 12, bytes(4))
        report = verify(path)
        problem = only(report)
        assert problem.kind == "table"
        assert "section table: CRC-32" in problem.message
        assert report.notes == (
            "no section can be read, so the CRCs of the blocks are not known",
            "the zeros between the parts were not checked, as their places are not known",
            "which samples the blocks hold is not known, as tables are damaged",
        )

    def test_a_damaged_table_and_a_damaged_block(self, path):
        resign_table(path, version=2)
        patch(path, BLOCK_1, b"LV7B")
        report = verify(path)
        kinds = [(problem.kind, problem.block) for problem in report.problems]
        assert kinds == [("table", None), ("block", 1), ("file", None)]
        assert [problem.samples for problem in report.problems] == [(), (), ()]

    def test_a_damaged_table_and_damaged_samples(self, path):
        """Without ORDR their source indices are not known, so none are made up."""
        resign_table(path, version=2)
        flip(path, BLOCK_1 + 4096)
        report = verify(path)
        assert [problem.kind for problem in report.problems] == ["table", "file"]
        assert [problem.samples for problem in report.problems] == [(), ()]

    @pytest.mark.parametrize("tag", ["INFO", "CLSS", "LABL", "PATH"])
    def test_a_section_that_says_nothing_of_where_samples_are(self, path, tag):
        flip(path, entries(path)[tag].offset)
        report = verify(path)
        assert only(report).kind == "section"
        assert f"section '{tag}': CRC-32" in report.problems[0].message

    @pytest.mark.parametrize("tag", ["SIZE", "ORDR"])
    def test_a_section_that_does(self, path, tag):
        """The blocks are still checked against their CRCs."""
        flip(path, entries(path)[tag].offset)
        flip(path, BLOCK_1 + BLOCK_SIZE - 1)
        report = verify(path)
        assert [(problem.kind, problem.block) for problem in report.problems] == [
            ("section", None),
            ("block", 1),
        ]
        assert f"section '{tag}': CRC-32" in report.problems[0].message
        assert re.match(r"block 1.*: CRC-32 is 0x\w{8}, expected 0x\w{8}$", report.problems[1].message)
        assert report.problems[1].samples == ()
        assert report.notes == ("which samples the blocks hold is not known, as tables are damaged",)

    def test_the_block_crcs_themselves(self, path):
        flip(path, entries(path)["BIDX"].offset)
        flip(path, BLOCK_1 + BLOCK_SIZE - 1)
        report = verify(path)
        assert [problem.kind for problem in report.problems] == ["section", "file"]
        assert "no CRC-32 of single blocks is known" in report.problems[1].message

    def test_a_damaged_index_without_tables(self, path):
        flip(path, entries(path)["SIZE"].offset)
        patch(path, BLOCK_1 + 4, b"\7")
        report = verify(path)
        assert [(problem.kind, problem.block) for problem in report.problems] == [
            ("section", None),
            ("block", 1),
        ]

    def test_an_order_that_is_no_permutation(self, path):
        replace_section(path, "ORDR", struct.pack("<5I", 0, 0, 0, 0, 0))
        problem = only(verify(path))
        assert problem.kind == "section"
        assert "section 'ORDR': no permutation" in problem.message

    def test_paths(self, path):
        replace_section(path, "PATH", build_paths([b"a"] * 6))
        assert "section 'PATH': chunk 0 holds 6 paths, expected 5" in only(verify(path)).message

    def test_paths_and_a_block(self, path):
        flip(path, entries(path)["PATH"].offset)
        flip(path, BLOCK_1 + BLOCK_SIZE - 1)
        report = verify(path)
        assert [problem.kind for problem in report.problems] == ["section", "block"]
        assert report.problems[1].samples == (1, 2, 3)
        assert report.problems[1].paths == ()

    def test_classes_and_info(self, path):
        replace_section(path, "CLSS", struct.pack("<I", 9))
        replace_section(path, "INFO", b"{")
        messages = [problem.message for problem in verify(path).problems]
        assert messages == [
            "section 'CLSS': 9 classes, the header says 2",
            messages[1],
        ]
        assert messages[1].startswith("section 'INFO': no JSON text")

    def test_labels(self, path):
        content = bytearray(section(path, "LABL"))
        content[0] = 1
        replace_section(path, "LABL", bytes(content))
        problem = only(verify(path))
        assert (problem.kind, problem.block) == ("block", 0)
        assert "has label 0, expected 1 as section 'LABL' says" in problem.message


def test_a_block_the_disk_refuses(path, monkeypatch):
    check = _native.check_blocks

    def refuse(handle, ids):
        if ids.tolist() == [1]:
            raise OSError(errno.EIO, "Input/output error: reading 4194304 bytes at 33554432", str(path))
        return check(handle, ids)

    monkeypatch.setattr(_native, "check_blocks", refuse)
    report = verify(path)
    problem = only(report)
    assert (problem.kind, problem.block) == ("unreadable", 1)
    assert problem.samples == (1, 2, 3)
    assert problem.message == ("block 1 can't be read: Input/output error: reading 4194304 bytes at 33554432")
    assert report.notes == ("the CRC-32 of the whole file was not checked, as not all blocks can be read",)


class TestFilesThatDoNotOpen:
    def test_they_raise(self, path, tmp_path):
        with pytest.raises(FileNotFoundError, match="missing"):
            verify(tmp_path / "missing")
        cut(path, BLOCK_1 + 5)
        with pytest.raises(CorruptFileError, match="the file is cut off: it has 33554437 bytes"):
            verify(path)

    def test_a_damaged_header(self, path):
        """HEAD finds a field that no other check can."""
        flip(path, 112)  # compression_ratio
        report = verify(path)
        assert only(report).kind == "table"
        assert "section 'HEAD': CRC-32 of the file header is" in report.problems[0].message

    def test_wrong_arguments(self, path):
        with pytest.raises(ValueError, match="num_workers is -1, expected at least 0"):
            verify(path, num_workers=-1)


def test_progress(path, capsys):
    verify(path, progress=True)
    assert "verifying: 100%" in capsys.readouterr().err
    verify(path, progress=False)
    assert capsys.readouterr() == ("", "")
