# SPDX-License-Identifier: Apache-2.0
"""How an epoch begins: what is native, with which engine, and what is warned of."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import pytest
from loader_sets import FIXED, hashes
from torchvision import transforms
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import _native
from torch_dts.loader import _native_run
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._engine import EngineOptions
from torch_dts.loader._iterator import LoaderIterator


def options_of(loader: DataLoader) -> EngineOptions:
    begun = loader._run.begin(loader)
    assert isinstance(begun, LoaderIterator)
    return begun._engine.options


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {}),
        ({"num_workers": 0}, {"num_workers": 0}),
        ({"num_workers": 2, "prefetch_factor": 5}, {"num_workers": 2, "prefetch_batches": 5}),
        ({"reproducible": False}, {"reproducible": False}),
        ({"in_order": False}, {"reproducible": False}),
        ({"in_order": False, "return_index": True}, {"reproducible": True}),
        ({"return_index": True}, {"reproducible": True}),
        ({"reader_threads": 3}, {"reader_threads": 3}),
        ({"pin_threads": True}, {"cpus": (_native.cpus_for_threads()[0],)}),
        ({"verify": False}, {"check_blocks": False}),
        ({"verify": "file"}, {"check_blocks": True}),
    ],
)
def test_options_of_the_engine(
    arguments: dict[str, Any], expected: dict[str, Any], photos_file: pathlib.Path
) -> None:
    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), **{"num_workers": 1, **arguments})
    assert options_of(loader) == EngineOptions(1, 2, True, (), 1, True)._replace(**expected)


def test_no_more_threads_than_cpus(photos: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native_run, "usable_cpus", lambda: 2)
    folder = ImageFolder(photos, FIXED)
    loader = DataLoader(folder, batch_size=4, num_workers=256, pin_threads=True)
    options = options_of(loader)
    assert (loader.num_workers, options.num_workers, len(options.cpus)) == (256, 2, 2)
    assert options.reader_threads == 4  # reading single files waits for more than CPUs
    assert options_of(DataLoader(folder, num_workers=1)).num_workers == 1
    assert hashes(loader) == hashes(DataLoader(folder, batch_size=4, num_workers=0))


def test_each_device_has_a_thread(photos: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native_run, "usable_cpus", lambda: 2)
    loader = DataLoader(ImageFolder(photos, FIXED), num_workers=16, devices=["cpu"] * 3)
    list(loader)
    assert [engine.options.num_workers for engine in loader._run._engines._idle] == [1, 1, 1]


def test_a_folder_has_more_readers(photos: pathlib.Path) -> None:
    assert options_of(DataLoader(ImageFolder(photos, FIXED), num_workers=8)).reader_threads == 4


def test_reasons_for_python(photos: pathlib.Path) -> None:
    def reason(dataset: Any) -> str:
        loader = DataLoader(dataset)
        begun = loader._run.begin(loader)
        assert isinstance(begun, str)
        return begun

    assert "list" in reason([1, 2, 3])
    own = transforms.Compose([transforms.Lambda(lambda image: image), transforms.ToTensor()])
    assert "Lambda" in reason(ImageFolder(photos, own))
    assert "ToTensor" in reason(ImageFolder(photos))


def test_reading_each_sample_singly_is_warned_of_once(blocks_file: pathlib.Path) -> None:
    arguments: dict[str, Any] = {"shuffle": True, "num_workers": 1, "shuffle_window": "all"}
    loader = DataLoader(torch_dts.DTSDataset(blocks_file, FIXED), mode="partial", **arguments)
    with pytest.warns(
        UserWarning, match=r'shuffle_window="all" without keeping the data in memory reads each'
    ):
        iter(loader)
    stream = torch_dts.DTSIterableDataset(blocks_file, FIXED, shuffle_window="all")
    with pytest.warns(
        UserWarning, match=r'shuffle_window="all" without keeping the data in memory reads each'
    ):
        iter(DataLoader(stream, mode="partial", num_workers=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iter(loader)
        iter(DataLoader(torch_dts.DTSDataset(blocks_file, FIXED), mode="fully", **arguments))
        iter(DataLoader(torch_dts.DTSDataset(blocks_file, FIXED), mode="partial", num_workers=1))


def test_an_engine_comes_back_when_the_epoch_cant_begin(
    photos_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_dts.loader import _native_run

    def failing(*_: Any) -> Any:
        raise ValueError("another seed")

    loader = DataLoader(torch_dts.DTSDataset(photos_file, FIXED), num_workers=1)
    list(loader)
    engines = list(loader._run._engines._idle)
    monkeypatch.setattr(_native_run, "claim_epoch", failing)
    with pytest.raises(ValueError, match="another seed"):
        iter(loader)
    assert loader._run._engines._idle == engines
