# SPDX-License-Identifier: Apache-2.0
"""What becomes of the journal, and what it must fit."""

from __future__ import annotations

import os
import pathlib
import tarfile
from collections.abc import Callable

import pytest
import torch
from PIL import Image

import torch_dts
from torch_dts.convert._check import Checked
from torch_dts.convert._open_path import open_path
from torch_dts.convert._resume import open_journal, open_spool, source_key
from torch_dts.convert._samples import Samples
from torch_dts.convert._sources import list_samples

Make = Callable[..., pathlib.Path]
CONTENT = "the samples themselves (sizes, modification times)"
LISTING = "the list of samples (paths, labels, classes)"


def listed(source: object, directory: pathlib.Path) -> Samples:
    return list_samples(
        source, class_to_idx=None, allow_empty=False, spool_dir=str(directory), progress=False
    )


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if ".dts" in path.name)


@pytest.fixture
def samples(image_folder: Make, tmp_path: pathlib.Path) -> Samples:
    return listed(image_folder(), tmp_path)


def stop(target: str, samples: Samples, error: BaseException, is_begun: bool) -> None:
    with open_journal(target, samples, {}, True) as journal:
        assert journal is not None
        if is_begun:
            journal.note_check(Checked(torch.zeros(5)))
        raise error


def test_a_stop_keeps_what_is_finished(samples: Samples, tmp_path: pathlib.Path) -> None:
    target = str(tmp_path / "x.dts")
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        stop(target, samples, KeyboardInterrupt(), is_begun=False)
    assert names(tmp_path) == []
    with pytest.raises(KeyboardInterrupt, match="resume=True goes on"):
        stop(target, samples, KeyboardInterrupt(), is_begun=True)
    assert names(tmp_path) == ["x.dts.journal"]
    with open_journal(target, samples, {}, False) as nothing:
        assert nothing is None
        assert names(tmp_path) == []


def test_removed_when_all_went_well(samples: Samples, tmp_path: pathlib.Path) -> None:
    with open_journal(str(tmp_path / "x.dts"), samples, {"a": 1}, True) as journal:
        spool = open_spool(str(tmp_path / "x.dts"), journal)
        spool.append(b"abc")
        spool.close()
        assert names(tmp_path) == ["x.dts.journal", "x.dts.samples"]
    assert names(tmp_path) == []


def test_other_errors_keep_it_too(samples: Samples, tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError, match="full"):
        stop(str(tmp_path / "x.dts"), samples, OSError("full"), is_begun=True)
    assert names(tmp_path) == ["x.dts.journal"]


def test_a_file_of_samples_that_is_none_of_ours(samples: Samples, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.dts.samples").write_bytes(b"precious")
    with (
        pytest.raises(FileExistsError, match="exists, but there is no journal"),
        open_journal(str(tmp_path / "x.dts"), samples, {}, True),
    ):
        pass
    assert names(tmp_path) == ["x.dts.samples"]
    assert (tmp_path / "x.dts.samples").read_bytes() == b"precious"


def test_spool_goes_on_behind_what_is_known(samples: Samples, tmp_path: pathlib.Path) -> None:
    target = str(tmp_path / "x.dts")
    with open_journal(target, samples, {}, True) as journal:
        assert journal is not None
        (tmp_path / "x.dts.samples").write_bytes(b"abcdef-torn")
        journal.add_samples(torch.tensor([[0, 2, 4, 0, 0, 0, 0, 0]]))
        spool = open_spool(target, journal)
        assert spool.append(b"gh") == (6, 2)
        spool.finish()
        assert spool.read(2, 6) == b"cdefgh"
        spool.close()
        assert (tmp_path / "x.dts.samples").read_bytes() == b"abcdefgh"


def test_key_of_a_folder(image_folder: Make, tmp_path: pathlib.Path) -> None:
    root = image_folder()
    first = source_key(listed(root, tmp_path))
    assert source_key(listed(root, tmp_path)) == first
    path = root / "a" / "1.jpg"
    stat = path.stat()

    def differing() -> list[str]:
        second = source_key(listed(root, tmp_path))
        return [name for name in first if first[name] != second[name]]

    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert differing() == [CONTENT]
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert differing() == []
    path.rename(root / "a" / "9.jpg")
    assert differing() == [LISTING, CONTENT]
    (root / "a" / "9.jpg").unlink()
    assert differing() == ["number of samples", LISTING, CONTENT]


def test_key_of_items_and_of_a_file(image_folder: Make, tmp_path: pathlib.Path) -> None:
    first = [(Image.new("RGB", (4, 4), color), 0) for color in ("red", "blue")]
    second = [first[0], (Image.new("RGB", (4, 4), "navy"), 0)]
    keys = [source_key(listed(items, tmp_path)) for items in (first, first, second)]
    assert keys[0] == keys[1]
    assert [name for name in keys[0] if keys[0][name] != keys[2][name]] == [CONTENT]
    root = image_folder()
    files = [torch_dts.convert(root, tmp_path / f"{seed}.dts", seed=seed) for seed in (1, 2)]
    keys = []
    for file in [files[0], *files]:
        with torch_dts.open(file) as opened:
            keys.append(source_key(listed(opened, tmp_path)))
    assert keys[0] == keys[1]
    assert [name for name in keys[0] if keys[0][name] != keys[2][name]] == [CONTENT]


def test_key_of_an_archive(image_folder: Make, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "set.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(image_folder(), ".")
    first = source_key(listed(open_path(str(path), None, None), tmp_path))
    assert source_key(listed(open_path(str(path), None, None), tmp_path)) == first
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    second = source_key(listed(open_path(str(path), None, None), tmp_path))
    assert [name for name in first if first[name] != second[name]] == [CONTENT]
