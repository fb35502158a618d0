# SPDX-License-Identifier: Apache-2.0
"""What is no ``.dts`` file, or a damaged one: header and blocks. Sections: test_file_bad_sections."""

import errno
import os
import struct

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, build, samples_of
from tampering import cut, entries, flip, patch, patch_index, read, resign_block, resign_head, set_header

from torch_dts import CorruptFileError, DTSFile

CLASSES = [b"a", b"b"]
BLOCKS = [[4, 0], [2, 1, 3]]
BLOCK_1 = HEADER_BYTES + BLOCK_SIZE


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 3, "b": 2}), CLASSES, blocks=BLOCKS)


@pytest.fixture
def old_path(tmp_path):
    return build(tmp_path / "old.dts", samples_of({"a": 3, "b": 2}), CLASSES, blocks=BLOCKS, tags=())


def refuse(path, message, use=lambda file: None):
    """Opening and `use` must fail with a CorruptFileError that names the file."""
    with pytest.raises(CorruptFileError, match=message) as caught, DTSFile(path) as file:
        use(file)
    assert caught.value.path == str(path)
    return caught.value


def read_everything(file):
    file.read_blocks(range(file.num_blocks))
    file.read_many(range(len(file)))


class TestNoDtsFile:
    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"missing.dts") as caught:
            DTSFile(tmp_path / "missing.dts")
        assert caught.value.errno == errno.ENOENT
        assert caught.value.filename == str(tmp_path / "missing.dts")

    def test_a_directory(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=rf"the folder has no \.dts file: '{tmp_path}'"):
            DTSFile(tmp_path)

    def test_a_fifo_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        with pytest.raises(OSError, match=r"regular file.*fifo") as caught:
            DTSFile(tmp_path / "fifo")
        assert caught.value.errno == errno.EINVAL

    def test_a_device(self):
        with pytest.raises(OSError, match=r"regular file.*/dev/zero"):
            DTSFile("/dev/zero")

    def test_no_permission(self, path):
        path.chmod(0)
        root = os.geteuid() == 0
        if root:  # may read everything
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match=str(path)):
                DTSFile(path)
        finally:
            if root:
                os.seteuid(0)

    def test_a_dangling_link(self, tmp_path):
        (tmp_path / "link").symlink_to("nowhere")
        with pytest.raises(FileNotFoundError, match="link"):
            DTSFile(tmp_path / "link")

    def test_a_link_is_fine(self, path, tmp_path):
        (tmp_path / "link").symlink_to(path)
        with DTSFile(tmp_path / "link") as file:
            assert len(file) == 5

    def test_empty(self, tmp_path):
        (tmp_path / "empty").touch()
        refuse(tmp_path / "empty", "empty at byte 0: not a .dts file: it is empty")

    @pytest.mark.parametrize("content", [b"\xff\xd8\xff\xe0" * 100, b"." * 4096, b"PK\3\4" + bytes(200)])
    def test_another_kind_of_file(self, tmp_path, content):
        (tmp_path / "photo.jpg").write_bytes(content)
        refuse(tmp_path / "photo.jpg", "not a .dts file: it starts with .*, expected '.DTS'")


class TestTruncated:
    @pytest.mark.parametrize("size", [0, 1, 3])
    def test_inside_the_magic(self, path, size):
        cut(path, size)
        refuse(path, "not a .dts file")

    @pytest.mark.parametrize("size", [4, 8, 52, 143])
    def test_inside_the_header(self, path, size):
        cut(path, size)
        error = refuse(path, f"cut off in its header: it has {size} bytes, expected at least 144")
        assert error.offset == size

    @pytest.mark.parametrize("at_end", [0, -1, 1])
    def test_at_every_boundary(self, path, at_end):
        starts = [144, 4096, 4112, HEADER_BYTES, HEADER_BYTES + 4096, BLOCK_1, BLOCK_1 + 12]
        starts += [entry.offset for entry in entries(path).values()]
        starts += [entry.offset + entry.stored_bytes for entry in entries(path).values()]
        for start in sorted(starts, reverse=True):
            size = max(144, start + at_end)
            cut(path, size)
            refuse(path, f"it has {size} bytes, expected at least 50331648 .*2 blocks")

    def test_by_one_byte(self, path):
        cut(path, HEADER_BYTES + 2 * BLOCK_SIZE - 1)
        error = refuse(path, "it has 50331647 bytes, expected at least 50331648")
        assert error.offset == 50331647


class TestHeaderFields:
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("compress_level", 4, "compress_level is 4, expected 0 .. 3"),
            ("num_samples", 681, "num_samples is 681, expected at most 680"),
            ("num_samples", 0xFFFFFFFF, "num_samples is 4294967295, expected at most"),
            ("num_blocks", 3, "block_bytes is 33554432, expected 50331648"),
            ("num_blocks", 0xFFFFFFFF, "block_bytes is 33554432, expected"),
            ("header_bytes", 0, "header_bytes is 0, expected 16777216"),
            ("header_bytes", HEADER_BYTES + 1, "header_bytes is 16777217, expected 16777216"),
            ("block_size", 0, "block_size is 0, expected a multiple of 16777216"),
            ("block_size", 4096, "block_size is 4096, expected a multiple of 16777216"),
            ("block_size", 2 * BLOCK_SIZE, "block_bytes is 33554432, expected 67108864"),
            ("block_header_size", 0, "block_header_size is 0, expected a multiple of 64"),
            ("block_header_size", 4097, "block_header_size is 4097, expected a multiple of 64"),
            ("block_header_size", BLOCK_SIZE, "block_header_size is 16777216, expected .*below block_size"),
            ("pic_alignment", 63, "pic_alignment is 63, expected 64"),
            ("volume_id", 1, "volume_id is 1, expected below num_volumes 1"),
            ("num_volumes", 0, "volume_id is 0, expected below num_volumes 0"),
        ],
    )
    def test_a_field_that_lies(self, path, name, value, message):
        set_header(path, **{name: value})
        assert refuse(path, message).offset is not None

    def test_more_blocks_than_bytes(self, path):
        patch(path, 84, struct.pack("<Q", 0xFFFFFFFF * BLOCK_SIZE))
        set_header(path, num_blocks=0xFFFFFFFF)
        refuse(path, "the file is cut off: it has 50331648 bytes, expected at least 72057594037927936")

    @pytest.mark.parametrize(
        ("offset", "data", "message"),
        [
            (4, b"\2", "format version is 2, expected 3"),
            (4, b"\4", "the file is newer than this reader; update torch_dts"),
            (8, b"COCO    ", "dataset_type is 'COCO    ', expected IMAGENET"),
            (32, b"NCHW", "tensor_layout is 'NCHW', expected 'NHWC'"),
            (16, b"\2", "is_training is 2, expected 0 or 1"),
        ],
    )
    def test_a_text_that_lies(self, path, offset, data, message):
        patch(path, offset, data)
        resign_head(path)
        refuse(path, message)

    def test_fewer_samples_than_the_blocks_hold(self, path, old_path):
        set_header(path, num_samples=4)
        refuse(path, "num_samples|samples", lambda file: file.read(0))
        set_header(old_path, num_samples=4)
        refuse(old_path, "num_samples is 4, but the blocks hold 5", lambda file: file.read(0))

    def test_more_samples_than_the_blocks_hold(self, path, old_path):
        set_header(path, num_samples=6)
        refuse(path, "num_samples|samples|bytes", lambda file: file.read(0))
        set_header(old_path, num_samples=6)
        refuse(old_path, "num_samples is 6, but the blocks hold 5", lambda file: file.read(0))


LIES_OF_A_BLOCK = [
    (0, b"LV1B", "block 1.*magic is 'LV1B', expected 'LV0B'"),
    (0, b"\0\0\0\0", "block 1.*magic is"),
    (4, struct.pack("<I", 0), "block 1.*it says that it is block 0"),
    (8, struct.pack("<I", 2), "block 1|num_samples is 5, but the blocks hold 4"),
    (8, struct.pack("<I", 341), "block 1.*341 samples, expected at most 340"),
    (8, struct.pack("<I", 340), "block 1.*340 samples, but the whole file has 5"),
    (8, struct.pack("<I", 0xFFFFFFFF), "block 1.*4294967295 samples, expected at most 340"),
]
LIES_OF_AN_INDEX = [
    # (offsets, sizes or labels; sample; value; message)
    (0, 0, 0, "sample 0 starts at 0, expected 4096 = block_header_size"),
    (0, 1, 0xFFFFFFC0, "sample 1.*4294967232"),
    (0, 1, 4097, "sample 1.*4097"),
    (0, 1, 4096, "sample 1.*4096"),
    (1, 2, 0xFFFFFFFF, "sample 2.*4294967295"),
    (1, 2, BLOCK_SIZE, "sample 2.*16777216"),
    (2, 1, 2, "sample 1 has label 2, expected 0 .. 1"),
    (2, 1, -1, "sample 1 has label -1, expected 0 .. 1"),
]


class TestBlocks:
    @pytest.mark.parametrize(("offset", "data", "message"), LIES_OF_A_BLOCK)
    @pytest.mark.parametrize("kind", ["path", "old_path"])
    def test_a_head_that_lies(self, request, kind, offset, data, message):
        path = request.getfixturevalue(kind)
        patch(path, BLOCK_1 + offset, data)
        resign_block(path, 1)
        error = refuse(path, message, read_everything)
        assert error.offset is not None

    @pytest.mark.parametrize(("field", "slot", "value", "message"), LIES_OF_AN_INDEX)
    @pytest.mark.parametrize("kind", ["path", "old_path"])
    def test_an_index_that_lies(self, request, kind, field, slot, value, message):
        path = request.getfixturevalue(kind)
        patch_index(path, 1, field, slot, value)
        resign_block(path, 1)
        error = refuse(path, message, read_everything)
        assert "block 1" in error.problem
        assert BLOCK_1 <= error.offset < BLOCK_1 + 4096

    def test_an_index_and_tables_that_differ(self, path):
        """Each alone is fine."""
        size = struct.unpack("<I", read(path, BLOCK_1 + 12 + 4 * 3, 4))[0]
        patch_index(path, 1, 1, 0, size - 1)
        resign_block(path, 1)
        refuse(
            path, rf"block 1 .*sample 0 has {size - 1} bytes at 4096, expected {size} bytes", read_everything
        )

    def test_labels_that_differ(self, path):
        patch_index(path, 1, 2, 0, 1)
        resign_block(path, 1)
        refuse(path, "block 1 .*sample 0 has label 1, expected 0 as section 'LABL' says", read_everything)

    def test_other_blocks_can_be_read(self, path):
        patch(path, BLOCK_1, b"LV9B")
        with DTSFile(path) as file:
            file.read_blocks([0])
            with pytest.raises(CorruptFileError, match=r"block 1 \(stored samples 2..4\): CRC-32"):
                file.read_blocks([1])

    def test_the_index_is_checked_without_a_crc_too(self, path):
        patch(path, BLOCK_1, b"LV9B")
        with DTSFile(path, verify=False) as file, pytest.raises(CorruptFileError, match="magic is 'LV9B'"):
            file.read_blocks([1])

    def test_a_flipped_byte_in_a_sample(self, path):
        flip(path, BLOCK_1 + 4096)
        refuse(path, r"block 1 \(stored samples 2..4\): CRC-32 is 0x\w+, expected 0x", read_everything)


def test_every_bit_of_the_header(path):
    """No single flipped bit of the header goes unseen."""
    for offset in range(144):
        flip(path, offset)
        with pytest.raises(CorruptFileError, match=r"a.dts"), DTSFile(path, verify="file") as file:
            file.ensure_verified()
        flip(path, offset)
    with DTSFile(path) as file:
        assert len(file) == 5
