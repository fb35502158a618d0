# SPDX-License-Identifier: Apache-2.0
"""Figures of a benchmark that never ran."""

from torch_dts.cli._bench_figures import Figures, Rate


def figures(**more):
    known = {
        "path": "a.dts",
        "kind": "blocks",
        "num_samples": 1000,
        "total_bytes": 100_000_000,
        "level": 0,
        "has_restart_markers": False,
        "num_cpus": 2,
        "available_bytes": 1e9,
        "mode": "auto",
        "batch_size": 64,
        "transform": "imagenet",
        "num_workers": 2,
    }
    return Figures(**{**known, **more})


def rate(num_workers=2, images_per_s=1000, **more):
    known = {"cpu_seconds": 4.0, "bytes_read": 10_000_000, "bottleneck": "decoding"}
    waited = {"first_batch_seconds": 0.1, "wait_seconds": 0.5}
    return Rate(num_workers, images_per_s * 2, 2.0, **{**known, **waited, **more})
