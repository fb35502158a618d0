# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from building import build, samples_of

import torch_dts
from torch_dts.cli import _bench_measure
from torch_dts.cli._augment import load_transform
from torch_dts.cli._bench_measure import Piece, measure_disk, measure_rate, pieces_of

MIB = 1 << 20


def test_pieces():
    assert list(pieces_of("a", 9 * MIB, MIB)) == [Piece("a", MIB, 4 * MIB), Piece("a", 5 * MIB, 4 * MIB)]
    assert list(pieces_of("a", 5, 0)) == [Piece("a", 0, 5)]
    assert list(pieces_of("a", 5, 5)) == []


def test_the_disk(tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_bytes(b"x" * 10_000)
    pieces = [Piece(str(file), 0, 4_000), Piece(str(file), 4_000, 4_000), Piece(str(file), 8_000, 4_000)]
    assert measure_disk(pieces, 60, 2).num_bytes == 10_000  # the file became shorter: what there was
    assert measure_disk([], 60, 2).num_bytes == 0
    assert measure_disk(pieces, -1, 2).num_bytes == 8_000  # a piece for each thread
    monkeypatch.setattr(_bench_measure, "_MOST_BYTES", 8_000)
    assert measure_disk(pieces, 60, 1).num_bytes == 8_000
    with pytest.raises(FileNotFoundError, match="No such file"):
        measure_disk([Piece(str(tmp_path / "b"), 0, 1)], 1, 1)


class Clock:
    """Seconds that pass only as somebody sleeps; a batch takes one."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    process_time = perf_counter

    def sleep(self, seconds):
        self.now += seconds


def test_the_rate(tmp_path, monkeypatch):
    path = build(tmp_path / "a.dts", samples_of({"cat": 4, "dog": 2}), [b"cat", b"dog"])
    loader = torch_dts.DataLoader(
        path, batch_size=2, num_workers=0, transform=load_transform("imagenet", 8), mode="partial"
    )
    clock = Clock()
    monkeypatch.setattr(_bench_measure, "time", clock)
    endless = _bench_measure._endless

    def slow(loader):
        for batch in endless(loader):
            clock.sleep(1)
            yield batch

    monkeypatch.setattr(_bench_measure, "_endless", slow)
    found = measure_rate(loader, 10.0)  # a first batch, one more to warm up, and eight
    assert (found.num_images, found.seconds, found.wait_seconds) == (16, 8.0, 8.0)
    assert (found.first_batch_seconds, found.cpu_seconds, found.num_workers) == (1.0, 8.0, 0)
    found = measure_rate(loader, 10.0, consumer_rate=2 / 3)  # each batch takes three seconds more
    assert (found.num_images, found.seconds, found.wait_seconds) == (4, 8.0, 2.0)
    assert found.wait_share == 0.25
    assert measure_rate(loader, 0.1, is_native=False).cpu_seconds is None
    loader.close()
    assert torch.is_tensor(next(iter(loader))[0])
