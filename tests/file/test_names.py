# SPDX-License-Identifier: Apache-2.0
import os
import struct
import sys
import zlib

import pytest
import torch
from building import build_classes, build_paths

from torch_dts import CorruptFileError
from torch_dts.file import _names
from torch_dts.file._names import NumberedPaths, StoredPaths, check_position, decode_classes

ODD_NAMES = [b"cat", "猫".encode(), b"\xff\xfe", b"n" * 255, b"with space\n", b""]


class TestClasses:
    def test_names_are_the_bytes_of_the_file_system(self):
        names = decode_classes(build_classes(ODD_NAMES), 6, "a.dts")
        assert [os.fsencode(name) for name in names] == ODD_NAMES
        assert names[:2] == ["cat", "猫"]

    def test_no_classes(self):
        assert decode_classes(struct.pack("<I", 0), 0, "a.dts") == []

    @pytest.mark.parametrize(
        ("raw", "num_classes", "message"),
        [
            (b"", 1, "a.dts: section 'CLSS': 0 bytes, expected at least 4"),
            (b"\1\0\0", 1, "3 bytes, expected at least 4"),
            (build_classes([b"a", b"b"]), 3, "2 classes, the header says 3"),
            (struct.pack("<I", 1 << 31), 1 << 31, "4 bytes, too few for 2147483648 names"),
            (struct.pack("<IHH", 2, 2, 7), 2, "ends inside the length of class 1"),
            (struct.pack("<IH", 1, 0xFFFF) + b"abc", 1, "class 0 has 65535 bytes, 3 are left"),
            (build_classes([b"a"]) + b"xy", 1, "2 bytes behind the last name"),
        ],
    )
    def test_lengths_that_lie(self, raw, num_classes, message):
        with pytest.raises(CorruptFileError, match=message):
            decode_classes(raw, num_classes, "a.dts")

    def test_cut_anywhere(self):
        whole = build_classes([b"one", b"two", b""])
        for size in range(len(whole)):
            with pytest.raises(CorruptFileError, match="section 'CLSS'"):
                decode_classes(whole[:size], 3, "a.dts")


class TestStoredPaths:
    def test_one_chunk(self):
        raw = [b"a/1.jpg", b"\xff/" + b"n" * 255, "b/größe.jpg".encode()]
        paths = StoredPaths(build_paths(raw), 3, "a.dts")
        assert len(paths) == 3
        assert [os.fsencode(path) for path in paths] == raw
        assert paths[-1] == "b/größe.jpg"
        assert paths[1:] == [os.fsdecode(raw[1]), "b/größe.jpg"]
        assert "a/1.jpg" in paths
        assert paths.index("b/größe.jpg") == 2
        for index in (3, -4):
            with pytest.raises(IndexError, match=rf"sample {index} is out of range: there are 3"):
                paths[index]

    def test_no_samples(self):
        assert list(StoredPaths(b"", 0, "a.dts")) == []

    def test_chunks_are_inflated_once_when_they_are_needed(self, monkeypatch):
        raw = [b"%07d" % number for number in range(65536 * 6 + 1)]
        inflated = []
        inflate = StoredPaths._inflate
        monkeypatch.setattr(
            StoredPaths, "_inflate", lambda self, chunk: inflated.append(chunk) or inflate(self, chunk)
        )
        paths = StoredPaths(build_paths(raw), len(raw), "a.dts")
        assert inflated == []
        assert paths[65536] == "0065536"
        assert paths[65535] == "0065535"
        assert paths[65537] == "0065537"
        assert inflated == [1, 0]
        assert paths[-1] == f"{65536 * 6:07d}"
        # Four chunks stay: with 2 and 3 read, chunk 1 is still there and 0 is the next to go.
        assert [paths[65536 * chunk] for chunk in (2, 1, 3)] == ["0131072", "0065536", "0196608"]
        assert inflated == [1, 0, 6, 2, 3]
        assert paths[65536] == "0065536"
        assert inflated == [1, 0, 6, 2, 3]
        assert paths[0] == "0000000"
        assert inflated == [1, 0, 6, 2, 3, 0]

    def test_iterating_leaves_nothing_behind(self):
        raw = [b"%07d" % number for number in range(65536 + 2)]
        paths = StoredPaths(build_paths(raw), len(raw), "a.dts")
        assert [path.encode() for path in paths] == raw
        assert paths._kept == ()

    @pytest.mark.parametrize(
        ("raw", "message"),
        [
            (b"", "0 bytes, too few for the ends of 1 chunks"),
            (struct.pack("<I", 0), "chunk 0 ends at 0, expected more than 0 and at most 0"),
            (struct.pack("<I", 9) + b"12345678", "chunk 0 ends at 9, expected more than 0 and at most 8"),
            (struct.pack("<I", 7) + b"12345678", "the last chunk ends at 7, the section at 8"),
        ],
    )
    def test_ends_that_lie(self, raw, message):
        with pytest.raises(CorruptFileError, match=f"a.dts: section 'PATH': {message}"):
            StoredPaths(raw, 3, "a.dts")

    def test_ends_that_do_not_rise(self):
        streams = zlib.compress(b"a\0" * 65536) + zlib.compress(b"b\0")
        raw = struct.pack("<II", len(streams), len(streams)) + streams
        with pytest.raises(CorruptFileError, match=r"chunk 1 ends at \d+, expected more than"):
            StoredPaths(raw, 65537, "a.dts")

    @pytest.mark.parametrize(
        ("stream", "message"),
        [
            (b"no zlib", "chunk 0 is no zlib stream"),
            (zlib.compress(b"a\0b\0c\0")[:-1], "chunk 0 is cut off"),
            (zlib.compress(b"a\0b\0c\0")[:-5] + b"abcde", "chunk 0 is no zlib stream"),
            (zlib.compress(b"a\0b\0c\0") + b"!", "chunk 0 has 1 bytes behind its stream"),
            (zlib.compress(b"a\0b\0"), "chunk 0 holds 2 paths, expected 3"),
            (zlib.compress(b"a\0b\0c\0d\0"), "chunk 0 holds 4 paths, expected 3"),
            (zlib.compress(b"a\0b\0\0c"), "chunk 0 holds 3 paths, expected 3, the last without its NUL"),
            (zlib.compress(b""), "chunk 0 holds 0 paths, expected 3"),
        ],
    )
    def test_content_that_lies(self, stream, message):
        paths = StoredPaths(struct.pack("<I", len(stream)) + stream, 3, "a.dts")
        with pytest.raises(CorruptFileError, match=f"a.dts: section 'PATH': {message}"):
            paths[0]
        with pytest.raises(CorruptFileError, match=message):
            list(paths)

    def test_inflation_is_bounded(self, monkeypatch):
        monkeypatch.setattr(_names, "MAX_CHUNK_BYTES", 6)
        fitting = zlib.compress(b"a\0b\0c\0")
        assert list(StoredPaths(struct.pack("<I", len(fitting)) + fitting, 3, "a.dts")) == ["a", "b", "c"]
        bomb = zlib.compress(bytes(1 << 20))
        paths = StoredPaths(struct.pack("<I", len(bomb)) + bomb, 3, "a.dts")
        with pytest.raises(CorruptFileError, match="chunk 0 inflates to more than 6 bytes"):
            paths[0]


def test_numbered_paths():
    paths = NumberedPaths(torch.tensor([1, 0, 1]), ["a", "b"])
    assert list(paths) == ["b/00000000.jpeg", "a/00000001.jpeg", "b/00000002.jpeg"]
    assert paths[-1] == "b/00000002.jpeg"
    assert paths[:2] == list(paths)[:2]
    assert len(paths) == 3
    with pytest.raises(IndexError, match="sample 3 is out of range"):
        paths[3]


def test_check_position():
    assert [check_position(index, 4) for index in (0, 3, -1, -4)] == [0, 3, 3, 0]
    assert check_position(torch.tensor(2), 4) == 2
    for index in (4, -5, sys.maxsize + 1):
        with pytest.raises(IndexError, match=f"sample {index} is out of range: there are 4"):
            check_position(index, 4)
    with pytest.raises(IndexError, match="block 0 is out of range: there are 0"):
        check_position(0, 0, "block")
    for wrong in (1.0, "1", None):
        with pytest.raises(TypeError, match="integer"):
            check_position(wrong, 4)
