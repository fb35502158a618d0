# SPDX-License-Identifier: Apache-2.0
"""Fixtures shared by all tests."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from PIL import Image

from torch_dts.datasets import _agreement

HERE = pathlib.Path(__file__).parent
# Processes that begin anew are forked by one server that has imported what takes seconds.
multiprocessing.set_forkserver_preload(["torch_dts.loader", "torchvision.datasets"])


@pytest.fixture(autouse=True)
def _restore_rng() -> Iterator[None]:
    """No test leaves the global generators in another state than it found them."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def make_image_folder(
    root: pathlib.Path,
    classes: dict[str, int] | None = None,
    size: tuple[int, int] = (40, 30),
    seed: int = 0,
) -> pathlib.Path:
    """Small noisy JPEGs, root/<class>/<i>.jpg; no two alike."""
    generator = np.random.default_rng(seed)
    for name, count in (classes or {"a": 3, "b": 2}).items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            coarse = generator.integers(0, 256, (4, 5, 3), dtype=np.uint8)
            image = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
            image.save(root / name / f"{i}.jpg", quality=90)
    return root


@pytest.fixture
def image_folder(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Factory: image_folder(classes={"a": 3, "b": 2}, size=(40, 30), seed=0) -> root."""
    count = 0

    def make(**kwargs: Any) -> pathlib.Path:
        nonlocal count
        count += 1
        return make_image_folder(tmp_path / f"folder{count}", **kwargs)

    return make


@pytest.fixture
def dts_file(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> Callable[..., pathlib.Path]:
    """Factory: dts_file(**what image_folder takes) -> path of the converted file."""
    import torch_dts

    count = 0

    def make(**kwargs: Any) -> pathlib.Path:
        nonlocal count
        count += 1
        path = tmp_path / f"set{count}.dts"
        torch_dts.convert(image_folder(**kwargs), path, progress=False)
        return path

    return make


@pytest.fixture(scope="session")
def fresh() -> Any:
    """Context of multiprocessing whose processes share nothing with this one; arguments are pickled."""
    return multiprocessing.get_context("forkserver")


@pytest.fixture(scope="session")
def odd_images() -> pathlib.Path:
    """An ImageFolder of odd files (see odd_expected)."""
    return HERE / "odd_images" / "images"


@pytest.fixture(scope="session")
def odd_expected() -> dict[str, Any]:
    """What PIL makes of each odd file."""
    expected: dict[str, Any] = json.loads((HERE / "odd_images" / "expected.json").read_text())
    return expected


@pytest.fixture(scope="session")
def vectors() -> Callable[[str], dict[str, Any]]:
    """Loader of known answers: vectors("order")."""

    def load(name: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((HERE / "vectors" / f"{name}.json").read_text())
        return loaded

    return load


class Group:
    """A process group of two ranks, seen by one after the other. Any collective would wait for ever."""

    def __init__(self) -> None:
        self.rank = 0
        self.is_there = True
        self.store = dist.HashStore()
        self.store.set_timeout(datetime.timedelta(seconds=1))

    def become(self, rank: int) -> None:
        """From now on this is the process of another rank."""
        self.rank = rank
        _agreement._begun.clear()


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    """torch.distributed says that there is this group."""
    made = Group()
    monkeypatch.setattr(dist, "is_initialized", lambda: made.is_there)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "get_rank", lambda: made.rank)
    monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: made.store)
    _agreement._begun.clear()
    yield made
    _agreement._begun.clear()
