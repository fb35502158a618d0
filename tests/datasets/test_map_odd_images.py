# SPDX-License-Identifier: Apache-2.0
"""Odd files through DTSDataset: Pillow's picture or Pillow's error, as for the file itself."""

from __future__ import annotations

import hashlib
import pathlib
import warnings
from typing import Any

import pytest
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import pil_loader

import torch_dts
from torch_dts import DTSDataset


@pytest.fixture(scope="module")
def odd_dataset(odd_images: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> DTSDataset:
    path = tmp_path_factory.mktemp("odd") / "odd.dts"
    torch_dts.convert(odd_images, path, on_error="keep", progress=False)
    return DTSDataset(path, root=odd_images)


def picture_or_error(load: Any) -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = load()
        except Exception as error:
            return type(error), str(error)
    return image.mode, image.size, hashlib.sha256(image.tobytes()).hexdigest()


def test_nothing_is_left_out(odd_dataset: DTSDataset, odd_images: pathlib.Path) -> None:
    assert odd_dataset.samples == ImageFolder(str(odd_images)).samples


def test_pictures_and_errors_are_pillows(odd_dataset: DTSDataset) -> None:
    num_errors = 0
    for index, (path, _) in enumerate(odd_dataset.samples):
        expected = picture_or_error(lambda path=path: pil_loader(path))
        found = picture_or_error(lambda index=index: odd_dataset[index][0])
        if isinstance(expected[0], str):
            assert found == expected, path
            continue
        num_errors += 1
        assert found[0] is expected[0], path
        # The text is Pillow's (where it shows the stream: up to there) with the sample behind it.
        text = expected[1].split(" <")[0]
        assert found[1].startswith(text), path
        name = pathlib.PurePath(path)
        assert f"[sample {index} ({name.parent.name}/{name.name}, block 0) of " in found[1]
    assert num_errors >= 5


def test_exact_pictures_are_the_recorded_ones(odd_dataset: DTSDataset, odd_expected: dict[str, Any]) -> None:
    recorded = {sample["path"]: sample for sample in odd_expected["samples"]}
    num_exact = 0
    for index, path in enumerate(odd_dataset.file.paths):
        sample = recorded[path]
        if sample["compare"] != "exact":
            continue
        num_exact += 1
        found = picture_or_error(lambda index=index: odd_dataset[index][0])
        pil = sample["pil"]
        assert found == ("RGB", (pil["width"], pil["height"]), pil["rgb_sha256"]), path
        assert odd_dataset.targets[index] == sample["target"]
    assert num_exact >= 30
