# SPDX-License-Identifier: Apache-2.0
import os
import pickle

import pytest
from building import build, samples_of
from tampering import patch, set_header, strip_sections
from volume_sets import link_set

import torch_dts
from torch_dts import CorruptFileError
from torch_dts.file._find_files import (
    ExactFiles,
    MissingVolumesError,
    find_files,
    missing_error,
    missing_volumes,
    read_claim,
)


@pytest.fixture
def folder(volumes, tmp_path):
    link_set(tmp_path / "set", volumes)
    return tmp_path / "set"


def names(path):
    return [os.path.basename(each) for each in find_files(str(path))]


ALL = [f"train-0000{number}-of-00003.dts" for number in range(3)]


def test_folder_glob_and_first_volume(folder):
    (folder / "notes.txt").write_text("no data set")
    (folder / "train.dts.partial").write_text("nor this")
    (folder / "other.dts").mkdir()
    for path in (folder, folder / "*.dts", folder / "train-*-of-00003.dts", folder / ALL[0]):
        if path.name == "*.dts":
            (folder / "other.dts").rmdir()
        assert names(path) == ALL
        assert os.path.dirname(find_files(str(path))[1]) == str(folder)


def test_another_volume_is_itself(folder):
    assert names(folder / ALL[1]) == [ALL[1]]


def test_the_name_of_a_file_may_look_like_a_glob(volumes, tmp_path):
    path = tmp_path / "a[0-9]*.dts"
    os.link(volumes[1], path)
    assert find_files(str(path)) == [str(path)]


def test_a_single_file_in_a_folder(dts_file):
    path = dts_file()
    assert find_files(str(path.parent)) == [str(path)]
    assert find_files(str(path.parent / "set?.dts")) == [str(path)]


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder has no \.dts file"):
        find_files(str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no file has such a name: '.*/a\*\.dts'"):
        find_files(str(tmp_path / "a*.dts"))
    missing = str(tmp_path / "a.dts")
    assert find_files(missing) == [missing]  # opening it says why not


@pytest.mark.parametrize("lost", [0, 2])
def test_a_missing_volume(folder, lost):
    (folder / ALL[lost]).unlink()
    for path in (folder, folder / "*.dts", *([folder / ALL[0]] if lost else [])):
        with pytest.raises(
            MissingVolumesError, match=f"volume {lost} of 3 is missing; a set is read"
        ) as caught:
            find_files(str(path))
        assert caught.value.filename == str(folder / ALL[lost])
        assert [os.path.basename(each) for each in caught.value.files] == [n for n in ALL if n != ALL[lost]]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_several_missing_volumes(folder):
    (folder / ALL[1]).unlink()
    (folder / ALL[2]).unlink()
    with pytest.raises(FileNotFoundError, match="volumes 1, 2 of 3 are missing"):
        find_files(str(folder / ALL[0]))
    with pytest.raises(FileNotFoundError, match="volumes 1, 2 of 3 are missing"):
        find_files(str(folder))
    error = missing_error(list(range(1, 9)), 9, ["x-00000-of-00009.dts"])
    assert error.strerror.startswith("volumes 1, 2, 3, 4, 5, ... of 9 are missing")
    assert error.filename == "x-00001-of-00009.dts"


def test_several_data_sets(folder, dts_file):
    os.link(dts_file(), folder / "val.dts")
    with pytest.raises(
        ValueError, match=r"set has 2 data sets \(train-\*-of-00003\.dts, val\.dts\): name one"
    ):
        find_files(str(folder))
    assert names(folder / "train-*") == ALL
    assert names(folder / "val.dts") == ["val.dts"]


def test_two_sets_of_as_many_volumes(folder, volumes):
    for path in volumes:
        os.link(path, folder / path.name.replace("train", "val"))
    with pytest.raises(ValueError, match=r"2 data sets \(train-\*-of-00003\.dts, val-\*-of-00003\.dts\)"):
        find_files(str(folder))


def test_renamed_volumes(folder):
    for number, name in enumerate(ALL):
        (folder / name).rename(folder / f"{'cab'[number]}.dts")
    assert names(folder) == ["a.dts", "b.dts", "c.dts"]
    with pytest.raises(
        ValueError,
        match=r"c\.dts is the first of 3 volumes, but its name is not like NAME-00000-of-00003\.dts",
    ):
        find_files(str(folder / "c.dts"))
    assert find_files(str(folder / "c.dts"), is_rescue=True) == [str(folder / "c.dts")]
    with torch_dts.open(folder) as file:
        assert [volume.header.volume_id for volume in file.volumes] == [0, 1, 2]
        assert [os.path.basename(volume.path) for volume in file.volumes] == ["c.dts", "a.dts", "b.dts"]


def test_a_damaged_header_is_no_set(tmp_path):
    path = build(tmp_path / "a.dts", samples_of({"a": 2}), [b"a"])
    patch(path, 56, b"\2")
    with pytest.raises(CorruptFileError, match="'HEAD'"):
        find_files(str(path))


def test_read_claim(volumes, tmp_path):
    assert read_claim(str(volumes[2])) == (3, 2)
    path = build(tmp_path / "a.dts", samples_of({"a": 2}), [b"a"])
    assert read_claim(str(path)) == (1, 0)
    strip_sections(path)
    set_header(path, num_volumes=2, volume_id=2)
    assert read_claim(str(path)) is None
    patch(path, 8, b" CIFAR10")
    assert read_claim(str(path)) is None
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "nothing", ""):
        assert read_claim(str(tmp_path / name)) is None
    (tmp_path / "short").write_bytes(b".DTS")
    assert read_claim(str(tmp_path / "short")) is None


def test_missing_volumes(volumes, dts_file):
    assert missing_volumes([str(volumes[2])]) == ([0, 1], 3)
    assert missing_volumes(list(map(str, volumes))) == ([], 3)
    assert missing_volumes([str(dts_file())]) == ([], 1)


def test_exact_files(volumes):
    exact = ExactFiles([str(volumes[0])])
    assert os.fspath(exact) == str(volumes[0])
    assert os.fspath(ExactFiles([str(path) for path in volumes], "the set")) == "the set"
    with torch_dts.open(exact) as file:
        assert (len(file.volumes), len(file)) == (1, 10)
