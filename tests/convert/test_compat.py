# SPDX-License-Identifier: Apache-2.0
"""The first exporter's order and packing: known answers, limits, names."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torchvision.datasets import ImageFolder

from torch_dts.convert._compat import (
    compat_path,
    file_name,
    next_fit,
    pack_tightly,
    plan_compat,
)
from torch_dts.convert._kept import Kept
from torch_dts.convert._samples import Samples

ROOM = (16 << 20) - 4096


def kept_of(sizes: list[int], names: list[str] | None = None) -> Kept:
    names = names or [f"c/{i:06d}.JPEG" for i in range(len(sizes))]
    labels = torch.zeros(len(names), dtype=torch.int64)
    samples = Samples(kind="X", files=names, labels=labels, classes=["c"], names=names)
    return Kept(samples, torch.arange(len(names)), torch.tensor(sizes), labels)


def aligned(sizes: list[int]) -> list[int]:
    return [(size + 63) // 64 * 64 for size in sizes]


def blocks_of(plan: Any) -> list[list[int]]:
    order = plan.order.tolist()
    return [order[start:stop] for start, stop in itertools.pairwise(plan.first)]


def test_known_answers(vectors: Callable[[str], dict[str, Any]]) -> None:
    for case in vectors("packing")["cases"]:
        sizes, min_blocks = case["sizes"], case["min_blocks"]
        assert pack_tightly(aligned(sizes), ROOM, min_blocks) == case["blocks"], case["name"]
        plan, why = plan_compat(kept_of(sizes), 0, min_blocks)
        assert blocks_of(plan) == case["blocks"]
        assert (why, plan.block_size, plan.block_header_size) == ("", 16 << 20, 4096)


def test_python_s_generator(vectors: Callable[[str], dict[str, Any]]) -> None:
    for count, expected in vectors("python_shuffle")["python_random_seed_42_shuffle_of_range"].items():
        values = list(range(int(count)))
        random.Random(42).shuffle(values)
        assert values == expected


def test_ids_go_by_file_name_alone() -> None:
    """Equal names keep their order; ids are ranks among the names, whatever the folder."""
    names = ["b/2.jpeg", "a/3.jpeg", "c/2.jpeg", "a/1.jpeg", "z/0.jpeg"]
    plan, _ = plan_compat(kept_of([10] * 5, names), 2, None)
    by_id = [4, 3, 0, 2, 1]
    values = list(range(5))
    random.Random(42).shuffle(values)
    assert blocks_of(plan) == [[by_id[sample] for sample in values]]
    assert plan.block_header_size == 16384


def test_next_fit() -> None:
    blocks = next_fit([40, 60, 64, 1, 99, 100], 100)
    order = list(range(6))
    random.Random(42).shuffle(order)
    assert [sample for block in blocks for sample in block] == order
    sizes = [[[40, 60, 64, 1, 99, 100][sample] for sample in block] for block in blocks]
    assert all(sum(block) <= 100 for block in sizes)
    assert all(sum(block) + after[0] > 100 for block, after in itertools.pairwise(sizes))
    assert [len(block) for block in next_fit([1] * 10, 100, 4)] == [4, 4, 2]


@pytest.mark.parametrize(
    ("sizes", "level", "min_blocks", "why"),
    [
        ([1000] * 5, 0, 1, "its own fails on this set with min_blocks=1"),
        ([1000] * 3, 0, 4, "its own fails on this set with min_blocks=4"),
        ([20_000] * 3000, 0, 2, "more than 340 samples into a block"),
        ([2000] * 1500, 3, None, "more than 1000 samples into a block"),
    ],
)
def test_what_its_packing_fails_on(sizes: list[int], level: int, min_blocks: int | None, why: str) -> None:
    plan, note = plan_compat(kept_of(sizes), level, min_blocks)
    assert why in note
    blocks = blocks_of(plan)
    assert sorted(sample for block in blocks for sample in block) == list(range(len(sizes)))
    assert max(map(len, blocks)) <= (1000 if level else 340)
    assert plan.block_header_size == (16384 if level else 4096)


def test_a_sample_larger_than_a_block() -> None:
    with pytest.raises(ValueError, match=r"sample 1.: 16,777,216 bytes, but a block.*compat=True has"):
        plan_compat(kept_of([10, 16 << 20]), 0, None)


def test_names(image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path) -> None:
    assert (file_name(0, False), file_name(3, True)) == ("imagenet_train_lv0.dts", "imagenet_val_lv3.dts")
    root = image_folder().rename(tmp_path / "val")
    assert compat_path(None, root, 1, None) == str(tmp_path / "imagenet_val_lv1.dts")
    assert compat_path(None, root, 1, "train") == str(tmp_path / "imagenet_train_lv1.dts")
    assert compat_path(root, ImageFolder(root), 0, None) == str(root / "imagenet_val_lv0.dts")
    assert compat_path("x.dts", root, 0, None) == "x.dts"
    assert compat_path(tmp_path, [(b"", 0)], 0, "train") == str(tmp_path / "imagenet_train_lv0.dts")
    with pytest.raises(ValueError, match="compat=True needs split='train' or 'val' for the file's name"):
        compat_path(tmp_path, [(b"", 0)], 0, None)
