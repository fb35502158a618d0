# SPDX-License-Identifier: Apache-2.0
"""`verify` of pixel files."""

import pytest
from building_pixels import build_pixel_file, resign
from tampering import cut, flip, patch

from torch_dts import CorruptFileError, verify


@pytest.fixture
def built(tmp_path):
    return build_pixel_file(tmp_path / "a.dts", 13)


def kinds(report):
    return [problem.kind for problem in report.problems]


def test_good_files(tmp_path, built, capsys):
    report = verify(built.path, progress=True)
    assert report
    assert report.problems == report.notes == ()
    assert str(report) == f"{built.path}: 13 samples in 1 block, all right"
    assert "verifying: 100%" in capsys.readouterr().err
    old = build_pixel_file(tmp_path / "b.dts", 5, (28, 28, 1), b"   MNIST", tags=(), claimed_bytes=2353)
    assert verify(old.path)


def test_a_wrong_pixel(built):
    flip(built.path, 300)
    report = verify(built.path)
    assert kinds(report) == ["file"]
    assert "the CRC-32 of the whole file is 0x" in report.problems[0].message


def test_a_label_that_is_no_class(tmp_path):
    report = verify(build_pixel_file(tmp_path / "a.dts", 13, label=10).path)
    assert kinds(report) == ["label"]
    assert report.problems[0].message == "label 12 is 10, expected 0 .. 9"
    assert report.problems[0].block is None


@pytest.mark.parametrize("place", ["header", "payload", "section"])
def test_padding(built, place):
    offset = {"header": 200, "payload": built.payload_end, "section": built.places["INFO"] - 1}[place]
    assert built.path.read_bytes()[offset] == 0
    patch(built.path, offset, b"\7")
    resign(built)
    report = verify(built.path)
    assert kinds(report) == ["padding"]
    assert report.problems[0].message.startswith(f"byte {offset} is 0x07, expected 0")


def test_damaged_sections_and_pixels_are_all_told(built):
    flip(built.path, built.places["INFO"] + 2)
    flip(built.path, built.places["CLSS"] + 2)
    report = verify(built.path)
    assert kinds(report) == ["section", "section", "file"]
    assert "section 'INFO'" in report.problems[0].message
    assert "section 'CLSS'" in report.problems[1].message


def test_content_of_sections(tmp_path):
    built = build_pixel_file(tmp_path / "a.dts", 13, classes=[b"only"])
    patch(built.path, 28, b"\2")  # num_classes
    report = verify(built.path)
    assert kinds(report) == ["table"]
    assert "section 'HEAD'" in report.problems[0].message


def test_a_damaged_table_or_footer(built):
    flip(built.path, built.table + 20)
    report = verify(built.path)
    assert kinds(report) == ["table", "file"]
    assert report.notes == (
        "no section can be read",
        "the zeros between the parts were not checked, as their places are not known",
    )
    resign(built)
    assert kinds(verify(built.path)) == ["table"]
    cut(built.path, built.size - 3)
    assert kinds(verify(built.path)) == ["table", "file"]


def test_cut_off(built):
    cut(built.path, 5000)
    with pytest.raises(CorruptFileError, match="the file is cut off: it has 5000 bytes, room for 1 samples"):
        verify(built.path)
