# SPDX-License-Identifier: Apache-2.0
"""The elastic order: against its vectors and a reference in plain Python, and through loaders."""

from __future__ import annotations

import itertools
import json
import pathlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from loader_sets import NUM_PHOTOS, RANDOM
from torch.utils.data import DistributedSampler, Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.datasets._shares import Part
from torch_dts.loader._batch_plan import BatchRule, plan_share
from torch_dts.loader._data_loader import DataLoader
from torch_dts.loader._elastic import Steps, check_order
from torch_dts.loader._order import Order

VECTORS: Any = json.loads(pathlib.Path(__file__).parent.parent.joinpath("vectors/elastic.json").read_text())
_LOW = 0xFFFFFFFF


def philox(seed: int, counter: list[int]) -> list[int]:
    key = [seed & _LOW, seed >> 32 & _LOW]
    for _ in range(10):
        low, high = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [high >> 32 ^ counter[1] ^ key[0], high & _LOW, low >> 32 ^ counter[3] ^ key[1], low & _LOW]
        key = [key[0] + 0x9E3779B9 & _LOW, key[1] + 0xBB67AE85 & _LOW]
    return counter


def shuffled(items: list[int], seed: int, x: int = 0, uniform: bool = False) -> list[int]:
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        if uniform:
            r = philox(seed, [i & _LOW, 0x80000000 | i >> 32, 0, 0])
            j = (r[0] | r[1] << 32) % (i + 1)
        else:
            j = philox(seed, [i & _LOW, i >> 32, x, 0])[0] % (i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def one_ranks_epoch(sizes: list[int], seed: int, epoch: int, window: int) -> list[int]:
    seed ^= epoch << 32
    if window == 0:
        return shuffled(list(range(sum(sizes))), seed, uniform=True)
    starts = [0, *itertools.accumulate(sizes)]
    blocks = shuffled(list(range(len(sizes))), seed)
    stream = []
    for place in range(0, len(blocks), window):
        group = [
            i for block in blocks[place : place + window] for i in range(starts[block], starts[block + 1])
        ]
        stream += shuffled(group, seed ^ (place & 0xFFFF) << 16, place >> 16)
    return stream


def reference(case: dict[str, Any]) -> list[list[list[list[int]]]]:
    """``[rank][batch]`` of ``[stored index, occurrence]``."""
    stream = one_ranks_epoch(case["block_sizes"], case["seed"], case["epoch"], case["shuffle_window"])
    stream = stream[case["first"] :]
    ranks, size = case["num_replicas"], case["batch_size"]
    batches: list[list[list[list[int]]]] = [[] for _ in range(ranks)]
    while len(stream) >= size * ranks:
        for rank in range(ranks):
            batches[rank].append([[i, 0] for i in stream[rank * size : (rank + 1) * size]])
        stream = stream[size * ranks :]
    for rank in range(ranks if stream else 0):
        own = stream[len(stream) * rank // ranks : len(stream) * (rank + 1) // ranks]
        batch = [[i, 0] for i in own]
        if len(own) < -(-len(stream) // ranks):
            batch.append([own[0] if own else stream[len(stream) * rank // ranks], 1])
        batches[rank].append(batch)
    return batches


def order_of(case: dict[str, Any], rank: int) -> Order:
    file: Any = SimpleNamespace(block_table=SimpleNamespace(num_samples=torch.tensor(case["block_sizes"])))
    return Order(
        sum(case["block_sizes"]),
        file,
        shuffle=True,
        shuffle_window=case["shuffle_window"],
        num_replicas=case["num_replicas"],
        rank=rank,
        before=(Part(1, case["first"]),),
        elastic_batch=case["batch_size"],
    )


@pytest.mark.parametrize("case", VECTORS["elastic_order"])
def test_vectors(case: dict[str, Any]) -> None:
    expected = case["batches"]
    assert reference(case) == expected
    for rank in range(case["num_replicas"]):
        order = order_of(case, rank)
        share = plan_share(order, BatchRule(case["batch_size"]))
        stream = order.stream(case["seed"], case["epoch"], share)
        found = [[i, 0] for i in stream.ids.tolist()]
        found += [
            list(pair)
            for pair in zip(stream.fillers.tolist(), stream.filler_occurrences.tolist(), strict=True)
        ]
        assert found == [pair for batch in expected[rank] for pair in batch]
        assert len(order) == len(found) == order.longest
        assert stream.groups is None


def test_steps() -> None:
    steps = Steps(3, 20, 2, 4)  # 16 in two whole steps, 4 behind them
    assert (steps.num_whole, steps.num_tail) == (4, 4)
    assert steps.places(1).tolist() == [5, 6, 13, 14, 20]
    assert Steps(0, 3, 2, 4).share(0, False, "fill") == (0, 1)
    assert Steps(0, 3, 2, 4).share(3, False, "exact") == (1, 0)
    assert Steps(0, 3, 2, 4).share(3, True, "fill") == (0, 0)
    with pytest.raises(ValueError, match="order is 'elastc', expected 'shuffled' or 'elastic'"):
        check_order("elastc")


def loader(dataset: Any, num_replicas: int, rank: int, **kwargs: Any) -> DataLoader:
    arguments: dict[str, Any] = {
        "batch_size": 12 // num_replicas,
        "shuffle": True,
        "order": "elastic",
        "num_workers": 0,
        "seed": 3,
        "mode": "fully",
        "shuffle_window": 2,
        "return_index": True,
        "num_replicas": num_replicas,
        "rank": rank,
    }
    return DataLoader(dataset, **{**arguments, **kwargs})


def in_python(image: Any) -> Any:
    return RANDOM(image)  # can't be read


def steps_of(loaders: list[DataLoader]) -> list[dict[Any, bytes]]:
    """The images of each step of all ranks by (index, whether it came before in the step)."""
    found = []
    for batches in zip(*loaders, strict=True):
        step: dict[Any, bytes] = {}
        for images, _, indices in batches:
            for image, index in zip(images, indices.tolist(), strict=True):
                step.setdefault((index, index in {key[0] for key in step}), image.numpy().tobytes())
        found.append(step)
    return found


@pytest.mark.parametrize("kind", ["file", "folder", "plain", "python", "twice"])
@pytest.mark.filterwarnings("ignore:this DataLoader works as torch's own")
def test_steps_are_the_same_for_any_number_of_ranks(
    kind: str, photos: pathlib.Path, blocks_file: pathlib.Path
) -> None:
    dataset: Any = torch_dts.DTSDataset(blocks_file, in_python if kind == "python" else RANDOM)
    if kind == "folder":
        dataset = ImageFolder(photos, RANDOM)
    elif kind == "twice":
        dataset = Subset(dataset, [*range(17), 3, 3, 9])
    arguments = {"shuffle": kind != "plain"}
    whole = [steps_of([loader(dataset, 1, 0, **arguments)])]
    for num_replicas in (2, 3, 6):
        ranks = [loader(dataset, num_replicas, rank, **arguments) for rank in range(num_replicas)]
        whole.append(steps_of(ranks))
    assert len(whole[0]) == 2
    for other in whole[1:]:
        assert len(other) == 2
        for found, expected in zip(other, whole[0], strict=True):
            assert expected.items() <= found.items()  # fillers are beside them


def test_goes_on_with_other_ranks(photos_file: pathlib.Path) -> None:
    def ranks(number: int, size: int) -> list[DataLoader]:
        data = torch_dts.DTSDataset(photos_file, RANDOM)
        return [loader(data, number, rank, batch_size=size) for rank in range(number)]

    expected = [index for step in steps_of(ranks(1, 6)) for index, _ in step]
    for first, second in [((2, 3), (3, 2)), ((3, 2), (2, 3)), ((2, 3), (1, 6)), ((1, 6), (6, 2))]:
        before = ranks(*first)
        states, seen = [], []
        for one in before:
            taken = iter(one)
            for step in range(2):
                seen.append((step, next(taken)[2].tolist()))
            states.append(one.state_dict())
        assert states == states[:1] * len(states)
        indices = [index for _, batch in sorted(seen, key=lambda pair: pair[0]) for index in batch]
        after = ranks(*second)
        for one in after:
            one.load_state_dict(states[0])
        for step in steps_of(after):
            indices += [index for index, is_again in step if not is_again]
        assert sorted(indices) == sorted(expected) == list(range(NUM_PHOTOS))
        whole = second[0] * second[1]
        assert indices[: 12 + 11 // whole * whole] == expected[: 12 + 11 // whole * whole]


def test_options(photos_file: pathlib.Path) -> None:
    data = torch_dts.DTSDataset(photos_file, RANDOM)
    for num_replicas in (1, 2, 3):
        for options, number in (
            ({"drop_last": True}, NUM_PHOTOS // 12 * 12),
            ({"uneven": "exact"}, NUM_PHOTOS),
            ({"last_batch": "fill", "return_mask": True}, NUM_PHOTOS),
        ):
            ranks = [loader(data, num_replicas, rank, **options) for rank in range(num_replicas)]
            batches = [list(rank) for rank in ranks]
            assert [len(rank) for rank in batches] == [len(ranks[0])] * num_replicas
            seen = [
                index
                for rank in batches
                for batch in rank
                for index, counts in zip(
                    batch[2].tolist(), (batch[3].tolist() if len(batch) > 3 else [True] * 12), strict=False
                )
                if counts
            ]
            assert len(set(seen)) == number


def test_needs_an_order_of_the_loaders_own(photos_file: pathlib.Path) -> None:
    data: Any = torch_dts.DTSDataset(photos_file, RANDOM)
    with pytest.raises(ValueError, match="order='elastic' is an order of the loader's own"):
        DataLoader(data, sampler=[1, 2], order="elastic")
    with pytest.raises(ValueError, match="order='elastic' reads samples singly"):
        DataLoader(torch_dts.DTSIterableDataset(photos_file), order="elastic")
    sampler: Any = DistributedSampler(data, 2, 1, seed=3)
    given = DataLoader(
        data, 6, sampler=sampler, order="elastic", num_workers=0, return_index=True, shuffle_window=2
    )
    own = loader(data, 2, 1)
    assert [batch[2].tolist() for batch in given] == [batch[2].tolist() for batch in own]
    assert len(given) == len(own) == 2
    with pytest.warns(UserWarning, match='order="elastic" without keeping the data in memory'):
        iter(loader(data, 2, 1, mode="partial"))
