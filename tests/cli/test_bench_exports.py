# SPDX-License-Identifier: Apache-2.0
import io

import numpy as np
import pytest
from building import jpeg
from PIL import Image

from torch_dts import convert, open
from torch_dts.cli import _bench_exports
from torch_dts.cli._augment import load_transform
from torch_dts.cli._bench_exports import measure_exports
from torch_dts.transforms._read import read


@pytest.fixture
def plan():
    return read(load_transform("imagenet", 32)).plan.encode()


def photo(seed, size):
    noise = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def test_sizes_are_those_of_a_conversion(tmp_path, plan):
    photos = [photo(0, (600, 450)), photo(1, (500, 480)), photo(2, (90, 70))]
    found = measure_exports([*photos, b"bad", b""], plan, 0, False, 0.0)
    assert found.num_images == 3
    assert found.short_side == pytest.approx((450 + 480 + 70) / 3)
    assert [(each.options, each.is_lossless) for each in found.others] == [
        ("--restart-interval auto", True),
        ("--level 1", False),
        ("--level 2", False),
        ("--level 3", False),
    ]
    (tmp_path / "a" / "c").mkdir(parents=True)
    for i, data in enumerate(photos):
        (tmp_path / "a" / "c" / f"{i}.jpg").write_bytes(data)
    for number, more in ((0, {"restart_interval": "auto"}), (1, {"level": 1}), (3, {"level": 3})):
        path = tmp_path / f"{number}.dts"
        convert(tmp_path / "a", path, progress=False, num_workers=1, **more)
        with open(path) as file:
            ratio = int(file.sizes.sum()) / sum(map(len, photos))
        assert found.others[number].size_ratio == pytest.approx(ratio)


def test_only_what_is_not_done_yet(plan):
    def options(level, has_markers):
        found = measure_exports([jpeg(0)], plan, level, has_markers, 0.0)
        return [each.options for each in found.others]

    assert options(0, True) == ["--level 1", "--level 2", "--level 3"]
    assert options(2, True) == ["--level 3"]
    assert options(3, False) == []


def test_nothing_to_try(plan):
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "PNG")
    assert measure_exports([stream.getvalue(), b"bad", b""], plan, 0, False, 0.0) is None
    assert measure_exports([], plan, 0, False, 0.0) is None


def test_medians_of_cpu_time(plan, monkeypatch):
    ticks = iter(np.cumsum([0, 0.002, 5, 0.004, 5, 0.006] * 3).tolist())
    monkeypatch.setattr(_bench_exports.time, "process_time", lambda: next(ticks))
    trials = [_bench_exports._Stored.of([jpeg(0), jpeg(1)]), *[_bench_exports._Stored.of([jpeg(0)])] * 2]
    found = _bench_exports._decode_in_turns(trials, plan, 0.0)
    assert found == pytest.approx([1.0, 4.0, 6.0])
