# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import tarfile

import pytest
import torch
from PIL import Image

from torch_dts import CorruptFileError, _native


def identities(*paths: pathlib.Path) -> torch.Tensor:
    return torch.tensor([[path.stat().st_size, path.stat().st_mtime_ns] for path in paths])


def test_list_tar(tmp_path: pathlib.Path) -> None:
    content = tmp_path / os.fsdecode(b"\xff")
    content.write_bytes(b"x" * 600)
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(content, "a/\udcff")
        tar.add(content, "b" * 300)
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "to"
        tar.addfile(link)
    size = (tmp_path / "x.tar").stat().st_size
    names, targets, members, following = _native.list_tar(tmp_path / "x.tar", 0, size, 0, 2)
    assert (names, targets) == (b"a/\xff\0" + b"b" * 300 + b"\0", b"")
    assert members.tolist() == [[0, 512, 600], [0, 3072, 600]]
    names, targets, members, following = _native.list_tar(tmp_path / "x.tar", 0, size, following, 2)
    assert (names, targets, following) == (b"link\0", b"to\0", -1)
    assert members[:, 0].tolist() == [3]
    with pytest.raises(CorruptFileError, match="became shorter"):
        _native.list_tar(tmp_path / "x.tar", 0, size + 1, 0, 2)
    with pytest.raises(ValueError, match="begin is -1, expected 0 to"):
        _native.list_tar(tmp_path / "x.tar", -1, size, 0, 2)
    with pytest.raises(FileNotFoundError, match=r"none\.tar"):
        _native.list_tar(tmp_path / "none.tar", 0, size, 0, 2)


def test_probe_ranges(tmp_path: pathlib.Path) -> None:
    Image.new("L", (30, 20)).save(tmp_path / "a.jpg")
    Image.new("RGB", (7, 5)).save(tmp_path / "b.jpg")
    jpegs = [(tmp_path / name).read_bytes() for name in ("a.jpg", "b.jpg")]
    both = tmp_path / "both"
    both.write_bytes(b"??" + jpegs[0] + jpegs[1])
    ranges = [[0, 2, len(jpegs[0])], [0, 2 + len(jpegs[0]), len(jpegs[1])], [1, 0, len(jpegs[0])], [0, 0, 9]]
    paths = [both, tmp_path / "a.jpg"]
    rows = _native.probe_ranges(paths, identities(*paths), torch.tensor(ranges))
    sizes = [len(jpegs[0]), len(jpegs[1])]
    assert rows.tolist() == [
        [1, sizes[0], 30, 20, 1], [1, sizes[1], 7, 5, 3], [1, sizes[0], 30, 20, 1], [0, 9, 0, 0, 0]
    ]  # fmt: skip
    changed = identities(*paths)
    changed[1, 1] += 1
    with pytest.raises(CorruptFileError, match=r"a\.jpg: the file changed while it was converted"):
        _native.probe_ranges(paths, changed, torch.tensor(ranges))
    with pytest.raises(ValueError, match="a range of file 2 of 2 files"):
        _native.probe_ranges(paths, identities(*paths), torch.tensor([[2, 0, 1]]))


def test_read_ranges_into(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    arena = torch.zeros(8, dtype=torch.uint8)
    ranges, offsets = torch.tensor([[0, 7, 3], [0, 1, 2]]), torch.tensor([0, 5])
    _native.read_ranges_into([path], identities(path), ranges, offsets, arena)
    assert bytes(arena.numpy()) == b"789\0\x0012\0"
    with pytest.raises(ValueError, match="2 ranges and 1 offsets"):
        _native.read_ranges_into([path], identities(path), ranges, offsets[:1], arena)
    with pytest.raises(ValueError, match=r"ranges must be \[n, 3\]"):
        _native.read_ranges_into([path], identities(path), ranges.flatten()[:4], offsets, arena)
    with pytest.raises(ValueError, match="identities for these paths has 4 elements, the given one has 2"):
        _native.read_ranges_into([path, path], identities(path), ranges, offsets, arena)
