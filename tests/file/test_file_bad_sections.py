# SPDX-License-Identifier: Apache-2.0
"""Section tables and sections that are damaged or lie. The CRCs on the way fit unless they are the point."""

import struct
import zlib

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, TABLE, build, build_paths, samples_of
from tampering import entries, flip, patch, replace_section, resign_table, section, set_entry, set_header

from torch_dts import CorruptFileError, DTSFile

CLASSES = [b"a", b"b"]
BLOCKS = [[4, 0], [2, 1, 3]]
ZLIB, REQUIRED = 1, 2


@pytest.fixture
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS)


def refuse(path, message, use=lambda file: None):
    """Opening and `use` must fail with a CorruptFileError; without sections the file opens."""
    with pytest.raises(CorruptFileError, match=message) as caught, DTSFile(path) as file:
        use(file)
    assert caught.value.path == str(path)
    with DTSFile(path, ignore_sections=True) as file:
        assert file.labels.tolist() == [1, 0, 0, 0, 1]
        file.read_blocks([0, 1])
    return caught.value


class TestTable:
    @pytest.mark.parametrize(
        ("offset", "data", "message"),
        [
            (0, b"DTSY", "section table: magic is 'DTSY', expected 'DTSX' or zeros"),
            (0, bytes(4), "section table: magic is"),
            (8, struct.pack("<I", 65), "section table: 65 sections, expected at most 64"),
            (8, struct.pack("<I", 0xFFFFFFFF), "4294967295 sections, expected at most 64"),
            (8, struct.pack("<I", 7), "section table: CRC-32 is 0x.*, expected 0x"),
            (12, bytes(4), "section table: CRC-32 is 0x.*, expected 0x00000000"),
            (16, b"X", "section table: CRC-32 is"),
            (15 + 40 * 8, b"X", "section table: CRC-32 is"),
        ],
    )
    def test_a_head_that_lies(self, path, offset, data, message):
        patch(path, TABLE + offset, data)
        error = refuse(path, message)
        assert TABLE <= error.offset < TABLE + 16

    def test_another_version(self, path):
        resign_table(path, version=2)
        refuse(path, r"version is 2, this reader knows 1 \(ignore_sections=True reads without it\)")

    def test_an_empty_table(self, path):
        resign_table(path, count=0)
        with DTSFile(path) as file:
            assert file.sections == ()
            assert file.classes == ["0", "1"]

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"tag": b"SI\0E"}, "the tag is not four printable characters"),
            ({"tag": b"LABL"}, "section 'LABL': the table names it twice"),
            ({"tag": b"NEW!", "flags": REQUIRED}, "section 'NEW!': the file can't be read without it"),
            ({"flags": 4}, "section 'SIZE': flags are 0x00000004, expected only bits 0 and 1"),
            ({"zero": 1}, "section 'SIZE': the reserved field is not zero"),
            ({"offset": TABLE + 1}, "section 'SIZE': it starts at 4097, expected a multiple of 64"),
            ({"offset": TABLE}, "20 bytes at 4096 are out of bounds"),
            ({"offset": 0}, "20 bytes at 0 are out of bounds"),
            ({"offset": HEADER_BYTES}, "20 bytes at 16777216 are out of bounds"),
            ({"offset": HEADER_BYTES + 2 * BLOCK_SIZE}, "20 bytes at 50331648 are out of bounds"),
            ({"offset": 2**64 - 64}, "20 bytes at 18446744073709551552 are out of bounds"),
            ({"offset": 2**63}, "are out of bounds"),
            (
                {"stored_bytes": 2**64 - 64, "raw_bytes": 2**64 - 64},
                "18446744073709551552 bytes at .*out of bounds",
            ),
            ({"stored_bytes": HEADER_BYTES, "raw_bytes": HEADER_BYTES}, "out of bounds"),
            ({"raw_bytes": 2**32 + 1, "flags": ZLIB}, "4294967297 raw bytes, expected at most 4294967296"),
            ({"raw_bytes": 2**32, "flags": ZLIB}, "4294967296 raw bytes, more than 20 stored bytes can hold"),
            ({"raw_bytes": 21}, "21 raw bytes, expected 20 as it is not compressed"),
        ],
    )
    def test_an_entry_that_lies(self, path, values, message):
        set_entry(path, "SIZE", **values)
        assert TABLE < refuse(path, message).offset < TABLE + 16 + 40 * 8

    def test_overlap(self, path):
        set_entry(path, "SIZE", offset=entries(path)["LABL"].offset)
        refuse(
            path, "section 'LABL' at .* overlaps section 'SIZE'|section 'SIZE' at .* overlaps section 'LABL'"
        )

    def test_unknown_tags_are_ignored(self, path, samples):
        set_entry(path, "INFO", tag=b"XTRA", flags=0x80000000)
        with DTSFile(path) as file:
            assert file.info == {}
            assert file.read(3).tobytes() == samples[3].data

    def test_known_tags_may_be_required(self, path):
        set_entry(path, "SIZE", flags=REQUIRED)
        with DTSFile(path) as file:
            assert len(file.sizes) == 5


class TestCrc:
    def test_head(self, path):
        flip(path, entries(path)["HEAD"].offset)
        refuse(path, "section 'HEAD': CRC-32 is")

    def test_head_that_does_not_fit_the_header(self, path):
        replace_section(path, "HEAD", bytes(4))
        refuse(path, "section 'HEAD': CRC-32 of the file header is 0x.*, expected 0x00000000")

    def test_head_of_another_size(self, path):
        replace_section(path, "HEAD", bytes(8))
        refuse(path, "section 'HEAD': 8 bytes, expected 4")

    @pytest.mark.parametrize(
        ("tag", "use"),
        [
            ("INFO", lambda file: file.info),
            ("CLSS", lambda file: file.classes),
            ("CLSS", lambda file: file.class_to_idx),
            ("BIDX", lambda file: file.block_table),
            ("SIZE", lambda file: file.sizes),
            ("LABL", lambda file: file.labels),
            ("ORDR", lambda file: file.source_index),
            ("ORDR", lambda file: file.read(0)),
            ("PATH", lambda file: file.paths),
        ],
    )
    def test_a_section(self, path, tag, use):
        flip(path, entries(path)[tag].offset + 1)
        error = refuse(path, f"section '{tag}': CRC-32 is 0x.*, expected 0x", use)
        assert error.offset == entries(path)[tag].offset

    def test_the_same_error_comes_again(self, path):
        flip(path, entries(path)["ORDR"].offset)
        with DTSFile(path) as file:
            for _ in range(3):
                with pytest.raises(CorruptFileError, match="section 'ORDR': CRC-32"):
                    file.read(0)
            assert file.labels.tolist() == [0, 0, 0, 1, 1]


class TestContent:
    @pytest.mark.parametrize(
        ("tag", "content", "message", "use"),
        [
            ("INFO", b"{", "section 'INFO': no JSON text", lambda file: file.info),
            ("INFO", b"\xff{}", "section 'INFO': no JSON text", lambda file: file.info),
            ("INFO", b"[1]", "section 'INFO': a JSON list, expected an object", lambda file: file.info),
            ("INFO", b"[" * 100_000, "section 'INFO': no JSON text", lambda file: file.info),
            ("CLSS", struct.pack("<I", 3), "3 classes, the header says 2", lambda file: file.classes),
            ("BIDX", bytes(8), "section 'BIDX': 8 bytes, expected 16", lambda file: file.block_table),
            ("BIDX", bytes(24), "section 'BIDX': 24 bytes, expected 16", lambda file: file.block_table),
            ("BIDX", struct.pack("<IIII", 4, 0, 3, 0), "section 'BIDX'.*7.*5", lambda file: file.block_table),
            ("BIDX", struct.pack("<IIII", 1, 0, 3, 0), "section 'BIDX'.*4.*5", lambda file: file.block_table),
            (
                "BIDX",
                struct.pack("<IIII", 341, 0, 3, 0),
                "341 samples, expected.*340",
                lambda file: file.block_table,
            ),
            (
                "BIDX",
                struct.pack("<IIII", 0xFFFFFFFF, 0, 6, 0),
                "4294967295 samples, expected.*340",
                lambda file: file.block_table,
            ),
            ("SIZE", bytes(16), "section 'SIZE': 16 bytes, expected 20", lambda file: file.sizes),
            (
                "SIZE",
                struct.pack("<5I", 10, 0xFFFFFFFF, 10, 10, 10),
                "section 'SIZE'.*4294967295.*behind the block's end",
                lambda file: file.sizes,
            ),
            (
                "SIZE",
                struct.pack("<5I", 10, 10, *[0x600000] * 3),
                "section 'SIZE'.*behind the block's end",
                lambda file: file.sizes,
            ),
            ("LABL", bytes(16), "section 'LABL': 16 bytes, expected 20", lambda file: file.labels),
            (
                "LABL",
                struct.pack("<5i", 0, 0, 2, 0, 0),
                "label 2 is 2, expected 0 .. 1",
                lambda file: file.labels,
            ),
            (
                "LABL",
                struct.pack("<5i", 0, 0, 0, 0, -1),
                "label 4 is -1, expected 0 .. 1",
                lambda file: file.labels,
            ),
            ("ORDR", bytes(16), "section 'ORDR': 16 bytes, expected 20", lambda file: file.read(0)),
            (
                "ORDR",
                struct.pack("<5I", 4, 0, 2, 2, 3),
                "no permutation: stored sample 3 has source index 2, which another has too",
                lambda file: file.read(0),
            ),
            (
                "ORDR",
                struct.pack("<5I", 4, 0, 5, 1, 3),
                "no permutation: stored sample 2 has source index 5, expected 0 .. 4",
                lambda file: file.stored_index,
            ),
            (
                "ORDR",
                struct.pack("<5I", 4, 0xFFFFFFFF, 2, 1, 3),
                "stored sample 1 has source index 4294967295",
                lambda file: file.read_many([0]),
            ),
            (
                "PATH",
                build_paths([b"a"] * 4),
                "chunk 0 holds 4 paths, expected 5",
                lambda file: file.paths[0],
            ),
            ("PATH", b"", "section 'PATH': 0 bytes, too few", lambda file: file.paths),
        ],
    )
    def test_a_section_that_lies(self, path, tag, content, message, use):
        replace_section(path, tag, content)
        refuse(path, message, use)

    def test_sizes_that_differ_from_the_index(self, path):
        sizes = bytearray(section(path, "SIZE"))
        sizes[0] ^= 1
        replace_section(path, "SIZE", bytes(sizes))
        refuse(
            path,
            r"block 0 .*sample 0 has \d+ bytes at 4096, expected \d+",
            lambda file: file.read_blocks([0]),
        )

    def test_order_of_a_volume(self, path):
        replace_section(path, "ORDR", struct.pack("<5I", 9, 0, 9, 1, 3))
        set_header(path, num_volumes=2, volume_id=1)
        with DTSFile(path) as file, pytest.raises(CorruptFileError, match="source index 9 stands for two"):
            file.source_index  # noqa: B018


class TestCompressedSections:
    def test_a_zlib_section(self, path):
        raw = section(path, "LABL")
        replace_section(path, "LABL", zlib.compress(raw), flags=ZLIB, raw_bytes=len(raw))
        with DTSFile(path) as file:
            assert file.labels.tolist() == [0, 0, 0, 1, 1]

    @pytest.mark.parametrize(
        ("stored", "raw_bytes", "message"),
        [
            (b"no zlib stream at all", 20, "its zlib stream is damaged"),
            (zlib.compress(bytes(20))[:-1], 20, "its zlib stream has no end"),
            (zlib.compress(bytes(20)) + b"x", 20, "its zlib stream ends 1 bytes before the section does"),
            (zlib.compress(bytes(19)), 20, "its zlib stream gives 19 bytes, expected 20"),
            (zlib.compress(bytes(21)), 20, "its zlib stream gives more than the 20 raw bytes"),
            (zlib.compress(bytes(1 << 20)), 20, "its zlib stream gives more than the 20 raw bytes"),
        ],
    )
    def test_a_stream_that_lies(self, path, stored, raw_bytes, message):
        replace_section(path, "LABL", stored, flags=ZLIB, raw_bytes=raw_bytes)
        refuse(path, f"section 'LABL': {message}", lambda file: file.labels)


def test_sections_behind_the_payload(path):
    """Where they don't fit into the header area."""
    end = HEADER_BYTES + 2 * BLOCK_SIZE
    content = section(path, "CLSS")
    patch(path, end, content)
    set_entry(path, "CLSS", offset=end)
    with DTSFile(path) as file:
        assert file.classes == ["a", "b"]
