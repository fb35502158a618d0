# SPDX-License-Identifier: Apache-2.0
"""The report and the error that lists bad samples."""

from __future__ import annotations

import dataclasses
import os
import pickle

import pytest

from torch_dts.convert import BadSample, BadSamplesError, ConvertReport
from torch_dts.convert._report import RecodeFacts

REPORT = ConvertReport(
    path="/data/train.dts",
    num_samples=1200,
    num_classes=3,
    num_blocks=2,
    room_bytes=1234,
    file_bytes=50_331_648,
    source_bytes=25_000_000,
    seconds=2.0,
)


def test_it_is_the_path_of_the_file() -> None:
    assert os.fspath(REPORT) == "/data/train.dts"
    assert isinstance(REPORT, os.PathLike)


def test_rates() -> None:
    assert REPORT.images_per_second == 600.0
    assert REPORT.megabytes_per_second == 12.5
    assert dataclasses.replace(REPORT, seconds=0.0).images_per_second == 0.0


def test_text() -> None:
    assert str(REPORT).splitlines() == [
        "wrote /data/train.dts",
        "  samples   1,200 in 3 classes",
        "  file      50,331,648 bytes for 25,000,000 bytes of images",
        "  blocks    2, free room 1,234 bytes",
        "  time      2.0 s, 600 images/s, 12.5 MB/s",
    ]


def test_a_percentage_where_it_says_something() -> None:
    report = dataclasses.replace(REPORT, source_bytes=50_000_000)
    assert "  file      50,331,648 bytes for 50,000,000 bytes of images (+0.66 %)" in str(report).splitlines()


def test_one_of_each() -> None:
    report = dataclasses.replace(
        REPORT, num_samples=1, num_classes=1, num_blocks=1, room_bytes=1, source_bytes=1, num_encoded=1
    )
    lines = str(report).splitlines()
    assert lines[1:4] == [
        "  samples   1 in 1 class",
        "  file      50,331,648 bytes for 1 byte of images",
        "  blocks    1, free room 1 byte",
    ]
    assert lines[5] == "  as PNG    1 PIL image"


def test_text_lists_what_was_wrong() -> None:
    report = dataclasses.replace(
        REPORT,
        num_missing_eoi=1,
        skipped=(BadSample("a/x.jpg", 3, "empty (0 bytes)"),),
        kept_bad=tuple(BadSample(f"b/{i}.jpg", i, "no image") for i in range(25)),
    )
    lines = str(report).splitlines()[5:]
    assert lines[:4] == [
        "  no end    1 JPEG without an end marker (EOI)",
        "  skipped   1 sample:",
        "    a/x.jpg (sample 3): empty (0 bytes)",
        "  kept bad  25 samples:",
    ]
    assert lines[4] == "    b/0.jpg (sample 0): no image"
    assert lines[24] == "    ... and 5 more"
    assert len(lines) == 25


def test_names_that_are_no_utf8_can_be_printed() -> None:
    text = str(dataclasses.replace(REPORT, path=os.fsdecode(b"/data/\xff.dts")))
    assert text.splitlines()[0] == "wrote /data/\\xff.dts"
    assert str(BadSample(os.fsdecode(b"\xe9.jpg"), 0, "x")).encode() == b"\\xe9.jpg (sample 0): x"


def test_report_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="num_samples"):
        REPORT.num_samples = 3  # type: ignore[misc]


def test_error_lists_twenty_and_counts_the_rest() -> None:
    bad = [BadSample(f"{i}.jpg", i, "empty (0 bytes)") for i in range(23)]
    error = BadSamplesError(bad, 1000, "Do this.")
    lines = str(error).splitlines()
    assert lines[0] == "23 of 1,000 samples can't be used. Do this."
    assert lines[1] == "  0.jpg (sample 0): empty (0 bytes)"
    assert lines[20] == "  19.jpg (sample 19): empty (0 bytes)"
    assert lines[21:] == ["  ... and 3 more"]
    assert error.bad == tuple(bad)
    assert isinstance(error, ValueError)


def test_error_and_report_survive_pickling() -> None:
    error = BadSamplesError([BadSample("x", 1, "y")], 2, "z")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.bad == error.bad
    assert pickle.loads(pickle.dumps(REPORT)) == REPORT


def test_it_may_be_a_key_as_paths_are() -> None:
    """What compares files by path keeps paths in a dict."""
    report = dataclasses.replace(REPORT, recoded=RecodeFacts("level 3", kept_original={"no JPEG": 2}))
    assert {report: 1}[dataclasses.replace(report)] == 1
