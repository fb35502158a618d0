# SPDX-License-Identifier: Apache-2.0
"""A DTSIterableDataset that Python reads delivers the native loader's batches, whatever the workers."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import pytest
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, same
from torch.utils.data import get_worker_info

import torch_dts
from torch_dts.loader._batch_plan import BatchRule
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._fallback_stream import BatchedStream, is_stream
from torch_dts.loader._order import Order

LABEL = 1


class Unreadable:
    """The same pixels as `FIXED`, by a transform that only Python can run."""

    def __call__(self, image: Any) -> Any:
        return FIXED(image)


def order_of(dataset: torch_dts.DTSIterableDataset, **kwargs: Any) -> Order:
    return Order(NUM_BLOCKS_SAMPLES, file=dataset.file, shuffle=True, shuffle_window=16, **kwargs)


def test_items_and_their_mask(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(blocks_file, seed=2, num_replicas=3, rank=0)
    order = order_of(dataset, num_replicas=3, rank=0)
    plain = [item[LABEL] for item in dataset]
    dataset.set_epoch(0)
    masked = list(BatchedStream(dataset, order, BatchRule(4, "fill"), True))
    assert [item[LABEL] for item in masked] == plain[:6] + plain[:2]
    assert [item[2] for item in masked] == [True] * 6 + [False] * 2
    dataset.set_epoch(0)
    dropped = list(BatchedStream(dataset, order, BatchRule(4, "drop"), False))
    assert [item[LABEL] for item in dropped] == plain[:4]
    assert len(dropped[0]) == 2


def test_what_counts_as_a_stream(blocks_file: pathlib.Path) -> None:
    class Renamed(torch_dts.DTSIterableDataset):
        pass

    class Own(torch_dts.DTSIterableDataset):
        def __iter__(self) -> Any:
            return iter(())

    assert is_stream(Renamed(blocks_file))
    assert not is_stream(Own(blocks_file))
    assert not is_stream(torch_dts.DTSDataset(blocks_file))


def note_dataset(_: int) -> None:
    info = get_worker_info()
    assert info is not None
    if type(info.dataset) is not torch_dts.DTSIterableDataset:
        raise ValueError(f"a worker sees {type(info.dataset).__name__}")


def test_workers_see_the_users_dataset(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(blocks_file, Unreadable(), shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(dataset, 8, num_workers=1, worker_init_fn=note_dataset)
        assert [batch[1].numel() for batch in loader] == [8, 8, 4]


@pytest.mark.parametrize("num_workers", [0, 3])
@pytest.mark.parametrize(
    "arguments",
    [
        {"last_batch": "fill", "return_mask": True},
        {"uneven": "exact"},
        {"uneven": "exact", "batch_size": None},
        {"drop_last": True},
        {},
    ],
)
def test_python_reads_iterable_datasets_alike(
    arguments: dict[str, Any], num_workers: int, blocks_file: pathlib.Path
) -> None:
    found = []
    for transform, workers in ((FIXED, 1), (Unreadable(), num_workers)):
        dataset = torch_dts.DTSIterableDataset(
            blocks_file, transform, seed=3, shuffle_window=2, num_replicas=7, rank=0
        )
        loader = DataLoader(dataset, **{"batch_size": 2, "num_workers": workers, **arguments})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append([list(loader), list(loader)])
        assert {len(epoch) for epoch in found[-1]} == {len(loader)}
    for native, python in zip(*found, strict=True):
        assert all(map(same, python, native))
