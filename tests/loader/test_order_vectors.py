# SPDX-License-Identifier: Apache-2.0
"""The published vectors of the order, as loaders and streams over real files deliver them."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

import pytest
from loader_sets import FIXED, photo

import torch_dts
from torch_dts.loader._data_loader import DataLoader

VECTORS = json.loads((pathlib.Path(__file__).parents[1] / "vectors" / "order.json").read_text())
# The others need files of up to 400 MB.
SMALL = [case for case in VECTORS["rank_order"] if len(case["block_sizes"]) <= 3]
BLOCK_BYTES = 16 << 20


class Blocks:
    """Encoded photos with zeros behind their end: as many fill a block as are asked for. Label: number."""

    def __init__(self, block_sizes: list[int]) -> None:
        self.sizes = [BLOCK_BYTES // count - 4096 for count in block_sizes for _ in range(count)]
        self.classes = [f"class{number:03}" for number in range(len(self.sizes))]

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        if index >= len(self):
            raise IndexError(index)
        stream = io.BytesIO()
        photo(index, (20, 20)).save(stream, "JPEG")
        return stream.getvalue().ljust(self.sizes[index], b"\0"), index


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case['num_replicas']} ranks")
def test_ranks_of_the_vectors(case: dict[str, Any], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "set.dts"
    torch_dts.convert(Blocks(case["block_sizes"]), path, order="source", check="none", progress=False)
    with torch_dts.open(path) as file:
        assert file.block_table.num_samples.tolist() == case["block_sizes"]
    order = {"seed": case["seed"], "shuffle_window": case["shuffle_window"], "uneven": "exact"}
    dataset = torch_dts.DTSDataset(path, FIXED)
    for rank, expected in enumerate(case["ranks"]):
        ranks = {"num_replicas": case["num_replicas"], "rank": rank}
        arguments: dict[str, Any] = {"num_workers": 1, "return_index": True}
        loader = DataLoader(dataset, 4, shuffle=True, **order, **ranks, **arguments, mode="fully")
        loader.set_epoch(case["epoch"])
        stream = torch_dts.DTSIterableDataset(path, FIXED, **order, **ranks)
        stream.set_epoch(case["epoch"])
        assert [label for _, label in stream] == expected
        stream.set_epoch(case["epoch"])
        for batches in (loader, DataLoader(stream, 4, **arguments)):
            found = []
            for _, labels, indices, is_counted in batches:
                assert labels.tolist() == indices.tolist()
                found += indices[is_counted].tolist()
            assert found == expected
