# SPDX-License-Identifier: Apache-2.0
"""Samples that only Pillow decodes, and those that nobody can."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, RANDOM, hashes, photo, same
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader import DataLoader

BAD = {3: "text", 8: "cut", 11: "empty"}


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder of 14 images: JPEG, PNG and GIF in turn."""
    root = tmp_path_factory.mktemp("mixed")
    (root / "a").mkdir()
    for number in range(14):
        kind = ("JPEG", "PNG", "GIF")[number % 3]
        photo(number, (26, 24)).save(root / "a" / f"{number:02}.jpg", kind)
    return root


@pytest.fixture(scope="session")
def damaged(mixed: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The same with a text, a cut JPEG and an empty file among them."""
    root = tmp_path_factory.mktemp("damaged")
    (root / "a").mkdir()
    for number, path in enumerate(sorted((mixed / "a").iterdir())):
        content = path.read_bytes()
        if number == 8:
            content = (mixed / "a" / "09.jpg").read_bytes()
        wrong = {"text": b"<html>gone</html>", "cut": content[: len(content) // 2], "empty": b""}
        (root / "a" / path.name).write_bytes(wrong[BAD[number]] if number in BAD else content)
    return root


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("is_file", [False, True])
def test_other_formats_are_pillows(
    is_file: bool, num_workers: int, mixed: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    expected = list(torch.utils.data.DataLoader(ImageFolder(mixed, FIXED), 4))
    dataset: Any = ImageFolder(mixed, FIXED)
    if is_file:
        dataset = torch_dts.DTSDataset(torch_dts.convert(mixed, tmp_path / "x.dts", progress=False), FIXED)
    loader = DataLoader(dataset, 4, num_workers=num_workers)
    for _ in range(2):
        assert same(list(loader), expected)
    assert loader.stats().num_foreign == 2 * 9
    loader.close()


def test_their_choices_do_not_depend_on_who_decodes_them(mixed: pathlib.Path) -> None:
    def loader(num_workers: int) -> DataLoader:
        return DataLoader(ImageFolder(mixed, RANDOM), 4, shuffle=True, seed=6, num_workers=num_workers)

    expected = hashes(loader(0))
    shared = loader(2)
    assert hashes(shared) == expected
    for _ in range(3):
        next(iter(shared))  # results that nobody asks for
    shared.set_epoch(0)
    assert hashes(shared) == expected


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_error_names_the_sample_and_the_epoch_goes_on(num_workers: int, damaged: pathlib.Path) -> None:
    loader = DataLoader(ImageFolder(damaged, FIXED), 3, num_workers=num_workers)
    batches = iter(loader)
    assert next(batches)[1].numel() == 3
    for number in (3, 8, 11):
        with pytest.raises((OSError, SyntaxError), match=rf"sample {number} \(.*{number:02}.jpg\)"):
            next(batches)
    assert next(batches)[1].numel() == 2
    assert next(batches, None) is None


def test_replacing_by_zeros(damaged: pathlib.Path, mixed: pathlib.Path) -> None:
    expected = torch.cat([images for images, _ in torch.utils.data.DataLoader(ImageFolder(mixed, FIXED), 3)])
    loader = DataLoader(ImageFolder(damaged, FIXED), 3, num_workers=1, on_error="replace")
    with pytest.warns(UserWarning, match=r"a bad sample was replaced by zeros: .*sample 3") as warned:
        found = list(loader)
    assert len([warning for warning in warned if "replaced" in str(warning.message)]) == 1
    assert [labels.numel() for _, labels in found] == [3, 3, 3, 3, 2]
    images = torch.cat([images for images, _ in found])
    for number in range(14):
        assert torch.equal(images[number], torch.zeros(3, 16, 16) if number in BAD else expected[number])
    assert loader.stats().num_replaced == 3


def test_a_file_that_is_gone(mixed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    for path in sorted((mixed / "a").iterdir())[:4]:
        (tmp_path / "a" / path.name).write_bytes(path.read_bytes())
    dataset = ImageFolder(tmp_path, FIXED)
    (tmp_path / "a" / "02.jpg").unlink()
    loader = DataLoader(dataset, 2, num_workers=1)
    batches = iter(loader)
    next(batches)
    with pytest.raises(FileNotFoundError, match=r"sample 2 \(.*02.jpg\)"):
        next(batches)
