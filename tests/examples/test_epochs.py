# SPDX-License-Identifier: Apache-2.0
"""examples/benchmarks/epochs.py: what it counts is what the files hold, and its models give known answers."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import torch_dts

MODULES = (
    *("article", "child", "disk_rate", "load_tables", "page_cache", "pixel_files", "pixel_tables", "sets"),
    *("slow_disk", "small_memory", "syscalls", "totals", "waiting", "ways"),
)


@pytest.fixture(scope="module")
def parts(benchmark_module: Callable[[str], ModuleType]) -> Any:
    """The modules of epoch_parts, and epochs itself, by name."""
    found = {name: benchmark_module(f"epoch_parts.{name}") for name in MODULES}
    return SimpleNamespace(**found, epochs=benchmark_module("epochs"))


def test_load_counts_every_image_and_byte(
    parts: Any,
    image_folder: Callable[..., pathlib.Path],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = image_folder(classes={"a": 7, "b": 8})
    results, work = tmp_path / "load.json", tmp_path / "work"
    arguments = ["load", "--data", str(data), "--work", str(work), "--images", "12", "--json", str(results)]
    arguments += ["--num-workers", "0", "--batch-size", "5", "--rounds", "1", "--warm-epochs", "1"]
    arguments += ["--pixel-images", "30", "--levels", "0", "1"]
    tables = parts.epochs.run(parts.epochs.parsed(arguments))

    train, val = next(work.glob("train_*_level0.dts")), next(work.glob("val_*_level0.dts"))
    assert len(torch_dts.open(train)) == 12
    assert len(torch_dts.open(val)) == 1
    payload = int(torch_dts.open(train).sizes.sum())
    linked = [path for path in work.rglob("train_*/*/*.jpg") if path.is_file()]
    assert payload == sum(path.stat().st_size for path in linked)
    warm = next(table for table in tables if table.title == "load only, warm cache, train: 12 images")
    forms = ["RAW", "LV0", "LV1"]
    ways = [("torch DataLoader", "")] + [(form, mode) for mode in ("FULLY", "PARTIAL") for form in forms]
    assert [tuple(row[:2]) for row in warm.rows] == ways
    level1 = int(torch_dts.open(next(work.glob("train_*_level1.dts"))).sizes.sum())
    for form, mode, seconds, rate, _, megabytes, *_, published in warm.rows:
        assert seconds * rate == pytest.approx(12)
        if form != "LV1":
            assert seconds * megabytes * 1e6 == pytest.approx(payload)
        else:
            assert seconds * megabytes * 1e6 == pytest.approx(level1)
            assert published == pytest.approx(16.369 / 7.422 if mode == "FULLY" else 6.313 / 2.099)
    small = tables[-1]
    assert [tuple(row[:3]) for row in small.rows[:4]] == [
        ("MNIST", split, cache) for split in ("train", "val") for cache in ("cold", "warm")
    ]
    assert all(row[4] * row[5] == pytest.approx(30) for row in small.rows)

    saved = json.loads(results.read_text(encoding="utf-8"))
    assert saved["benchmark"] == "epochs load"
    assert [table["title"] for table in saved["tables"]] == [table.title for table in tables]
    printed = capsys.readouterr().out
    assert "### load only, cold cache, train: 12 images" in printed
    assert "| LV1              | PARTIAL |" in printed


def test_whole_pipeline_and_totals(
    parts: Any, image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    images = parts.sets.image_set("val", str(image_folder(classes={"a": 2, "b": 3})), tmp_path, None, (0,))
    settings = parts.ways.Settings(num_workers=0, batch_size=4, image_size=16, load_only=False)
    for form in ("torch", "RAW", "LV0"):
        loader = parts.ways.make_loader(images, form, "partial", settings)
        batches = list(loader)
        assert [tuple(batch[0].shape) for batch in batches] == [(4, 3, 16, 16), (1, 3, 16, 16)]
        assert parts.ways.run_epoch(loader).num_images == 5
    measured = parts.totals.measure(images, "LV0", "partial", settings, 2, 0.0)
    assert measured.is_measured()
    assert parts.totals.measure(images, "LV0", "partial", settings, 9, 0.0).is_measured() is False
    total = parts.totals.Total([5.0, 1.0, 2.0, 9.0], 10)
    assert not total.is_measured()
    assert total.total() == 17 + 6 * 2.0
    assert parts.totals.Total([5.0, 1.0], 2).total() == 6.0


def test_the_articles_figures_are_copied_rightly(parts: Any) -> None:
    small = parts.article.SMALL_MEMORY
    raw, level0 = (sum(small[form].values()) for form in ("RAW", "LV0"))
    assert raw / level0 == pytest.approx(42.8, abs=0.05)  # as the article itself says
    assert parts.article.speed_up("cold", "fully", "train", "LV3") == pytest.approx(3.763, abs=0.001)
    assert parts.article.total_speed_up("partial", "LV0") == pytest.approx(1.199, abs=0.001)
    assert parts.article.total_speed_up("fully", "LV1") is None


def test_dropped_files_are_not_in_the_page_cache(parts: Any, tmp_path: pathlib.Path) -> None:
    path, empty = tmp_path / "file", tmp_path / "empty"
    path.write_bytes(bytes(10 * 4096 + 1))
    empty.touch()
    os.sync()
    path.read_bytes()
    page = os.sysconf("SC_PAGESIZE")
    full = -(-(10 * 4096 + 1) // page) * page
    assert parts.page_cache.resident_bytes(path) == full
    assert parts.page_cache.resident_bytes(empty) == 0
    share = parts.page_cache.drop([path, empty])
    # A folder in memory keeps all of it, and drop says so.
    assert share in (0.0, full / (10 * 4096 + 1))
    assert share == parts.page_cache.resident_bytes(path) / (10 * 4096 + 1)


def test_made_pixel_sets_are_what_torchvision_reads(parts: Any, tmp_path: pathlib.Path) -> None:
    settings = parts.ways.Settings(num_workers=0, batch_size=8)
    for name, shape in (("MNIST", (28, 28)), ("CIFAR-100", (32, 32, 3))):
        pixels = parts.pixel_tables.pixel_set(name, "train", None, tmp_path, 20)
        assert not pixels.is_real
        found = parts.pixel_files.opened(pixels.root, name, "train")
        assert tuple(found.data.shape) == (20, *shape)
        for form in ("RAW", "DTS"):
            _, counts = parts.pixel_tables.once(pixels, form, settings)
            assert (counts.num_images, counts.num_bytes) == (
                20,
                found.data.size if name != "MNIST" else 15680,
            )
        assert parts.pixel_files.find_or_make(pixels.root, tmp_path, name, 5) == (pixels.root, True)


READER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for offset in map(int, sys.argv[2:]):
    assert len(os.pread(file, 65536, offset)) == 65536
"""


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is Linux's")
def test_slow_disk_counts_accesses_bytes_and_time(parts: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))
    shim = parts.slow_disk.compiled(tmp_path)
    if shim is None:
        pytest.skip("no C compiler")
    ahead, half, whole = 1 << 17, 1 << 19, 1 << 20

    def counts(cache_bytes: int, offsets: list[int]) -> dict[str, int]:
        disk = parts.slow_disk.Disk(0.1, 1e10, cache_bytes)
        environment = parts.slow_disk.environment(shim, tmp_path, disk, str(path))
        command = [sys.executable, "-S", "-c", READER, str(path), *map(str, offsets)]
        subprocess.run(command, env={**os.environ, **environment}, check=True)
        found: dict[str, int] = parts.slow_disk.counts_in(environment["SLOW_DISK_STATE"])
        assert found["reads"] == len(offsets)
        assert found["asked_bytes"] == 65536 * len(offsets)
        busy = disk.seconds(found["seeks"], found["disk_bytes"])
        assert found["busy_ns"] / 1e9 == pytest.approx(busy, abs=1e-6)
        return found

    in_order = list(range(0, whole, 65536))
    once = counts(whole, in_order)
    assert (once["seeks"], once["disk_bytes"]) == (1, whole)
    # the second time it is in memory, or, where half of it fits, what is asked for has just gone
    twice = counts(whole, in_order * 2)
    assert (twice["seeks"], twice["disk_bytes"]) == (1, whole)
    too_small = counts(half, in_order * 2)
    assert (too_small["seeks"], too_small["disk_bytes"]) == (2, 2 * whole)
    # each access begins elsewhere and reads ahead, but for the end of the file
    backwards = counts(whole, [whole - 65536, half, 0])
    assert (backwards["seeks"], backwards["disk_bytes"]) == (3, 65536 + 2 * ahead)


def test_windows_fit_into_the_memory(parts: Any) -> None:
    block = 16 << 20
    assert parts.small_memory.window_for(84_000_000, block) == 2
    assert parts.small_memory.window_for(41_000_000, block) == 1
    assert parts.small_memory.window_for(8_000_000_000, block) == 190
    images = SimpleNamespace(num_images=lambda: 3)
    table = parts.small_memory.control_group_table(images, parts.ways.Settings(), None)
    assert table.rows == []
    assert "--cgroup was not given" in table.notes[0]


SUMMARY = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100        10 futex
 40.00    0.000200           2        90           pread64
  0.00    0.000000           0         1           total_of_none
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       191        10 total
"""


def test_calls_and_waits(parts: Any, tmp_path: pathlib.Path) -> None:
    assert parts.syscalls.parsed(SUMMARY) == {"futex": 100, "pread64": 90, "total_of_none": 1}
    waits = parts.waiting.consume([1, 2, 3], 0.0)
    assert waits.num_batches == 3
    assert 0.0 <= waits.share() <= 1.0
    assert parts.waiting.Waits(4.0, 1.0, 9).share() == 0.25
    assert parts.waiting.consume([], 0.0).num_batches == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_read_bytes_are_counted(parts: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(9_000_000))
    before = parts.child.read_counts()
    path.read_bytes()
    after = parts.child.read_counts()
    # looking at /proc reads a little itself
    assert 9_000_000 <= after[0] - before[0] < 12_000_000
    assert after[1] > before[1]
