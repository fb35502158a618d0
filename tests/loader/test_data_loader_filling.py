# SPDX-License-Identifier: Apache-2.0
"""``uneven``, ``last_batch``, ``return_mask``: what ranks deliver, natively and in Python."""

from __future__ import annotations

import itertools
import math
import pathlib
import warnings
from typing import Any

import pytest
import torch
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, RANDOM, hashes, same
from torch.utils.data import DistributedSampler, Subset, WeightedRandomSampler
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader

N = NUM_BLOCKS_SAMPLES


class Unreadable:
    """The same pixels as `FIXED`, by a transform that only Python can run."""

    def __call__(self, image: Any) -> Any:
        return FIXED(image)


def batches(path: pathlib.Path, transform: Any = FIXED, **kwargs: Any) -> list[Any]:
    arguments = {"batch_size": 3, "num_workers": 1, "return_index": True, **kwargs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(torch_dts.DTSDataset(path, transform), **arguments)
        found = list(loader)
    assert len(found) == len(loader)
    return found


def rank_batches(path: pathlib.Path, num_replicas: int, ranks: Any = None, **kwargs: Any) -> list[list[Any]]:
    return [
        batches(path, num_replicas=num_replicas, rank=rank, **kwargs)
        for rank in (range(num_replicas) if ranks is None else ranks)
    ]


@pytest.mark.parametrize(("num_replicas", "shuffle"), [(1, False), (3, True), (23, True)])
def test_filled_batches_have_one_shape(num_replicas: int, shuffle: bool, blocks_file: pathlib.Path) -> None:
    arguments: dict[str, Any] = {"shuffle": shuffle, "shuffle_window": 2}
    filled = rank_batches(blocks_file, num_replicas, last_batch="fill", return_mask=True, **arguments)
    plain = rank_batches(blocks_file, num_replicas, **arguments)
    assert {tuple(images.shape) for rank in filled for images, *_ in rank} == {(3, 3, 16, 16)}
    assert len({len(rank) for rank in filled}) == 1
    assert sum(int(mask.sum()) for rank in filled for *_, mask in rank) == N
    for rank, without in zip(filled, plain, strict=True):
        indices = torch.cat([batch[2] for batch in rank])
        own = torch.cat([batch[2] for batch in without])
        assert torch.equal(indices[: own.numel()], own)
        assert all(torch.equal(batch[1], batch[2]) for batch in rank)
        mask = torch.cat([batch[3] for batch in rank])
        num_own = int(mask.sum())
        assert mask.tolist() == [True] * num_own + [False] * (mask.numel() - num_own)
        if num_own:
            places = torch.arange(mask.numel() - num_own) % num_own
            assert torch.equal(indices[num_own:], own[places])


@pytest.mark.parametrize(
    ("num_replicas", "batch_size", "last_batch"),
    [(1, 3, "partial"), (3, 50, "partial"), (7, 2, "partial"), (3, 3, "fill"), (23, 3, "fill")],
)
def test_exact_ranks_deliver_each_sample_once(
    num_replicas: int, batch_size: int, last_batch: str, blocks_file: pathlib.Path
) -> None:
    found = rank_batches(
        blocks_file, num_replicas, uneven="exact", batch_size=batch_size, last_batch=last_batch
    )
    own = [batch[2][batch[3]].tolist() for rank in found for batch in rank]
    assert list(itertools.chain(*own)) == list(range(N))
    assert {len(rank) for rank in found} == {math.ceil(math.ceil(N / num_replicas) / batch_size)}
    assert sum(int(batch[3].sum()) for rank in found for batch in rank) == N
    if last_batch == "fill":
        assert {batch[0].shape[0] for rank in found for batch in rank} == {batch_size}


@pytest.mark.parametrize("num_replicas", [64, 1024])
def test_many_more_ranks_than_samples(num_replicas: int, blocks_file: pathlib.Path) -> None:
    ranks = [0, 1, num_replicas // 2, num_replicas - 1]
    for rank in rank_batches(blocks_file, num_replicas, ranks, uneven="exact", shuffle=True):
        ((images, labels, indices, mask),) = rank
        assert images.shape[0] == indices.numel() == mask.numel() == 1
        assert torch.equal(labels, indices)
    for rank in range(0, num_replicas, num_replicas // 4 + 1):
        (own,) = batches(blocks_file, num_replicas=num_replicas, rank=rank, uneven="exact")
        first, end = rank * N // num_replicas, (rank + 1) * N // num_replicas
        assert own[2][own[3]].tolist() == list(range(first, end))


def test_dropping_by_rank_and_by_batch(blocks_file: pathlib.Path) -> None:
    whole = torch.cat([batch[2] for batch in batches(blocks_file, num_replicas=3, rank=1, shuffle=True)])
    for arguments, length in [
        ({"last_batch": "drop"}, 6),  # of 7
        ({"drop_last": True}, 6),  # of 6
        ({"drop_last": True, "batch_size": 5}, 5),
        ({"last_batch": "drop", "batch_size": 7}, 7),
        ({"drop_last": True, "batch_size": 7}, 0),
        ({"last_batch": "drop", "drop_last": True, "batch_size": 2}, 6),
    ]:
        loader = DataLoader(
            torch_dts.DTSDataset(blocks_file, FIXED),
            shuffle=True,
            num_replicas=3,
            rank=1,
            **{"batch_size": 3, "num_workers": 1, "return_index": True, **arguments},  # type: ignore[arg-type]
        )
        found = [batch[2] for batch in loader]
        assert torch.equal(torch.cat([whole[:0], *found]), whole[:length])
        assert len(loader) == len(found)
        assert len(list(loader.batch_sampler)) == len(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {"last_batch": "fill", "return_mask": True},
        {"last_batch": "fill", "return_mask": True, "num_replicas": 3, "rank": 0, "shuffle": True, "seed": 5},
        {"uneven": "exact", "num_replicas": 7, "rank": 0},
        {"uneven": "exact", "num_replicas": 23, "rank": 0, "last_batch": "fill"},
        {"uneven": "exact", "num_replicas": 7, "rank": 0, "batch_size": None},
        {"last_batch": "drop", "num_replicas": 3, "rank": 2},
        {"sampler": [4, 4, 1, 19], "last_batch": "fill", "return_mask": True},
        {"return_mask": True, "collate_fn": list, "last_batch": "fill"},
    ],
)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_python_delivers_the_same_batches(
    arguments: dict[str, Any], num_workers: int, blocks_file: pathlib.Path
) -> None:
    if num_workers and arguments.get("uneven") != "exact":
        arguments = {**arguments, "return_index": False}
    native = batches(blocks_file, **arguments)
    python = batches(blocks_file, Unreadable(), **{**arguments, "num_workers": num_workers})
    assert len(native) == len(python) > 0
    assert all(map(same, python, native))


def test_a_mask_is_a_bool_for_each_sample_of_a_collate_fn(blocks_file: pathlib.Path) -> None:
    *_, last = batches(blocks_file, last_batch="fill", return_mask=True, collate_fn=list)
    assert [(label, index, counts) for _, label, index, counts in last] == [
        (18, 18, True),
        (19, 19, True),
        (0, 0, False),
    ]
    assert all(type(sample[3]) is bool for sample in last)
    *_, last = batches(blocks_file, batch_size=None, uneven="exact", num_replicas=7, rank=0)
    assert (last[1:], type(last[3])) == ([0, 0, False], bool)


def test_masks_come_only_where_they_are_wanted(blocks_file: pathlib.Path) -> None:
    def width(**kwargs: Any) -> int:
        return len(batches(blocks_file, return_index=False, **kwargs)[0])

    assert width() == width(last_batch="fill") == width(uneven="exact", return_mask=False) == 2
    assert width(uneven="exact") == width(return_mask=True) == 3


def test_fillers_are_augmented_anew(photos: pathlib.Path) -> None:
    folder = Subset(ImageFolder(photos, RANDOM), range(2))
    ((images, _, indices, _),) = DataLoader(
        folder, 6, last_batch="fill", return_mask=True, return_index=True, seed=1
    )
    assert indices.tolist() == [0, 1, 0, 1, 0, 1]
    assert len({image.numpy().tobytes() for image in images}) == 6
    alone = DataLoader(folder, sampler=[0, 1, 0, 1, 0, 1], batch_size=6, seed=1)
    assert hashes([[images]]) == hashes([[next(iter(alone))[0]]])


def test_a_samplers_batches_are_filled(blocks_file: pathlib.Path) -> None:
    weights = WeightedRandomSampler([1.0] * N, 7, generator=torch.Generator().manual_seed(2))
    expected = list(WeightedRandomSampler([1.0] * N, 7, generator=torch.Generator().manual_seed(2)))
    found = batches(blocks_file, sampler=weights, last_batch="fill", return_mask=True)
    assert [batch[2].tolist() for batch in found] == [
        expected[:3],
        expected[3:6],
        [expected[6], *expected[:2]],
    ]
    assert found[2][3].tolist() == [True, False, False]
    plain: Any = DistributedSampler(range(N), 3, 1, shuffle=False)  # type: ignore[arg-type]
    found = batches(blocks_file, sampler=plain, last_batch="fill", batch_size=4)
    own = list(plain)
    assert [batch[2].tolist() for batch in found] == [own[:4], own[4:] + own[:1]]


def test_torchs_distributed_sampler_counts_exactly(blocks_file: pathlib.Path) -> None:
    seen: list[int] = []
    for rank in range(3):
        sampler: Any = DistributedSampler(torch_dts.DTSDataset(blocks_file), 3, rank, seed=4)
        dataset = torch_dts.DTSDataset(blocks_file, FIXED)
        loader = DataLoader(dataset, 3, sampler=sampler, uneven="exact", return_index=True)
        seen += [i for batch in loader for i in batch[2][batch[3]].tolist()]
    assert sorted(seen) == list(range(N))


def test_a_loader_built_again_from_its_attributes_is_equal(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    for arguments in (
        {"uneven": "exact", "last_batch": "fill"},
        {"last_batch": "drop"},
        {"drop_last": True},
        {"last_batch": "fill", "return_mask": True},
    ):
        loader = DataLoader(
            dataset,
            3,
            num_replicas=3,
            rank=1,
            num_workers=1,
            **arguments,  # type: ignore[arg-type]
        )
        names = ("batch_size", "sampler", "drop_last", "num_replicas", "rank", "uneven", "last_batch")
        attributes: dict[str, Any] = {name: getattr(loader, name) for name in (*names, "return_mask")}
        assert attributes | arguments == attributes
        again = DataLoader(loader.dataset, num_workers=1, **attributes)
        assert len(again) == len(loader)
        assert hashes(again) == hashes(loader)


@pytest.mark.parametrize("num_replicas", [1, 7])
def test_iterable_datasets_are_filled_and_counted(num_replicas: int, blocks_file: pathlib.Path) -> None:
    def ranks(of_dataset: dict[str, Any], **of_loader: Any) -> list[list[Any]]:
        found = []
        for rank in range(num_replicas):
            dataset = torch_dts.DTSIterableDataset(
                blocks_file, FIXED, shuffle_window=2, num_replicas=num_replicas, rank=rank, **of_dataset
            )
            loader = DataLoader(dataset, 3, num_workers=1, **of_loader)
            found.append(list(loader))
            assert len(found[-1]) == len(loader)
        return found

    for arguments in (({"uneven": "exact"}, {}), ({}, {"uneven": "exact"})):
        found = ranks(arguments[0], **arguments[1])
        own = [label for rank in found for batch in rank for label in batch[1][batch[2]].tolist()]
        assert sorted(own) == list(range(N))
        assert len({len(rank) for rank in found}) == 1
    filled = ranks({}, last_batch="fill", return_mask=True)
    assert {batch[0].shape[0] for rank in filled for batch in rank} == {3}
    assert sum(int(batch[2].sum()) for rank in filled for batch in rank) == N
    for dropped in (ranks({"drop_last": True}), ranks({}, drop_last=True)):
        assert len({sum(batch[1].numel() for batch in rank) for rank in dropped}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"uneven": "even"}, "uneven is 'even', expected 'fill' or 'exact'"),
        ({"last_batch": "keep"}, "last_batch is 'keep', expected 'partial', 'drop' or 'fill'"),
        ({"uneven": "exact", "drop_last": True}, "drop_last=True leaves some out"),
        ({"uneven": "exact", "last_batch": "drop"}, "last_batch='drop' leaves some out"),
        ({"last_batch": "fill", "drop_last": True}, "exclude each other"),
        (
            {"batch_sampler": [[1]], "batch_size": 1, "last_batch": "fill"},
            "mutually exclusive with uneven and",
        ),
        (
            {"batch_sampler": [[1]], "batch_size": 1, "uneven": "exact"},
            "mutually exclusive with uneven and last",
        ),
        ({"batch_size": None, "last_batch": "fill"}, "batch_size=None option disables auto-batching"),
    ],
)
def test_arguments_that_contradict_each_other(
    arguments: Any, message: str, blocks_file: pathlib.Path
) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(torch_dts.DTSDataset(blocks_file, FIXED), **arguments)


def test_samplers_and_datasets_that_contradict_exactness(blocks_file: pathlib.Path) -> None:
    dataset: Any = torch_dts.DTSDataset(blocks_file, FIXED)
    with pytest.raises(ValueError, match="can't tell which samples a DistributedSampler repeats"):
        DataLoader(dataset, sampler=DistributedSampler(dataset, 3, 0, shuffle=False), uneven="exact")
    with pytest.raises(ValueError, match="the DistributedSampler's drop_last=True leaves some out"):
        DataLoader(dataset, sampler=DistributedSampler(dataset, 3, 0, drop_last=True), uneven="exact")
    stream = torch_dts.DTSIterableDataset(blocks_file, FIXED, uneven="exact")
    with pytest.raises(ValueError, match="drop_last=True leaves some out"):
        DataLoader(stream, 3, drop_last=True)
    with pytest.raises(TypeError, match="return_mask is 1"):
        DataLoader(dataset, return_mask=1)  # type: ignore[arg-type]


def test_streams_of_the_users_own_are_not_filled() -> None:
    class Mine(torch.utils.data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(5))

        def __len__(self) -> int:
            return 5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = DataLoader(Mine(), 2, last_batch="drop")
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
        assert len(loader) == 2
        refused: list[dict[str, Any]] = [{"last_batch": "fill"}, {"uneven": "exact"}, {"return_mask": True}]
        for arguments in refused:
            with pytest.raises(ValueError, match="can't be had of a Mine that is read in Python"):
                iter(DataLoader(Mine(), 2, **arguments))
