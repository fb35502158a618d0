# SPDX-License-Identifier: Apache-2.0
import os

import pytest

import torch_dts
from torch_dts import CorruptFileError
from torch_dts.file._given_path import GivenPath, expand_home


def test_the_place_is_that_of_the_moment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/x")
    assert GivenPath("a/../b.dts").absolute == f"{tmp_path}/a/../b.dts"
    assert GivenPath("~/b.dts").absolute == "/home/x/b.dts"
    assert GivenPath("~/b.dts").given == "~/b.dts"
    assert expand_home("a/~") == "a/~"
    with pytest.raises(ValueError, match="NUL"):
        GivenPath("a\0")


def test_errors_name_the_path_as_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = GivenPath("a.dts")
    with pytest.raises(CorruptFileError, match=r"^a\.dts at byte 4: odd"), name:
        raise CorruptFileError(name.absolute, 4, "odd")
    with pytest.raises(FileNotFoundError, match=r"a\.dts") as caught:
        torch_dts.open("a.dts")
    assert caught.value.filename == "a.dts"
    with pytest.raises(OSError, match="other") as caught, name:
        raise OSError(5, "other", "b.dts")
    assert caught.value.filename == "b.dts"


@pytest.mark.parametrize("given", ["{name}", "~/{name}"])
def test_reading_after_a_change_of_directory(dts_file, monkeypatch, given):
    path = dts_file()
    with torch_dts.open(path) as file:
        expected = [bytes(file.read(i)) for i in range(len(file))]
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    given = given.format(name=path.name)
    with torch_dts.open(given) as file:
        stream = torch_dts.DTSIterableDataset(given, shuffle=False)
        monkeypatch.chdir("/")
        assert file.path == given
        assert file.absolute_path == str(path)
        assert [bytes(file.read(i)) for i in range(len(file))] == expected
        assert file.labels.tolist() == [0, 0, 0, 1, 1]
        assert len(list(stream)) == 5
    monkeypatch.chdir(path.parent)
    assert torch_dts.verify(given).ok
    assert os.fspath(torch_dts.extract(given, "~/out")) == str(path.parent / "out")
    assert (path.parent / "out" / "a").is_dir()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (3, "a path is a str or os.PathLike, not int: 3$"),
        (
            ["x.dts", "y.dts"],
            r"not list: .*\. The volumes of a set are named by the first of them",
        ),
        (None, "not NoneType: None$"),
    ],
)
def test_what_is_no_path(dts_file, path, text):
    for take in (torch_dts.open, torch_dts.DTSDataset, torch_dts.DTSIterableDataset, torch_dts.verify):
        with pytest.raises(TypeError, match=text):
            take(path)
    with pytest.raises(TypeError, match=text):
        torch_dts.extract(dts_file(), path)
