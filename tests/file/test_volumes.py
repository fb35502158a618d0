# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import random

import pytest
import torch
from building import HEADER_BYTES
from tampering import read, replace_section, section, set_header
from torchvision.datasets import ImageFolder
from volume_sets import link_set, make_set

import torch_dts
from torch_dts import CorruptFileError, DTSFile
from torch_dts.file._find_files import ExactFiles
from torch_dts.file._volumes import VolumePaths, fingerprint_of, volume_of_block


def relative(folder):
    return [os.path.relpath(path, folder.root) for path, _ in folder.samples]


@pytest.mark.parametrize("num_volumes", [2, 7])
def test_a_set_holds_what_its_folder_holds(pictures, tmp_path, num_volumes):
    expected = ImageFolder(pictures)
    make_set(tmp_path, pictures, num_volumes)
    with DTSFile(tmp_path) as file:
        assert len(file) == len(expected)
        assert len(file.volumes) == num_volumes
        assert file.classes == expected.classes
        assert file.labels.tolist() == expected.targets
        assert list(file.paths) == relative(expected)
        for index, (path, _) in enumerate(expected.samples):
            with open(path, "rb") as source:
                assert bytes(file.read(index)) == source.read()
        assert sorted(file.source_index.tolist()) == list(range(len(expected)))


def test_tables_are_those_of_the_volumes_one_behind_the_other(volumes):
    alone = [DTSFile(ExactFiles((str(path),))) for path in volumes]
    with DTSFile(volumes[0]) as file:
        assert [len(each) for each in alone] == [10, 10, 10]
        assert file.num_blocks == file.header.num_blocks == file.header.total_blocks == 3
        assert file.block_table.num_samples.tolist() == [10, 10, 10]
        assert file.block_table.crc32.tolist() == [int(each.block_table.crc32[0]) for each in alone]
        assert file.source_index.tolist() == torch.cat([each.source_index for each in alone]).tolist()
        assert file.stored_index[file.source_index].tolist() == list(range(30))
        assert file.block_of(torch.tensor([0, 9, 10, 29])).tolist() == [0, 0, 1, 2]
        assert file.positions_of(torch.arange(30)).tolist() == file.source_index.tolist()
        assert file.file_bytes == sum(path.stat().st_size for path in volumes)
        arena = file.read_blocks([2, 0])
        block, offsets, sizes, labels = file.index_samples(arena, [2, 0])
        assert block.tolist() == [2] * 10 + [0] * 10
        sources = file.source_index[torch.cat([torch.arange(20, 30), torch.arange(10)])].tolist()
        assert labels.tolist() == file.labels[sources].tolist()
        for row, source in enumerate(sources):
            start = int(offsets[row])
            assert bytes(arena[start : start + int(sizes[row])].numpy()) == bytes(file.read(source))
        assert [bytes(data) for data in file.read_many(sources)] == [bytes(file.read(i)) for i in sources]
        assert file.sizes[sources].tolist() == sizes.tolist()


def test_volumes(volumes):
    with DTSFile(volumes[0].parent / "*.dts") as file:
        assert [volume.absolute_path for volume in file.volumes] == list(map(str, volumes))
        assert [volume.number for volume in file.volumes] == [0, 1, 2]
        assert [volume.first_block for volume in file.volumes] == [0, 1, 2]
        assert [volume.first_sample for volume in file.volumes] == [0, 10, 20]
        assert [volume.header.volume_id for volume in file.volumes] == [0, 1, 2]
        assert file.volumes[2].file_bytes == volumes[2].stat().st_size
        assert [entry.tag for entry in file.volumes[1].sections][:2] == ["HEAD", "INFO"]
        assert volume_of_block(file.volumes, 1) is file.volumes[1]
        assert file.volumes[2].block_offset(2) == HEADER_BYTES
        assert not file.is_lone_volume
        assert repr(file).endswith("30 samples, 3 classes, level 0, 3 blocks, 3 volumes)")
        assert file.describe_sample(0).startswith("sample 0 (a/00.jpg, block ")
    with DTSFile(volumes[1]) as alone:
        assert alone.is_lone_volume
        assert repr(alone).endswith("10 samples, 3 classes, level 0, 1 block, volume 1 of 3)")


def test_fingerprint(volumes):
    one = [hashlib.sha256(read(path, 0, 144) + read(path, 4096, 16 + 40 * 8)).hexdigest() for path in volumes]
    with DTSFile(volumes[0]) as file:
        assert file.fingerprint == hashlib.sha256("".join(one).encode()).hexdigest()
        assert fingerprint_of(file.handle, file.volumes[:1]) == one[0]
    with DTSFile(volumes[2]) as alone:
        assert alone.fingerprint == one[2]


def test_paths_of_the_caller(volumes, monkeypatch):
    folder = volumes[0].parent
    monkeypatch.chdir(folder.parent)
    for given in (folder.name, f"{folder.name}/*", f"{folder.name}/{volumes[0].name}"):
        with DTSFile(given) as file:
            assert file.path == given
            assert file.absolute_path == f"{folder.parent}/{given}"
            assert [volume.path for volume in file.volumes] == [f"{folder.name}/{v.name}" for v in volumes]


def test_another_sets_volume(volumes, pictures, tmp_path):
    """Only INFO tells them apart: one was made with another seed."""
    other = make_set(tmp_path / "other", pictures, 3, seed=1)
    link_set(tmp_path / "mixed", [volumes[0], other[1], volumes[2]])
    with pytest.raises(
        CorruptFileError, match=r"00001-of-00003\.dts: section 'INFO': its set is \w{12}\.\.\., but \w{12}"
    ) as caught:
        DTSFile(tmp_path / "mixed")
    assert caught.value.path == str(tmp_path / "mixed" / volumes[1].name)
    # A rescue asks no section.
    with DTSFile(tmp_path / "mixed", ignore_sections=True) as file:
        assert len(file) == 30


def test_orders_that_are_no_permutation(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(2,))
    order = bytearray(section(paths[2], "ORDR"))
    order[:4] = section(paths[0], "ORDR")[:4]
    replace_section(paths[2], "ORDR", bytes(order))
    with (
        DTSFile(paths[0]) as file,
        pytest.raises(
            CorruptFileError, match=r"which a sample of another volume has too: they are not of one set"
        ) as caught,
    ):
        file.read(0)
    assert caught.value.path == str(paths[2])


def test_a_volume_twice(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(2,))
    set_header(paths[2], volume_id=1)
    with pytest.raises(
        CorruptFileError, match=r"00002-of-00003\.dts at byte 60: it is volume 1 of 3, and so is '.*00001-of-"
    ):
        DTSFile(paths[0])


def test_other_classes(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1,))
    replace_section(paths[1], "CLSS", section(paths[1], "CLSS").replace(b"b", b"d"))
    with pytest.raises(CorruptFileError, match=r"section 'CLSS' has other class names than '.*00000-of-"):
        DTSFile(tmp_path / "set")


def test_info_that_is_no_json(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1,))
    replace_section(paths[1], "INFO", b"{")
    with pytest.raises(CorruptFileError, match=r"00001-of-00003\.dts: section 'INFO': no JSON text"):
        DTSFile(tmp_path / "set")


def test_the_set_in_info(volumes):
    infos = [json.loads(section(path, "INFO")) for path in volumes]
    assert infos[0] == infos[1] == infos[2]
    assert len(infos[0]["set"]) == 64


def test_volume_paths():
    names = [f"{i}.jpg" for i in range(20)]
    source = list(range(20))
    random.Random(3).shuffle(source)
    parts = [[names[i] for i in sorted(source[a:b])] for a, b in ((0, 7), (7, 8), (8, 20))]
    paths = VolumePaths(parts, torch.tensor(source))
    assert list(paths) == names
    assert [paths[i] for i in range(-20, 20)] == names + names
    assert paths[3:9:2] == names[3:9:2]
    assert len(paths) == 20
    with pytest.raises(IndexError, match="sample 20 is out of range: there are 20"):
        paths[20]


def test_a_volume_on_its_own_counts_its_samples(volumes, pictures):
    expected = ImageFolder(pictures)
    with torch_dts.open(volumes[1]) as file:
        sources = sorted(file.source_index.tolist())
        assert list(file.paths) == [relative(expected)[i] for i in sources]
        assert file.labels.tolist() == [expected.targets[i] for i in sources]
