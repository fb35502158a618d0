# SPDX-License-Identifier: Apache-2.0
import gc

import pytest
import torch
from building import BLOCK_SIZE, HEADER_BYTES, MIB, Sample, build, samples_of
from tampering import cut, flip, patch

from torch_dts import CorruptFileError, DTSFile, _native

CLASSES = [b"a", b"b"]
BLOCKS = [[4, 0], [2, 1, 3]]


@pytest.fixture
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, CLASSES, blocks=BLOCKS)


def test_read(path, samples):
    with DTSFile(path) as file:
        for i in range(5):
            view = file.read(i)
            assert isinstance(view, memoryview)
            assert view.tobytes() == samples[i].data
            assert file.read(i - 5).tobytes() == samples[i].data
        for index in (5, -6):
            with pytest.raises(IndexError, match=f"sample {index} is out of range: there are 5"):
                file.read(index)
        with pytest.raises(TypeError, match="integer"):
            file.read("0")


def test_a_view_outlives_the_file(path, samples):
    file = DTSFile(path)
    view = file.read(1)
    many = file.read_many([3, 2])
    file.close()
    del file
    gc.collect()
    assert view.tobytes() == samples[1].data
    assert [part.tobytes() for part in many] == [samples[3].data, samples[2].data]


def test_read_many(path, samples):
    with DTSFile(path) as file:
        for indices in ([4, 0, -4, 0], torch.tensor([4, 0, 1, 0]), iter((4, 0, 1, 0))):
            found = [view.tobytes() for view in file.read_many(indices)]
            assert found == [samples[i].data for i in (4, 0, 1, 0)]
        assert file.read_many([]) == []
        with pytest.raises(IndexError, match="sample 5 is out of range"):
            file.read_many([0, 5])


def test_samples_of_odd_sizes(tmp_path):
    data = bytes(range(1, 251))
    samples = [Sample(b"%d" % size, 0, data[:size]) for size in (0, 1, 63, 64, 65, 0, 128, 250)]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    with DTSFile(path) as file:
        assert [file.read(i).tobytes() for i in range(8)] == [sample.data for sample in samples]
        assert [view.tobytes() for view in file.read_many(range(8))] == [s.data for s in samples]


def test_read_blocks(path, samples):
    with DTSFile(path) as file:
        blocks = file.read_blocks([1, 0])
        assert blocks.dtype == torch.uint8
        assert blocks.shape == (2 * BLOCK_SIZE,)
        assert bytes(blocks[:4].tolist()) == b"LV0B"
        out = torch.full((BLOCK_SIZE,), 7, dtype=torch.uint8)
        assert file.read_blocks(torch.tensor([0]), out=out) is out
        assert torch.equal(out, blocks[BLOCK_SIZE:])
        assert file.read_blocks([]).numel() == 0

        block, offsets, sizes, labels = file.index_samples(blocks, [1, 0])
        assert block.tolist() == [1, 1, 1, 0, 0]
        assert labels.tolist() == [0, 0, 1, 1, 0]
        assert sizes.tolist() == [len(samples[i].data) for i in (2, 1, 3, 4, 0)]
        found = [
            bytes(blocks[start : start + size].tolist())
            for start, size in zip(offsets.tolist(), sizes.tolist(), strict=True)
        ]
        assert found == [samples[i].data for i in (2, 1, 3, 4, 0)]


def test_wrong_block_ids(path):
    with DTSFile(path) as file:
        for wrong in (2, -1):
            with pytest.raises(IndexError, match=f"block {wrong} is out of range: there are 2"):
                file.read_blocks([wrong])
            with pytest.raises(IndexError, match=f"block {wrong} is out of range: there are 2"):
                file.index_samples(torch.empty(BLOCK_SIZE, dtype=torch.uint8), [wrong])
        with pytest.raises(ValueError, match="the arena has 100 bytes"):
            file.index_samples(torch.zeros(100, dtype=torch.uint8), [0])


@pytest.mark.parametrize(
    "out",
    [
        torch.empty(BLOCK_SIZE - 1, dtype=torch.uint8),
        torch.empty(BLOCK_SIZE + 1, dtype=torch.uint8),
        torch.empty(BLOCK_SIZE, dtype=torch.int8),
        torch.empty(2 * BLOCK_SIZE, dtype=torch.uint8)[::2],
        torch.empty(1, BLOCK_SIZE, dtype=torch.uint8),
    ],
)
def test_wrong_out(path, out):
    with (
        DTSFile(path) as file,
        pytest.raises(ValueError, match=r"expected contiguous torch.uint8 \(16777216,\)"),
    ):
        file.read_blocks([0], out=out)


def test_another_default_device(path, samples):
    with torch.device("meta"), DTSFile(path) as file:
        assert file.read(3).tobytes() == samples[3].data
        assert file.read_many([0])[0].tobytes() == samples[0].data
        assert file.read_blocks([0]).device.type == "cpu"
        assert file.sizes.device.type == "cpu"


def damage_in_padding(path):
    """A byte that belongs to no sample and no index: only a block's CRC sees it."""
    flip(path, HEADER_BYTES + 2 * BLOCK_SIZE - 1)


def test_blocks_are_checked_against_their_crc(path):
    damage_in_padding(path)
    with DTSFile(path) as file:
        file.read_blocks([0])
        expected = r"block 1 \(stored samples 2..4\): CRC-32 is 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}"
        with pytest.raises(CorruptFileError, match=expected) as caught:
            file.read_blocks([0, 1])
        assert caught.value.path == str(path)
        assert caught.value.offset == HEADER_BYTES + BLOCK_SIZE
        assert len(file.read_many(range(5))) == 5
    with DTSFile(path, verify=False) as file:
        file.read_blocks([0, 1])


@pytest.mark.parametrize(
    "read",
    [
        lambda file: file.read(0),
        lambda file: file.read_many([]),
        lambda file: file.read_blocks([0]),
        lambda file: file.ensure_verified(),
    ],
)
def test_the_whole_file_is_checked_before_the_first_read(path, read):
    damage_in_padding(path)
    with DTSFile(path, verify="file") as file:
        assert file.labels.tolist() == [0, 0, 0, 1, 1]
        with pytest.raises(CorruptFileError, match=r"block 1 \(stored samples 2..4\): CRC-32 is"):
            read(file)


def test_the_whole_file_is_checked_once(path, samples, monkeypatch):
    checked = []
    check = _native.check_blocks
    monkeypatch.setattr(
        _native, "check_blocks", lambda handle, ids: checked.append(ids.tolist()) or check(handle, ids)
    )
    with DTSFile(path, verify="file") as file:
        assert checked == []
        assert file.read(0).tobytes() == samples[0].data
        assert sorted(checked) == [[0], [1]]
        file.read_many([1, 2])
        file.read_blocks([0])
        file.ensure_verified()
        assert len(checked) == 2
    with DTSFile(path) as file:
        file.read(0)
        file.ensure_verified()
    assert len(checked) == 2


def test_a_file_crc_that_lies(tmp_path, samples):
    path = build(tmp_path / "a.dts", samples, CLASSES, tags=())
    damage = HEADER_BYTES + BLOCK_SIZE - 1
    flip(path, damage)
    with (
        DTSFile(path, verify="file") as file,
        pytest.raises(CorruptFileError, match=r"the CRC-32 of the whole file is 0x.*, the header says 0x"),
    ):
        file.read(0)
    flip(path, damage)
    with DTSFile(path, verify="file") as file:
        assert file.read(0).tobytes() == samples[-1].data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: cut(path, 40 * MIB), "it has 41943040 bytes, expected 50331648"),
        (lambda path: patch(path, 48 * MIB, b"more"), "it has 50331652 bytes, expected 50331648"),
        (lambda path: path.touch(), "it was modified at"),
    ],
)
def test_a_file_that_changes_while_open(path, change, message):
    with DTSFile(path) as file:
        file.read(0)
        change(path)
        for read in (
            lambda: file.read(0),
            lambda: file.read_many([0, 1]),
            lambda: file.read_blocks([0]),
        ):
            with pytest.raises(CorruptFileError, match=f"changed since it was opened: {message}"):
                read()
