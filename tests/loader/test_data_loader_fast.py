# SPDX-License-Identifier: Apache-2.0
"""DataLoader(decode="fast"): what `compile` gives, counted and named like other epochs."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import torch_dts
from torch_dts.transforms import compile

CROP = v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage()])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("fast")
    random = np.random.default_rng(3)
    for i in range(9):
        (root / f"c{i % 3}").mkdir(exist_ok=True)
        small = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        small.resize((240, 180)).save(root / f"c{i % 3}" / f"{i}.jpg", quality=90, progressive=i == 8)
    return root


def test_batches_are_those_of_compile(folder: pathlib.Path) -> None:
    """Same crops as exact ones, none of them the same bytes, and each decoder counted."""
    loader = torch_dts.DataLoader(folder, 9, transform=CROP, seed=5, num_workers=1, decode="fast")
    ((images, labels),) = loader
    samples = [pathlib.Path(path).read_bytes() for path, _ in loader.dataset.samples]
    assert torch.equal(images, compile(CROP, decode="fast")(samples, seed=5))
    exact = compile(CROP)(samples, seed=5)
    assert not torch.equal(images, exact)
    assert float((images.int() - exact.int()).abs().float().mean()) < 1.0
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert loader.stats().num_own in (0, 8)  # 0: a CPU without AVX2


def test_it_is_named_and_checked(folder: pathlib.Path) -> None:
    loader = torch_dts.DataLoader(folder, 9, transform=CROP, seed=5, num_workers=1, decode="fast")
    assert loader.decode == "fast"
    assert "decode='fast'" in repr(loader)
    state = loader.state_dict()
    assert state["decode"] == "fast"
    exact = torch_dts.DataLoader(folder, 9, transform=CROP, seed=5, num_workers=1)
    assert "decode" not in repr(exact)
    assert exact.state_dict()["decode"] == "exact"
    exact.load_state_dict(state)  # how it was decoded changes nothing
    with pytest.raises(ValueError, match=r"decode is 'quick', expected 'exact', 'fast' or 'none'"):
        torch_dts.DataLoader(folder, 9, transform=CROP, decode="quick")
