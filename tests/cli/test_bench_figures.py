# SPDX-License-Identifier: Apache-2.0
import json
import math

from bench_figures import figures, rate

from torch_dts.cli._bench_figures import DiskRate, as_dict


def test_what_follows_from_a_rate():
    found = rate()
    assert found.images_per_s == 1000
    assert found.cpu_ms == 2.0
    assert found.num_cpus_used == 2.0
    assert found.read_bytes_per_s == 5e6
    assert found.wait_share == 0.25
    assert rate(cpu_seconds=None).cpu_ms is None
    assert rate(cpu_seconds=None).num_cpus_used is None


def test_the_chosen_and_the_best():
    slow, fast = rate(2, 900), rate(1, 1000)
    found = figures(rates=[fast, slow], disk=DiskRate(50_000_000, 0.5))
    assert found.chosen is slow
    assert found.best is fast
    assert found.mean_bytes == 100_000
    assert found.disk_images_per_s == 1000
    assert figures().chosen is None
    assert figures().disk_images_per_s is None
    assert figures(disk=DiskRate(70 << 10, 0.01)).disk_images_per_s is None  # too little to tell


def test_as_json():
    found = as_dict(figures(rates=[rate()], disk=DiskRate(8_000_000, 0.5), consumer_rate=math.inf))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["disk"] == {
        "num_bytes": 8_000_000,
        "seconds": 0.5,
        "bytes_per_s": 16e6,
        "images_per_s": 160.0,
    }
    assert found["rates"][0]["images_per_s"] == 1000
    assert found["consumer_rate"] is None
    assert found["exports"] is None
    assert found["mean_bytes"] == 100_000
