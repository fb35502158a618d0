# SPDX-License-Identifier: Apache-2.0
"""DTSIterableDataset in one process: order, ranks, arguments, life of its iterators."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torchvision.transforms import PILToTensor

import torch_dts
from torch_dts import DTSIterableDataset, _native

Numbers = Callable[..., list[int]]


def native_order(
    path: pathlib.Path, seed: int, epoch: int, window: int, num_replicas: int = 1, rank: int = 0
) -> list[int]:
    with torch_dts.open(path) as file:
        sizes = file.block_table.num_samples
        stored = _native.sample_order(sizes, seed, epoch, window, num_replicas, rank)
        return file.source_index[stored].tolist()


@pytest.mark.parametrize("window", [1, 3, 16, "all"])
def test_order_is_the_formats(many_blocks: pathlib.Path, numbers: Numbers, window: Any) -> None:
    dataset = DTSIterableDataset(many_blocks, seed=11, shuffle_window=window)
    for epoch in range(2):
        expected = native_order(many_blocks, 11, epoch, 0 if window == "all" else window)
        assert numbers(dataset) == expected
        assert sorted(expected) == list(range(23))


def test_items_are_those_of_the_map_style_dataset(many_blocks: pathlib.Path) -> None:
    mapped = torch_dts.DTSDataset(many_blocks, PILToTensor(), lambda label: label + 50)
    order = native_order(many_blocks, 0, 0, 16)
    dataset = DTSIterableDataset(many_blocks, PILToTensor(), lambda label: label + 50, seed=0)
    for (image, label), index in zip(dataset, order, strict=True):
        assert torch.equal(image, mapped[index][0])
        assert label == mapped[index][1] == 50 + index % 5
    assert dataset.classes == mapped.classes
    assert dataset.class_to_idx == mapped.class_to_idx


def test_without_shuffling_the_order_is_the_stored_one(many_blocks: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(many_blocks, shuffle=False)
    with torch_dts.open(many_blocks) as file:
        stored = file.source_index.tolist()
    assert numbers(dataset) == numbers(dataset) == stored
    parts = [
        numbers(DTSIterableDataset(many_blocks, shuffle=False, num_replicas=3, rank=rank, uneven="exact"))
        for rank in range(3)
    ]
    assert [len(part) for part in parts] == [7, 8, 8]
    assert [number for part in parts for number in part] == stored


@pytest.mark.parametrize("num_replicas", [1, 2, 5, 30])
@pytest.mark.parametrize("window", [2, "all"])
def test_ranks_partition_an_epoch(
    many_blocks: pathlib.Path, numbers: Numbers, num_replicas: int, window: Any
) -> None:
    found = []
    for rank in range(num_replicas):
        dataset = DTSIterableDataset(
            many_blocks,
            seed=2,
            shuffle_window=window,
            num_replicas=num_replicas,
            rank=rank,
            uneven="exact",
        )
        mine = numbers(dataset)
        assert len(mine) == len(dataset)
        assert mine == native_order(many_blocks, 2, 0, 0 if window == "all" else window, num_replicas, rank)
        found += mine
    assert sorted(found) == list(range(23))


def test_epochs_differ_and_set_epoch_reproduces(one_block: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(one_block, seed=4)
    epochs = [numbers(dataset) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    dataset.set_epoch(1)
    assert [numbers(dataset), numbers(dataset)] == epochs[1:]
    assert numbers(DTSIterableDataset(one_block, seed=4)) == epochs[0]
    assert numbers(DTSIterableDataset(one_block, seed=5)) != epochs[0]
    assert numbers(DTSIterableDataset(one_block, seed=4 + 2**64)) == epochs[0]


def test_the_epoch_is_claimed_when_iter_is_called(one_block: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(one_block, seed=4)
    first = iter(dataset)
    dataset.set_epoch(7)
    second = iter(dataset)
    assert numbers(second) == native_order(one_block, 4, 7, 16)
    assert numbers(first) == native_order(one_block, 4, 0, 16)


def test_without_a_seed_torchs_decides(one_block: pathlib.Path, numbers: Numbers) -> None:
    torch.manual_seed(1)
    dataset = DTSIterableDataset(one_block)
    epochs = [numbers(dataset), numbers(dataset)]
    torch.manual_seed(1)
    again = DTSIterableDataset(one_block)
    assert [numbers(again), numbers(again)] == epochs
    assert epochs[0] != epochs[1]
    torch.manual_seed(2)
    assert numbers(DTSIterableDataset(one_block)) != epochs[0]


def test_ranks_without_a_seed_have_seed_zero(one_block: pathlib.Path, numbers: Numbers) -> None:
    before = torch.get_rng_state()
    parts = [numbers(DTSIterableDataset(one_block, num_replicas=2, rank=rank)) for rank in range(2)]
    assert parts == [native_order(one_block, 0, 0, 16, 2, rank) for rank in range(2)]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"shuffle_window": 0}, ValueError, "shuffle_window is 0, expected at least 1"),
        ({"shuffle_window": "none"}, TypeError, "shuffle_window is 'none', expected a number of blocks"),
        ({"batch_size": 0}, ValueError, "batch_size is 0, expected at least 1, or None"),
        ({"batch_size": 1.5}, TypeError, "batch_size is 1.5, expected an int or None"),
        ({"seed": "x"}, TypeError, "seed is 'x', expected an int or None"),
        ({"num_replicas": 2}, ValueError, "give both, or neither"),
        (
            {"num_replicas": 2, "rank": 2},
            ValueError,
            r"Invalid rank 2, rank should be in the interval \[0, 1\]",
        ),
        ({"verify": "no"}, ValueError, "verify is 'no', expected"),
        ({"uneven": "even"}, ValueError, "uneven is 'even', expected 'fill' or 'exact'"),
        ({"uneven": "exact", "drop_last": True}, ValueError, "drop_last=True leaves some out"),
        ({"drop_last": 1}, TypeError, "drop_last is 1"),
    ],
)
def test_wrong_arguments(
    one_block: pathlib.Path, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DTSIterableDataset(one_block, **arguments)


def test_repr(one_block: pathlib.Path) -> None:
    dataset = DTSIterableDataset(
        one_block, PILToTensor(), seed=3, shuffle_window="all", batch_size=4, num_replicas=2, rank=1
    )
    assert repr(dataset).splitlines() == [
        "Dataset DTSIterableDataset",
        "    Number of datapoints: 5",
        f"    File: {one_block}",
        "    Order: shuffled, seed 3, window all",
        "    Rank: 1 of 2 (as given)",
        "    Batch size: 4",
        "    Transform: PILToTensor()",
    ]
    for arguments, expected in (
        ({"uneven": "exact"}, "    Rank: 1 of 2 (as given), each sample once"),
        ({"drop_last": True}, "    Rank: 1 of 2 (as given), the rest dropped"),
    ):
        shared: Any = {"num_replicas": 2, "rank": 1, **arguments}
        assert expected in repr(DTSIterableDataset(one_block, **shared)).splitlines()
    assert repr(DTSIterableDataset(one_block, shuffle=False)).splitlines()[2:] == [
        f"    File: {one_block}",
        "    Order: as stored",
    ]


def test_copies_go_on_from_the_same_epoch_alone(one_block: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(one_block, PILToTensor(), seed=3, num_replicas=2, rank=1)
    list(dataset)
    dataset.transform = None
    for other in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert repr(other) == repr(dataset)
        assert numbers(other) == native_order(one_block, 3, 1, 16, 2, 1)
    assert numbers(dataset) == native_order(one_block, 3, 1, 16, 2, 1)


def test_two_live_iterators_do_not_disturb_each_other(many_blocks: pathlib.Path, numbers: Numbers) -> None:
    dataset = DTSIterableDataset(many_blocks, seed=1, shuffle_window=2)
    pairs = list(zip(iter(dataset), iter(dataset), strict=True))
    assert numbers(left for left, _ in pairs) == native_order(many_blocks, 1, 0, 2)
    assert numbers(right for _, right in pairs) == native_order(many_blocks, 1, 1, 2)


def test_iterators_left_early_leave_no_thread(many_blocks: pathlib.Path) -> None:
    before = threading.active_count()
    dataset = DTSIterableDataset(many_blocks, seed=1, shuffle_window=2)
    for num_taken in range(6):
        iterator = iter(dataset)
        for _ in range(num_taken):
            next(iterator)
        del iterator
        assert threading.active_count() == before


def test_the_interpreter_exits_with_live_iterators(many_blocks: pathlib.Path) -> None:
    program = (
        "import sys, torch, torch_dts\n"
        "dataset = torch_dts.DTSIterableDataset(sys.argv[1], seed=1, shuffle_window=2)\n"
        "loader = torch.utils.data.DataLoader(\n"
        "    dataset, batch_size=None, num_workers=1, persistent_workers=True)\n"
        "live = iter(dataset)\n"
        "first = next(live)[1]\n"
        "dataset.set_epoch(0)\n"
        "live_loader = iter(loader)\n"
        "print(first, next(live_loader)[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, many_blocks],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(torch_dts.__file__).parents[1])},
    )
    first = native_order(many_blocks, 1, 0, 2)[0] % 5
    assert done.stdout == f"{first} {first}\n"
    assert done.stderr == ""


def test_verify(many_blocks: pathlib.Path, tmp_path: pathlib.Path, numbers: Numbers) -> None:
    content = bytearray(many_blocks.read_bytes())
    with torch_dts.open(many_blocks) as file:
        content[file.header.header_bytes + 3 * file.block_size - 1] ^= 1
    hurt = tmp_path / "hurt.dts"
    hurt.write_bytes(content)
    with pytest.raises(torch_dts.CorruptFileError, match="block 2"):
        list(DTSIterableDataset(hurt, seed=0))
    with pytest.raises(torch_dts.CorruptFileError, match="block 2"):
        DTSIterableDataset(hurt, verify="file")
    assert len(numbers(DTSIterableDataset(hurt, verify=False))) == 23
