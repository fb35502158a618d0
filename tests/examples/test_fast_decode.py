# SPDX-License-Identifier: Apache-2.0
"""The benchmark of decode="fast": what it counts, and that both kinds train alike on tiny images."""

from __future__ import annotations

import importlib
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "benchmarks"


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("fast_decode")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two classes: dark and bright."""
    root = tmp_path_factory.mktemp("classes")
    random = np.random.default_rng(1)
    for part, count in (("train", 32), ("val", 4)):
        for label, base in (("dark", 30), ("bright", 150)):
            (root / part / label).mkdir(parents=True)
            for i in range(count):
                pixels = (base + random.integers(0, 80, (12, 16, 3))).astype(np.uint8)
                Image.fromarray(pixels).resize((128, 96)).save(root / part / label / f"{i}.jpg")
    return root


def test_differences(script: Any, folder: pathlib.Path) -> None:
    samples = script.samples_of(str(folder / "val"), 6)
    assert len(samples) == 6
    found = script.difference(samples, 16, 2)
    assert found.num_crops == 12
    assert 6 <= found.num_scaled <= 12
    assert 0 < found.mean <= found.worst_mean < 3
    assert 0 < found.per_mille <= found.largest < 40
    assert str(found).startswith(f"{found.num_scaled} of 12 crops decoded smaller: mean difference ")
    none = script.difference(samples, 90)
    assert (none.num_crops, none.num_scaled, none.largest) == (6, 0, 0)


def test_training(script: Any, folder: pathlib.Path) -> None:
    found = script.trained(str(folder), 16, 4, 1)
    assert set(found) == {"exact", "fast"}
    assert all(value >= 0.9 for values in found.values() for value in values)
    text = script.training_table({"exact": [0.5, 0.7], "fast": [0.6, 0.7]})
    assert text.splitlines() == [
        "exact     60.0 +- 14.1 %   (50.0 70.0)",
        "fast      65.0 +- 7.1 %   (60.0 70.0)",
        "fast - exact, seed by seed: +5.0 points on average",
    ]


def test_speed(script: Any, folder: pathlib.Path) -> None:
    contestants = script.measured(str(folder / "val"), 16, 1, 0)
    assert [one.name for one in contestants] == ["16 x 16, exact", "16 x 16, fast"]
    assert [one.rounds[0].num_images for one in contestants] == [8, 8]
