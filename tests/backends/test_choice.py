# SPDX-License-Identifier: Apache-2.0
"""The argument ``backend``."""

from __future__ import annotations

import pathlib
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from dali_sets import RANDOM
from torchvision.transforms import v2

import torch_dts
from torch_dts.backends import _choice
from torch_dts.backends._choice import chosen_backend


def loader_with(**how: Any) -> Any:
    dataset = SimpleNamespace(transform=RANDOM, **how.pop("dataset", {}))
    given: dict[str, Any] = dict.fromkeys(
        ("transform", "device", "devices", "dtype", "memory_format", "pad_channels")
    )
    given |= {"backend": "auto", "decode": "exact", "views": 1, "repeat": 1, "static_buffers": False}
    return SimpleNamespace(**{**given, "dataset": dataset, **how})


def test_auto_is_the_decoder_with_pillows_pixels() -> None:
    assert chosen_backend(loader_with()) == "cpu"
    assert chosen_backend(loader_with(decode="fast")) == "cpu"
    assert chosen_backend(loader_with(backend="cpu", decode="fast")) == "cpu"
    assert chosen_backend(loader_with(backend="dali")) == "dali"


def test_auto_is_dali_for_fast_pixels_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is installed, and can do everything else."""
    monkeypatch.setattr(_choice, "check_device", lambda device: device)
    monkeypatch.setattr(_choice, "require_dali", lambda: None)
    on_device = {"device": "cuda", "decode": "fast"}
    assert chosen_backend(loader_with(**on_device)) == "dali"
    for other in (
        {"decode": "exact"},
        {"device": None},
        {"backend": "cpu"},
        {"pad_channels": 4},
        {"static_buffers": True},
        {"views": 2},
        {"repeat": 2},
        {"transform": v2.Compose([v2.Resize(9), v2.ColorJitter(0.1), v2.CenterCrop(9), v2.ToImage()])},
        {"transform": lambda image: image},
        {"dataset": {"data": 1}},
    ):
        assert chosen_backend(loader_with(**{**on_device, **other})) == "cpu", other

    def is_missing() -> None:
        raise ImportError

    monkeypatch.setattr(_choice, "require_dali", is_missing)
    assert chosen_backend(loader_with(**on_device)) == "cpu"


@pytest.mark.parametrize(("backend", "named"), [("auto", "cpu"), ("cpu", "cpu"), ("dali", "dali")])
def test_repr_and_state_say_which(photos_file: pathlib.Path, backend: str, named: str) -> None:
    loader = torch_dts.DataLoader(
        photos_file, transform=RANDOM, batch_size=4, num_workers=1, seed=1, backend=backend
    )
    assert loader.backend == backend
    assert repr(loader) == (
        f"DataLoader(DTSDataset of 27 samples, batch_size=4, num_workers=1, backend={named!r})"
    )
    assert loader.state_dict()["backend"] == named
    assert pickle.loads(pickle.dumps(loader)).backend == backend


def test_another_backend_is_refused(photos_file: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"backend is 'gpu', expected 'auto', 'cpu' or 'dali'"):
        torch_dts.DataLoader(photos_file, transform=RANDOM, backend="gpu")
