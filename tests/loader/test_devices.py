# SPDX-License-Identifier: Apache-2.0
"""Several devices in one process: each gets what a rank of its own would get."""

from __future__ import annotations

import collections
import pathlib
import re
import threading
import warnings
from typing import Any

import pytest
import torch
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, RANDOM, hashes
from torch.utils.data import DistributedSampler
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._devices import DevicesIterator, check_devices, split_workers, to_device
from torch_dts.loader._resume import Delivered

Pair = collections.namedtuple("Pair", "images labels")


def per_device(steps: Any) -> list[list[str]]:
    """The hashes of each device's batches."""
    return [hashes(batches) for batches in zip(*steps, strict=True)]


def loader_of(path: pathlib.Path, transform: Any = RANDOM, **kwargs: Any) -> DataLoader:
    return DataLoader(torch_dts.DTSDataset(path, transform), **{"batch_size": 3, "num_workers": 1, **kwargs})


@pytest.mark.parametrize("num_workers", [0, 1, 3, 8])
@pytest.mark.parametrize(
    "arguments",
    [
        {"shuffle": True},
        {"shuffle": True, "drop_last": True},
        {"uneven": "exact"},
        {"shuffle": True, "last_batch": "fill", "return_mask": True, "num_replicas": 3, "rank": 1},
    ],
)
def test_each_device_is_a_rank(
    arguments: dict[str, Any], num_workers: int, blocks_file: pathlib.Path
) -> None:
    common: dict[str, Any] = {"seed": 3, "shuffle_window": 2, "return_index": True, **arguments}
    loader = loader_of(blocks_file, devices=["cpu", "cpu"], num_workers=num_workers, **common)
    found = [per_device(loader) for _ in range(2)]
    num_replicas, rank = arguments.get("num_replicas", 1), arguments.get("rank", 0)
    for device in range(2):
        ranks = {"num_replicas": num_replicas * 2, "rank": rank * 2 + device}
        single = loader_of(blocks_file, **{**common, **ranks})
        assert [found[epoch][device] for epoch in range(2)] == [hashes(single), hashes(single)]
        assert len(loader) == len(single) == len(found[0][device])
    stats = loader.stats()
    assert stats.num_batches == 4 * len(loader)
    assert stats.num_images >= NUM_BLOCKS_SAMPLES // num_replicas
    loader.close()


def test_iterable_datasets_and_torchs_distributed_sampler(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSIterableDataset(blocks_file, FIXED, seed=1, uneven="exact")
    steps = list(DataLoader(dataset, 3, num_workers=2, devices=["cpu"] * 3))
    labels = [label for step in steps for batch in step for label in batch[1][batch[2]].tolist()]
    assert sorted(labels) == list(range(NUM_BLOCKS_SAMPLES))
    own: Any = torch_dts.DTSDataset(blocks_file, FIXED)
    sampler: Any = DistributedSampler(own, 2, 1, seed=5)
    found = per_device(DataLoader(own, 3, sampler=sampler, num_workers=1, devices=["cpu", "cpu"]))
    for device in range(2):
        fourth: Any = DistributedSampler(own, 4, 2 + device, seed=5)
        assert found[device] == hashes(DataLoader(own, 3, sampler=fourth, num_workers=1))


def test_batches_go_to_their_devices(blocks_file: pathlib.Path) -> None:
    loader = loader_of(blocks_file, FIXED, devices=["cpu", torch.device("meta")], return_index=True)
    steps = list(loader)
    assert len(steps) == len(loader) == len(iter(loader)) == 4
    for first, second in steps:
        assert {part.device.type for part in first} == {"cpu"}
        assert {part.device.type for part in second} == {"meta"}
        assert [part.shape for part in first] == [part.shape for part in second]


@pytest.mark.parametrize("order", ["shuffled", "elastic"])
def test_an_epoch_goes_on_where_it_was(order: Any, blocks_file: pathlib.Path) -> None:
    common: dict[str, Any] = {"shuffle": True, "seed": 6, "order": order, "batch_size": 2}
    expected = per_device(loader_of(blocks_file, devices=["cpu", "cpu"], **common))
    first = loader_of(blocks_file, devices=["cpu", "cpu"], **common)
    steps = iter(first)
    for _ in range(2):
        next(steps)
    state = first.state_dict()
    assert state["parts"] == [[2, 4]]
    again = loader_of(blocks_file, devices=["cpu", "cpu"], num_workers=3, **common)
    again.load_state_dict(state)
    assert per_device(again) == [device[2:] for device in expected]
    assert again.state_dict() == {**state, "epoch": 1, "parts": [[2, 0]]}
    rank = loader_of(blocks_file, num_replicas=2, rank=1, **common)  # a process for each of them
    rank.load_state_dict(state)
    assert hashes(rank) == expected[1][2:]


def test_one_device_is_a_list_of_one(blocks_file: pathlib.Path) -> None:
    found = per_device(loader_of(blocks_file, devices=["cpu"], shuffle=True, seed=2))
    assert found == [hashes(loader_of(blocks_file, shuffle=True, seed=2))]


def count_threads() -> int:
    return len(list(pathlib.Path("/proc/self/task").iterdir()))


@pytest.mark.skipif(
    not pathlib.Path("/proc/self/task").is_dir(), reason="this system lists no threads in /proc"
)
def test_workers_are_split_kept_and_ended(blocks_file: pathlib.Path) -> None:
    def settled(expected: int) -> int:  # threads leave /proc late
        for _ in range(500):
            if count_threads() <= expected:
                break
            threading.Event().wait(0.01)
        return count_threads()

    before = count_threads()
    loader = loader_of(blocks_file, devices=["cpu"] * 3, num_workers=5, mode="partial")
    for _ in range(3):  # left early, ended, ended
        for _ in loader:
            assert count_threads() == before + 5 + 3  # a reader for each device
            break
        list(loader)
    engines = [engine.options.num_workers for engine in loader._run._engines._idle]
    assert sorted(engines) == [1, 2, 2]
    loader.close()
    assert settled(before) == before
    batches = iter(loader)
    next(batches)
    loader.close()
    with pytest.raises(RuntimeError, match="the loader was closed while it was iterated"):
        next(batches)
    assert next(batches, None) is None
    assert len(list(loader)) == len(loader)
    del batches, loader
    assert settled(before) == before


def test_an_error_of_a_sample_loses_its_step_only(photos: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = ImageFolder(photos, FIXED)
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8 no picture")
    number = 14  # of the second device, which has 11 to 22
    folder.samples[number] = folder.imgs[number] = (str(broken), 0)
    loader = DataLoader(folder, 3, num_workers=2, devices=["cpu", "cpu"], return_index=True)
    batches = iter(loader)
    found: list[Any] = []
    errors: list[str] = []
    while True:
        try:
            step = next(batches, None)
        except Exception as error:
            errors.append(str(error))
            continue
        if step is None:
            break
        found.append([batch[2].tolist() for batch in step])
    assert len(errors) == 1
    assert "broken.jpg" in errors[0]
    assert [first for first, _ in found] == [[0, 1, 2], [6, 7, 8], [9, 10, 0]]
    assert [second for _, second in found] == [[11, 12, 13], [17, 18, 19], [20, 21, 22]]


def test_pytorch_like_refusals(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    with pytest.raises(ValueError, match="but a sampler or the data set says which samples come"):
        DataLoader(dataset, sampler=[1, 2], devices=["cpu"])
    with pytest.raises(ValueError, match="batch_sampler option is mutually exclusive with devices"):
        DataLoader(dataset, batch_sampler=[[1]], devices=["cpu"])
    needs = "devices= needs a data set and a transform that native code reads: "
    own: Any = torch_dts.DTSDataset(blocks_file, lambda image: 1)
    for arguments in ({"dataset": own}, {"dataset": dataset, "transform": own.transform}):
        with pytest.raises(ValueError, match=needs + ".*lambda"):
            DataLoader(**arguments, devices=["cpu"])
    with pytest.raises(ValueError, match=needs + "list is none of DTSDataset"):
        DataLoader([1, 2, 3], devices=["cpu"])
    with pytest.raises(ValueError, match=needs + "without a transform"):
        DataLoader(torch_dts.DTSIterableDataset(blocks_file), devices=["cpu"])
    late = DataLoader(dataset, devices=["cpu"])
    late.set_transform(lambda image: 1)
    with pytest.raises(ValueError, match=needs):
        iter(late)


@pytest.mark.parametrize(
    ("devices", "error", "message"),
    [
        ("cpu", TypeError, "devices is 'cpu', expected a list of devices or None"),
        ([], ValueError, "devices is empty, expected at least one device"),
        ([1.5], TypeError, "devices holds 1.5, expected a torch.device, its name or its number"),
        ([True], TypeError, "devices holds True, expected a torch.device"),
        (["cpu", "gpu7"], ValueError, "devices holds 'gpu7', which torch does not know: "),
        (["cpu:x"], ValueError, "devices holds 'cpu:x', which torch does not know: "),
        (["cuda:300"], ValueError, "devices holds 'cuda:300', expected a device number below 128"),
        ([128], ValueError, "devices holds 128, expected a device number below 128"),
        ([-5], ValueError, "devices holds -5, which torch does not know: "),
    ],
)
def test_wrong_devices(devices: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        check_devices(devices)


def test_devices_are_kept_as_given() -> None:
    assert check_devices(None) is None
    assert check_devices(("cpu", torch.device("meta"))) == ["cpu", torch.device("meta")]


@pytest.mark.parametrize("num_workers", range(9))
@pytest.mark.parametrize("num_devices", [1, 2, 3, 8])
def test_engines_differ_by_one_worker_at_most(num_workers: int, num_devices: int) -> None:
    split = split_workers(num_workers, num_devices)
    assert split == [sum(w % num_devices == d for w in range(num_workers)) for d in range(num_devices)]
    assert max(split) - min(split) <= 1


def test_whatever_a_collate_fn_makes_is_moved() -> None:
    images = torch.zeros(2)
    given: Any = {"a": [images, 3], "b": (images, "text"), "c": Pair(images, None)}
    assert to_device(given, torch.device("cpu")) is given
    moved = to_device(given, torch.device("meta"))
    assert type(moved["c"]) is Pair
    assert [moved["a"][0].device.type, moved["b"][0].device.type, moved["c"].images.device.type] == [
        "meta"
    ] * 3
    assert (moved["a"][1], moved["b"][1], moved["c"].labels) == (3, "text", None)
    counted = to_device(collections.OrderedDict(a=images), torch.device("meta"))
    assert type(counted) is collections.OrderedDict
    assert counted["a"].device.type == "meta"


class FakeIterator:
    """Batches of one device: numbers, or errors that take their place."""

    repeat = 1

    def __init__(self, *batches: Any) -> None:
        self.batches = list(batches)
        self.num_delivered = 0
        self.is_open = True

    def __next__(self) -> Any:
        if not self.batches:
            self.is_open = False
            raise StopIteration
        batch = self.batches.pop(0)
        if isinstance(batch, OSError):
            self.is_open = False
            raise batch
        if isinstance(batch, TimeoutError | RuntimeError):
            raise batch
        self.num_delivered += 1
        if isinstance(batch, Exception):
            raise batch
        return batch

    def feed(self) -> None:
        assert self.is_open or not self.batches

    def skip(self) -> None:
        before = self.num_delivered
        try:
            next(self)
        except Exception:
            if self.num_delivered == before:
                raise

    def close(self) -> None:
        self.is_open = False


def devices_of(*iterators: FakeIterator) -> Any:
    return DevicesIterator(iterators, ["cpu"] * len(iterators), Delivered(), None)  # type: ignore[arg-type]


def test_a_timeout_keeps_what_was_there() -> None:
    batches = devices_of(FakeIterator(1, 2), FakeIterator(RuntimeError("late"), 3, 4))
    with pytest.raises(RuntimeError, match="late"):
        next(batches)
    assert list(batches) == [[1, 3], [2, 4]]


def test_a_bad_sample_takes_the_step_from_all_devices() -> None:
    batches = devices_of(
        FakeIterator(1, ValueError("bad"), 2, 3, 4),
        FakeIterator(5, ValueError("bad too"), ValueError("worse"), 6, 7),
    )
    assert next(batches) == [1, 5]
    with pytest.raises(ValueError, match=r"^bad$"):
        next(batches)
    with pytest.raises(ValueError, match="worse"):
        next(batches)
    assert list(batches) == [[3, 6], [4, 7]]


def test_what_ends_one_device_ends_all() -> None:
    first, second = FakeIterator(1, 2, 3), FakeIterator(4, OSError("the disk is gone"))
    batches = devices_of(first, second)
    assert next(batches) == [1, 4]
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)
    assert not first.is_open


def test_without_workers_the_callers_time_is_counted(blocks_file: pathlib.Path) -> None:
    loader = loader_of(blocks_file, FIXED, devices=["cpu", "cpu"], num_workers=0)
    batches = iter(loader)
    next(batches)
    threading.Event().wait(0.05)
    next(batches)
    assert loader.stats().consumer_seconds >= 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches.close()  # type: ignore[attr-defined]
