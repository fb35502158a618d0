# SPDX-License-Identifier: Apache-2.0
"""What torch's DataLoader gives, and refuses, for the same arguments."""

from __future__ import annotations

import contextlib
import gc
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from loader_sets import FIXED
from torch.utils.data import ChainDataset, ConcatDataset, IterableDataset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader

TORCH: Any = torch.utils.data.DataLoader

TARGETS: dict[str, Any] = {
    "text": str,
    "dict": lambda label: {"a": label, "b": [str(label)]},
    "tuple": lambda label: (label, str(label)),
    "float": lambda label: label * 2.5,
    "bool": lambda label: label == 1,
    "tensor": lambda label: torch.tensor([label, label]),
    "numpy": lambda label: np.float32(label),
}


def same(found: Any, expected: Any) -> bool:
    if type(found) is not type(expected):
        return False
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found, expected)
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_any_kind(photos: pathlib.Path, name: str) -> None:
    folder = ImageFolder(photos, FIXED, target_transform=TARGETS[name])
    expected = [targets for _, targets in TORCH(folder, batch_size=4)]
    found = [targets for _, targets in DataLoader(folder, batch_size=4, num_workers=1)]
    assert same(found, expected)


def test_a_target_that_can_not_be_collated(photos: pathlib.Path) -> None:
    folder = ImageFolder(photos, FIXED, target_transform=lambda label: None)
    for kind in (TORCH, DataLoader):
        with pytest.raises(TypeError, match="batch must contain tensors"):
            list(kind(folder, batch_size=4, num_workers=0))


class Twelve(IterableDataset[int]):
    """Does not share itself out to workers."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(12))


@pytest.mark.parametrize("data", [Twelve(), ChainDataset([Twelve(), Twelve()])])
def test_iterables_of_the_users_have_no_workers_by_default(data: Any) -> None:
    loader = DataLoader(data, batch_size=5)
    with pytest.warns(UserWarning, match="works as torch's own"):
        assert same(list(loader), list(TORCH(data, batch_size=5)))
    assert loader.num_workers == 0


def test_a_stream_that_only_python_can_transform_has_none_either(photos_file: pathlib.Path) -> None:
    native = torch_dts.DTSIterableDataset(photos_file, FIXED)
    assert DataLoader(native).num_workers > 0
    assert DataLoader(native, transform=np.asarray).num_workers == 0
    assert DataLoader(torch_dts.DTSIterableDataset(photos_file, np.asarray)).num_workers == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"num_workers": 1.5}, TypeError, "'float' object cannot be|num_workers is 1.5, expected an int"),
        (
            {"num_workers": 1, "prefetch_factor": 2.5},
            TypeError,
            "'float' object cannot be|prefetch_factor is 2.5, expected an int",
        ),
        ({"num_workers": 1, "prefetch_factor": 0}, AssertionError, "prefetch_factor must be greater than 0"),
        ({"num_workers": 0, "timeout": 3}, AssertionError, "requires timeout == 0"),
        ({"num_workers": "2"}, TypeError, "not supported between instances of 'str' and 'int'"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_refusals(photos: pathlib.Path, arguments: dict[str, Any], kind: Any, match: str) -> None:
    folder = ImageFolder(photos, FIXED)
    for loader in (TORCH, DataLoader):
        with pytest.raises(kind, match=match):
            list(loader(folder, **arguments))


def test_a_worker_init_fn_is_called_or_refused(photos: pathlib.Path) -> None:
    folder = ImageFolder(photos, FIXED)
    function: Any = 5
    with pytest.raises(TypeError, match="worker_init_fn is 5, expected a callable or None"):
        list(DataLoader(folder, num_workers=1, worker_init_fn=function))
    assert len(list(DataLoader(folder, num_workers=0, worker_init_fn=function))) == len(folder)


def test_in_order_counts_as_true_or_false(photos: pathlib.Path) -> None:
    order: Any = "a"
    loader = DataLoader(ImageFolder(photos, FIXED), num_workers=1, in_order=order)
    assert torch.cat([labels for _, labels in loader]).tolist() == ImageFolder(photos).targets


@pytest.mark.parametrize("seed", [-1, np.int8(-1), np.uint64(2**64 - 1), torch.tensor(-1)])
def test_seeds_are_integers_of_any_kind(photos_file: pathlib.Path, seed: Any) -> None:
    def order(of: Any, **more: Any) -> list[int]:
        loader = DataLoader(of, 4, num_workers=np.int64(1), return_index=True, **more)  # type: ignore[arg-type]
        return torch.cat([batch[2] for batch in loader]).tolist()

    data = torch_dts.DTSDataset(photos_file, FIXED)
    window: Any = np.int32(1)
    given = {"shuffle": True, "shuffle_window": window, "reader_threads": np.int16(1)}
    assert order(data, seed=seed, **given) == order(data, seed=2**64 - 1, **given)
    ranks = {"num_replicas": np.int64(2), "rank": np.uint8(1)}
    assert order(data, seed=seed, **ranks, **given) == order(data, seed=-1, num_replicas=2, rank=1, **given)
    streams = [torch_dts.DTSIterableDataset(photos_file, FIXED, seed=each) for each in (seed, 2**64 - 1)]
    assert order(streams[0]) == order(streams[1])


def test_a_folder_by_its_path(photos: pathlib.Path) -> None:
    expected = list(TORCH(ImageFolder(photos, FIXED), batch_size=4))
    assert same(list(DataLoader(photos, batch_size=4, transform=FIXED, num_workers=1)), expected)
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        DataLoader(photos / sorted(path.name for path in photos.iterdir())[0], transform=FIXED)


class Raising(torch.utils.data.Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(self.num_good)
        raise KeyError("mine")

    def __init__(self, num_good: int) -> None:
        self.num_good = num_good


def test_errors_keep_no_threads(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for name in ("0.jpg", "1.jpg", "2.jpg", "3.jpg"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_bytes(b"<html>")
    bad = ImageFolder(tmp_path, FIXED)
    (tmp_path / "a" / "2.jpg").unlink()
    (tmp_path / "a" / "3.jpg").unlink()  # never asked for: the batch before it is the last
    loaders = [
        DataLoader(bad, 3, num_workers=1),
        DataLoader(ImageFolder(photos, FIXED), 1, sampler=Raising(1), num_workers=1),
        DataLoader(ConcatDataset([bad, ImageFolder(photos, FIXED)]), 1, sampler=Raising(3), num_workers=1),
    ]
    gc.collect()
    gc.disable()
    try:
        counts = []
        for _ in range(4):
            for loader in loaders:
                with contextlib.suppress(Exception):
                    list(loader)
            counts.append(len(_native_threads()))
        assert counts[1:] == counts[:1] * 3
    finally:
        gc.enable()


def _native_threads() -> list[str]:
    tasks = pathlib.Path("/proc/self/task")
    if not tasks.exists():
        return [thread.name for thread in threading.enumerate()]
    return [name for task in tasks.iterdir() if (name := (task / "comm").read_text()).startswith("dts-")]
