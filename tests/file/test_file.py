# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import pathlib

import pytest
import torch
from building import BLOCK_SIZE, HEADER_BYTES, TAGS, build, samples_of
from tampering import read, replace_section, set_header, strip_sections

import torch_dts
from torch_dts import DTSFile

CLASSES = [b"a", b"empty", b"b"]
BLOCKS = [[4, 0], [2, 1, 3]]


@pytest.fixture
def samples():
    return samples_of({"a": 3, "empty": 0, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS)


def test_what_a_file_says(path, samples):
    with torch_dts.open(path) as file:
        assert type(file) is DTSFile
        assert file.path == str(path)
        assert len(file) == 5
        assert file.classes == ["a", "empty", "b"]
        assert file.class_to_idx == {"a": 0, "empty": 1, "b": 2}
        assert file.num_blocks == 2
        assert file.block_size == BLOCK_SIZE
        assert file.file_bytes == HEADER_BYTES + 2 * BLOCK_SIZE
        assert file.info == {"writer": "by hand", "level": 0}
        assert [entry.tag for entry in file.sections] == [
            "HEAD",
            "INFO",
            "CLSS",
            "BIDX",
            "SIZE",
            "LABL",
            "ORDR",
            "PATH",
        ]
        assert list(file.paths) == ["a/0.jpg", "a/1.jpg", "a/2.jpg", "b/0.jpg", "b/1.jpg"]
        assert file.labels.tolist() == [0, 0, 0, 2, 2]
        assert file.sizes.tolist() == [len(sample.data) for sample in samples]
        assert file.source_index.tolist() == [4, 0, 2, 1, 3]
        assert file.stored_index.tolist() == [1, 3, 2, 4, 0]
        assert file.block_of(torch.arange(5)).tolist() == [0, 0, 1, 1, 1]
        assert file.positions_of(torch.tensor([2, 0])).tolist() == [2, 4]
        for table in (file.labels, file.sizes, file.source_index, file.stored_index):
            assert table.dtype == torch.int64


def test_block_table(path):
    with DTSFile(path) as file:
        num_samples, crc32 = file.block_table
        assert num_samples.tolist() == [2, 3]
        assert file.block_table.crc32 is crc32
        blocks = file.read_blocks([0, 1]).view(2, -1)
        assert crc32.tolist() == [torch_dts._native.crc32(block) for block in blocks]


def test_fingerprint_is_that_of_the_format(path):
    table = read(path, 4096, 16 + 40 * 8)
    expected = hashlib.sha256(read(path, 0, 144) + table).hexdigest()
    with DTSFile(path) as file:
        assert file.fingerprint == expected
    strip_sections(path)
    with DTSFile(path) as file:
        assert file.fingerprint == hashlib.sha256(read(path, 0, 144)).hexdigest()


def test_a_file_without_sections(tmp_path, samples):
    path = build(
        tmp_path / "old.dts", samples, CLASSES, blocks=[[4, 0], [], [2, 1, 3]], tags=(), num_classes=1000
    )
    stored = [samples[i] for i in (4, 0, 2, 1, 3)]
    with DTSFile(path) as file:
        assert len(file) == 5
        assert file.sections == ()
        assert file.info == {}
        assert file.header.num_classes == 1000
        assert file.classes == [str(number) for number in range(1000)]
        assert file.class_to_idx["999"] == 999
        assert file.source_index.tolist() == [0, 1, 2, 3, 4]
        assert file.stored_index.tolist() == [0, 1, 2, 3, 4]
        assert file.labels.tolist() == [2, 0, 0, 0, 2]
        assert file.sizes.tolist() == [len(sample.data) for sample in stored]
        assert file.paths[0] == "2/00000000.jpeg"
        assert file.paths[-2] == "0/00000003.jpeg"
        assert [bytes(file.read(i)) for i in range(5)] == [sample.data for sample in stored]
        assert file.block_table.crc32.tolist() == [-1, -1, -1]
        assert file.block_table.num_samples.tolist() == [2, 0, 3]
        assert file.describe_sample(4) == f"sample 4 (2/00000004.jpeg, block 2) of {path}"


def test_sections_can_be_ignored(path, samples):
    with DTSFile(path, ignore_sections=True) as file:
        assert file.sections == ()
        assert file.classes == ["0", "1", "2"]
        assert file.labels.tolist() == [2, 0, 0, 0, 2]
        assert bytes(file.read(0)) == samples[4].data


@pytest.mark.parametrize("dropped", TAGS)
def test_every_section_may_be_missing(tmp_path, samples, dropped):
    tags = [tag for tag in TAGS if tag != dropped]
    path = build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS, tags=tags)
    order = [0, 1, 2, 3, 4] if dropped == "ORDR" else [4, 0, 2, 1, 3]
    with DTSFile(path) as file:
        assert file.source_index.tolist() == order
        assert [bytes(file.read(order[i])) for i in range(5)] == [samples[i].data for i in (4, 0, 2, 1, 3)]
        assert file.labels.tolist() == [0, 0, 0, 2, 2]
        assert file.classes == (["0", "1", "2"] if dropped == "CLSS" else ["a", "empty", "b"])
        assert file.paths[3] == ("b/00000003.jpeg" if dropped == "PATH" else "b/0.jpg")
        assert bool(file.info) == (dropped != "INFO")
        # BIDX and SIZE are used together or not at all.
        assert (file.block_table.crc32.tolist() == [-1, -1]) == (dropped in ("BIDX", "SIZE"))


def test_paths_of_every_kind(path):
    for given in (str(path), path, os.fsencode(path)):
        with DTSFile(given) as file:
            assert file.path == str(path)
            assert len(file) == 5
    for wrong in (None, 3, b"a\0b", "a\0b"):
        with pytest.raises((TypeError, ValueError), match=r"a path is a str or os\.PathLike, not|NUL"):
            DTSFile(wrong)


def test_a_name_that_is_no_utf8(path):
    odd = pathlib.Path(os.fsdecode(os.fsencode(path.parent) + b"/\xff\n.dts"))
    path.rename(odd)
    with DTSFile(odd) as file:
        assert file.path == str(odd)
        assert repr(file).startswith(rf"DTSFile({path.parent}/\xff\n.dts: 5 samples")
        assert file.describe_sample(9) == rf"sample 9 of {path.parent}/\xff\n.dts"


@pytest.mark.parametrize("verify", [True, None, "all", 0])
def test_wrong_verify(path, verify):
    with pytest.raises(ValueError, match=f"verify is {verify!r}, expected 'blocks', 'file' or False"):
        DTSFile(path, verify=verify)


def test_describe_sample_never_raises(path):
    file = DTSFile(path)
    assert file.describe_sample(4) == f"sample 4 (b/1.jpg, block 0) of {path}"
    assert file.describe_sample(-2) == f"sample 3 (b/0.jpg, block 1) of {path}"
    assert file.describe_sample(5) == f"sample 5 of {path}"
    assert file.describe_sample("x") == f"sample x of {path}"
    file.close()
    assert file.describe_sample(4) == f"sample 4 (b/1.jpg, block 0) of {path}"
    unread = DTSFile(path)
    unread.close()
    assert unread.describe_sample(4) == f"sample 4 of {path}"


def test_repr(path):
    with DTSFile(path) as file:
        assert repr(file) == f"DTSFile({path}: 5 samples, 3 classes, level 0, 2 blocks)"
    assert repr(file) == f"DTSFile({path}: 5 samples, 3 classes, level 0, 2 blocks, closed)"


def test_a_set_without_samples(tmp_path):
    path = build(tmp_path / "a.dts", [], [b"a"], blocks=[])
    with DTSFile(path) as file:
        assert len(file) == 0
        assert list(file.paths) == []
        assert file.labels.tolist() == []
        assert file.stored_index.tolist() == []
        assert file.read_many([]) == []
        with pytest.raises(IndexError, match="sample 0 is out of range: there are 0"):
            file.read(0)


def test_a_volume_counts_its_own_samples(path, samples):
    # Volume 1 of 3, with the samples 12, 70, 71, 80 and 99 of the set.
    content = b"".join(number.to_bytes(4, "little") for number in (99, 12, 71, 70, 80))
    replace_section(path, "ORDR", content)
    set_header(path, num_volumes=3, volume_id=1)
    with DTSFile(path) as file:
        assert file.source_index.tolist() == [99, 12, 71, 70, 80]
        assert file.stored_index.tolist() == [1, 3, 2, 4, 0]
        assert [bytes(file.read(i)) for i in range(5)] == [sample.data for sample in samples]
        assert file.positions_of(torch.arange(5)).tolist() == [4, 0, 2, 1, 3]
