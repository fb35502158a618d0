# SPDX-License-Identifier: Apache-2.0
import os

import pytest
from building import build, build_pixels, jpeg, samples_of

import torch_dts
from torch_dts.cli import _bench_set
from torch_dts.cli._bench_measure import Piece
from torch_dts.cli._bench_set import BenchSet

MIB = 1 << 20


def test_a_file(tmp_path):
    path = build(
        tmp_path / "a.dts", samples_of({"a": 3, "b": 2}), [b"a", b"b"], blocks=[[4, 3], [2, 1, 0]], level=2
    )
    data = BenchSet(str(path))
    assert (data.kind, data.num_samples, data.level, data.has_restart_markers) == ("blocks", 5, 2, False)
    assert data.total_bytes == sum(len(jpeg(i)) for i in range(5))
    assert sorted(map(bytes, data.samples())) == sorted(jpeg(i) for i in range(5))
    pieces, num_threads = data.pieces()
    assert num_threads == 1
    assert pieces == [Piece(str(path), (16 + 4 * i) * MIB, 4 * MIB) for i in range(8)]
    data.close()


def test_parts_of_a_large_file(monkeypatch):
    pieces = [Piece("a", 4 * MIB * i, 4 * MIB) for i in range(100)]
    monkeypatch.setattr(_bench_set, "_NUM_PARTS", 4)
    monkeypatch.setattr(_bench_set, "_PART_BYTES", 8 * MIB)
    found = [piece.offset // (4 * MIB) for piece in _bench_set._spread(pieces)]
    assert found == [0, 1, 25, 26, 50, 51, 75, 76]
    assert list(_bench_set._spread(pieces[:8])) == pieces[:8]
    assert list(_bench_set._spread([])) == []


def test_a_folder(image_folder, monkeypatch):
    folder = image_folder(classes={"a": 3, "b": 2})
    files = sorted(folder.glob("*/*.jpg"))
    data = BenchSet(str(folder))
    assert (data.kind, data.num_samples, data.level, data.file) == ("folder", 5, None, None)
    assert data.total_bytes == sum(os.stat(file).st_size for file in files)
    assert data.samples() == [file.read_bytes() for file in files]
    pieces, num_threads = data.pieces()
    assert num_threads == 4
    assert pieces == [Piece(str(file), 0, file.stat().st_size) for file in files]
    monkeypatch.setattr(_bench_set, "MOST_IMAGES", 2)
    assert data.samples() == [files[0].read_bytes(), files[2].read_bytes()]
    data.close()


def test_pixels_and_markers(tmp_path, image_folder):
    data = BenchSet(str(build_pixels(tmp_path / "p.dts", 40)))
    assert data.kind == "pixels"
    assert data.samples() == []
    assert sum(piece.size for piece in data.pieces()[0]) == os.stat(tmp_path / "p.dts").st_size
    data.close()
    torch_dts.convert(image_folder(), tmp_path / "r.dts", restart_interval="auto", progress=False)
    data = BenchSet(str(tmp_path / "r.dts"))
    assert data.has_restart_markers
    data.close()


def test_nothing_in_it(tmp_path):
    path = build(tmp_path / "a.dts", [], [b"a"], blocks=[])
    with pytest.raises(ValueError, match=r"a\.dts has no samples"):
        BenchSet(str(path))
