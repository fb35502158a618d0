# SPDX-License-Identifier: Apache-2.0
"""DTSFile over pixel files: tables, single samples, all at once, and damage."""

import pickle
import struct

import numpy as np
import pytest
import torch
from building import build, samples_of
from building_pixels import build_pixel_file, resign
from tampering import cut, flip, patch

from torch_dts import CorruptFileError, DTSFile

MNIST = ((28, 28, 1), b"   MNIST")


@pytest.fixture
def built(tmp_path):
    return build_pixel_file(tmp_path / "a.dts", 13)


@pytest.fixture
def file(built):
    with DTSFile(built.path) as file:
        yield file


def test_what_the_file_says(built, file):
    assert len(file) == 13
    assert file.classes == [f"class{i}" for i in range(10)]
    assert file.class_to_idx["class3"] == 3
    assert file.info == {"made": "by me"}
    assert [section.tag for section in file.sections] == ["HEAD", "INFO", "CLSS"]
    assert file.header.total_bytes == file.file_bytes == built.size
    assert not file.header.has_blocks
    assert file.header.payload_bytes == 13 * 3073
    assert repr(file) == f"DTSFile({built.path}: 13 samples, 10 classes, pixels 32 x 32 x 3)"


def test_tables(built, file):
    assert file.labels.tolist() == built.labels.tolist()
    assert file.labels.dtype == torch.int64
    assert file.sizes.tolist() == [3072] * 13
    assert file.stored_index.tolist() == file.source_index.tolist() == list(range(13))
    assert file.positions_of(torch.tensor([4, 2])).tolist() == [4, 2]
    assert file.paths[3] == f"class{built.labels[3]}/00000003.png"
    assert len(file.paths) == 13


def test_single_samples(built, file):
    for index in (0, 7, 12, -1):
        data = file.read(index)
        assert isinstance(data, memoryview)
        assert bytes(data) == built.pixels[index].tobytes()
    wanted = [5, 12, 0, 5, -13]
    assert [bytes(data) for data in file.read_many(wanted)] == [built.pixels[i].tobytes() for i in wanted]
    with pytest.raises(IndexError, match="sample 13 is out of range: there are 13"):
        file.read(13)


def test_all_pixels(built, file):
    pixels = file.pixels
    assert pixels.dtype == torch.uint8
    assert pixels.shape == (13, 32, 32, 3)
    assert pixels.is_contiguous()
    assert np.array_equal(pixels.numpy(), built.pixels)
    assert file.pixels is pixels


def test_gray(tmp_path):
    built = build_pixel_file(tmp_path / "a.dts", 5, *MNIST)
    with DTSFile(built.path) as file:
        assert file.pixels.shape == (5, 28, 28, 1)
        assert np.array_equal(file.pixels.numpy(), built.pixels)


@pytest.mark.parametrize("verify", ["blocks", "file", False])
def test_an_old_mnist_file_with_its_wrong_sizes(tmp_path, verify):
    """The original exporter counts 2353 bytes a sample, three channels, where 785 are written."""
    built = build_pixel_file(tmp_path / "a.dts", 5, *MNIST, tags=(), claimed_bytes=2353)
    with DTSFile(built.path, verify=verify) as file:
        assert file.header.total_bytes == 256 + 5 * 2353
        assert file.header.block_bytes == file.header.block_size == 5 * 2353
        assert file.file_bytes == 256 + 5 * 785
        assert file.header.payload_bytes == 5 * 785
        assert file.sections == ()
        assert file.classes == [str(i) for i in range(10)]
        assert np.array_equal(file.pixels.numpy(), built.pixels)
        assert bytes(file.read(4)) == built.pixels[4].tobytes()


def test_methods_about_blocks_refuse(file):
    for use in (
        lambda: file.read_blocks([0]),
        lambda: file.check_blocks([0]),
        lambda: file.block_table,
        lambda: file.block_of(torch.tensor([0])),
        lambda: file.index_samples(torch.zeros(8, dtype=torch.uint8), [0]),
        lambda: file.block_handle(),
    ):
        with pytest.raises(
            ValueError, match=r"a pixel file \(CIFAR10\): it has no blocks; its samples are in"
        ):
            use()


def test_a_file_of_blocks_has_no_pixels(tmp_path):
    path = build(tmp_path / "a.dts", samples_of({"a": 1}), [b"a"])
    with DTSFile(path) as file, pytest.raises(ValueError, match="it has no pixels to read at once"):
        _ = file.pixels


def test_pickling_and_closing(built, file):
    _ = file.pixels
    copied = pickle.loads(pickle.dumps(file))
    assert np.array_equal(copied.pixels.numpy(), built.pixels)
    assert len(pickle.dumps(file)) < 1000
    copied.close()
    assert copied.pixels.shape[0] == 13  # what was read stays
    other = DTSFile(built.path)
    other.close()
    with pytest.raises(ValueError, match="is closed"):
        _ = other.pixels
    assert repr(other).endswith("pixels 32 x 32 x 3, closed)")


def test_a_wrong_pixel(built):
    flip(built.path, 300)
    message = r"CRC-32 of all behind the header is 0x\w{8}, the header says"
    with DTSFile(built.path) as file:
        with pytest.raises(CorruptFileError, match=message):
            _ = file.pixels
        assert len(file.read(0)) == 3072  # single reads can't know
    with DTSFile(built.path, verify="file") as file:
        for use in (lambda: file.read(0), lambda: file.pixels, file.ensure_verified):
            with pytest.raises(CorruptFileError, match="CRC-32 of the whole file is"):
                use()
    with DTSFile(built.path, verify=False) as file:
        assert file.pixels.numpy().tobytes()[300 - 256 - 13] == built.pixels.tobytes()[31] ^ 0xFF


def test_a_label_that_is_no_class(tmp_path):
    built = build_pixel_file(tmp_path / "a.dts", 13, label=10)
    with DTSFile(built.path) as file:
        for use in (lambda: file.labels, lambda: file.pixels, lambda: file.paths[0]):
            with pytest.raises(CorruptFileError, match=r"at byte 268: label 12 is 10, expected 0 \.\. 9"):
                use()


def test_cut_off(built):
    cut(built.path, built.payload_end - 1)
    with pytest.raises(
        CorruptFileError, match=f"at byte {built.payload_end - 1}: the file is cut off: it has"
    ):
        DTSFile(built.path)
    with pytest.raises(CorruptFileError, match="cut off"):
        DTSFile(built.path, ignore_sections=True)
    cut(built.path, 150)
    with pytest.raises(
        CorruptFileError, match="at byte 150: the file is cut off: it has 150 bytes, room for 0"
    ):
        DTSFile(built.path)


def test_a_file_that_ends_with_its_payload_has_no_sections(tmp_path, built):
    cut(built.path, built.payload_end)
    with DTSFile(built.path, verify=False) as file:
        assert file.sections == ()
        assert np.array_equal(file.pixels.numpy(), built.pixels)


@pytest.mark.parametrize("missing", [1, 8, 16, 17, 100])
def test_cut_off_behind_the_payload(built, missing):
    cut(built.path, built.size - missing)
    with pytest.raises(CorruptFileError, match="must end with a footer, whose magic is"):
        DTSFile(built.path)
    with DTSFile(built.path, ignore_sections=True, verify=False) as file:
        assert np.array_equal(file.pixels.numpy(), built.pixels)


def test_bytes_behind_an_old_file(tmp_path):
    built = build_pixel_file(tmp_path / "a.dts", 3, tags=())
    patch(built.path, built.size, b"more")
    with pytest.raises(CorruptFileError, match="more than the 9475 of 3 samples, but less than"):
        DTSFile(built.path)


def test_every_byte_behind_the_payload_is_watched(tmp_path):
    """Footer, table and sections are each found wrong, at opening or when they are read."""
    built = build_pixel_file(tmp_path / "a.dts", 1, (5, 5, 1), b"  PIXELS", classes=[b"c"])
    whole = built.path.read_bytes()
    for at in range(built.table, len(whole)):
        data = bytearray(whole)
        data[at] ^= 0x21
        built.path.write_bytes(data)
        resign(built)
        if _is_gap(built, at):
            continue
        with pytest.raises(CorruptFileError, match=r"section|footer"), DTSFile(built.path) as file:
            _ = file.info, file.classes


def _is_gap(built, at):
    ends = {"HEAD": 4, "INFO": 16, "CLSS": 4 + 3}
    if at < built.table + 16 + 40 * 3 or at >= built.size - 16:
        return False
    return not any(place <= at < place + ends[tag] for tag, place in built.places.items())


def test_a_changed_header(built):
    patch(built.path, 16, struct.pack("<I", 0))
    with pytest.raises(CorruptFileError, match="section 'HEAD': CRC-32 of the file header is"):
        DTSFile(built.path)


def test_a_file_that_changes_while_open(built, file):
    cut(built.path, built.payload_end)
    for use in (lambda: file.pixels, lambda: file.labels, lambda: file.read(0)):
        with pytest.raises(CorruptFileError, match="the file changed since it was opened"):
            use()


def test_header_damage_never_crashes(tmp_path):
    """Any byte of the header, wrong: an error of ours, or values within the file."""
    built = build_pixel_file(tmp_path / "a.dts", 3, (5, 5, 1), b"  PIXELS")
    whole = built.path.read_bytes()
    for at in range(144):
        for change in (0x01, 0xFF):
            data = bytearray(whole)
            data[at] ^= change
            built.path.write_bytes(data)
            for ignore_sections in (False, True):
                try:
                    with DTSFile(built.path, ignore_sections=ignore_sections, verify=False) as file:
                        assert file.pixels.numel() + len(file) <= len(whole)
                except (CorruptFileError, ValueError):
                    continue
