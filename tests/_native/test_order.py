# SPDX-License-Identifier: Apache-2.0
"""Order ops against the known answers and against a reference in plain Python."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from torch_dts import _native

Vectors = Callable[[str], dict[str, Any]]


def philox(seed: int, counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Philox4x32-10, written from the paper, independent of the C++."""
    mask = 0xFFFFFFFF
    key = [seed & mask, seed >> 32 & mask]
    c = list(counter)
    for _ in range(10):
        product0, product1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [
            product1 >> 32 & mask ^ c[1] ^ key[0],
            product1 & mask,
            product0 >> 32 & mask ^ c[3] ^ key[1],
            product0 & mask,
        ]
        key = [key[0] + 0x9E3779B9 & mask, key[1] + 0xBB67AE85 & mask]
    return c[0], c[1], c[2], c[3]


def fisher_yates(items: list[int], seed: int, x: int = 0) -> list[int]:
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = philox(seed, (i & 0xFFFFFFFF, i >> 32, x, 0))[0] % (i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def reference_order(
    sizes: list[int], seed: int, epoch: int, window: int, replicas: int, rank: int
) -> list[int]:
    mixed = (seed ^ epoch << 32) % 2**64
    firsts = [sum(sizes[:b]) for b in range(len(sizes))]
    stream = [
        (place, firsts[b] + i)
        for place, b in enumerate(fisher_yates(list(range(len(sizes))), mixed))
        for i in range(sizes[b])
    ]
    mine = stream[rank * len(stream) // replicas : (rank + 1) * len(stream) // replicas]
    order: list[int] = []
    while mine:
        first = mine[0][0]
        group = [s for place, s in mine if place < first + window]
        mine = mine[len(group) :]
        order += fisher_yates(group, mixed ^ (first & 0xFFFF) << 16, first >> 16)
    return order


def test_block_order(vectors: Vectors) -> None:
    for case in vectors("order")["block_order"]:
        order = _native.block_order(case["num_blocks"], case["seed"], case["epoch"])
        assert order.tolist() == case["order"]


def test_uniform_order(vectors: Vectors) -> None:
    for case in vectors("order")["uniform_order"]:
        sizes = torch.tensor([case["num_samples"]])
        assert _native.sample_order(sizes, case["seed"], case["epoch"], 0).tolist() == case["order"]


def test_rank_order(vectors: Vectors) -> None:
    for case in vectors("order")["rank_order"]:
        sizes = torch.tensor(case["block_sizes"])
        window = 0 if case["shuffle_window"] == "all" else case["shuffle_window"]
        for rank, expected in enumerate(case["ranks"]):
            order = _native.sample_order(
                sizes, case["seed"], case["epoch"], window, case["num_replicas"], rank
            )
            assert order.tolist() == expected


def test_fisher_yates_vectors(vectors: Vectors) -> None:
    """The block order of epoch 0 is the plain permutation of the seed."""
    for case in vectors("philox")["fisher_yates"]:
        assert _native.block_order(case["n"], case["seed"], 0).tolist() == case["perm"]
        assert fisher_yates(list(range(case["n"])), case["seed"]) == case["perm"]


@pytest.mark.parametrize("window", [1, 2, 5, 100])
@pytest.mark.parametrize("replicas", [1, 3, 7])
def test_against_reference(window: int, replicas: int) -> None:
    sizes = [4, 1, 7, 3, 9, 2, 5, 6, 8, 1, 3]
    for seed in (0, 2**64 - 1, -1, 2**63):
        for rank in range(replicas):
            order = _native.sample_order(torch.tensor(sizes), seed, 6, window, replicas, rank)
            assert order.tolist() == reference_order(sizes, seed, 6, window, replicas, rank)


def test_seeds_are_taken_modulo_2_64() -> None:
    sizes = torch.tensor([50])
    assert (
        _native.sample_order(sizes, -1, 0, 1).tolist()
        == _native.sample_order(sizes, 2**64 - 1, 0, 1).tolist()
    )
    assert (
        _native.sample_order(sizes, 2**64 + 5, 0, 1).tolist() == _native.sample_order(sizes, 5, 0, 1).tolist()
    )


def test_rank_runs_cover_each_sample_once() -> None:
    sizes = torch.tensor([4, 1, 7, 3, 9])
    seen: list[int] = []
    for rank in range(7):
        for block, first, count, _ in _native.rank_runs(sizes, 1, 2, 2, 7, rank).tolist():
            start = int(sizes[:block].sum())
            assert start <= first
            assert first + count <= start + int(sizes[block])
            seen += range(first, first + count)
    assert sorted(seen) == list(range(24))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.tensor([-1]), 0, 0, 1), "-1"),
        ((torch.tensor([1]), 0, 0, -1), "shuffle_window"),
        ((torch.tensor([1]), 0, 0, 1, 0, 0), "num_replicas"),
        ((torch.tensor([1]), 0, 0, 1, 2, 2), "rank"),
        ((torch.tensor([1.0]), 0, 0, 1), "block_sizes must have dtype torch.int64"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.sample_order(*arguments)


def test_pack_samples_fills_blocks() -> None:
    sizes = torch.tensor([5 << 20] * 7 + [1 << 20] * 10)
    order, counts, header = _native.pack_samples(sizes)
    assert sorted(order.tolist()) == list(range(17))
    assert header == 4096
    start = 0
    for count in counts.tolist():
        assert sizes[order[start : start + count]].sum() <= (16 << 20) - header
        start += count
    assert start == 17


def test_pack_samples_in_source_order() -> None:
    sizes = torch.tensor([9 << 20, 9 << 20, 1 << 20, 16 << 19])
    order, counts, _ = _native.pack_samples(sizes, shuffled=False)
    assert order.tolist() == [0, 1, 2, 3]
    assert counts.tolist() == [1, 2, 1]


def test_pack_samples_too_large() -> None:
    with pytest.raises(ValueError, match=r"sample 1 .*16777216"):
        _native.pack_samples(torch.tensor([1, 16 << 20]))


def test_pack_samples_header_sizes_are_checked() -> None:
    for wrong in (-1, 1 << 32):
        with pytest.raises(ValueError, match=f"block_header_size is {wrong}, expected 0 to 4294967295"):
            _native.pack_samples(torch.tensor([1]), block_header_size=wrong)
