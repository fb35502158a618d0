# SPDX-License-Identifier: Apache-2.0
"""DTSIterableDataset in processes with a process group, made before or after the ranks start."""

from __future__ import annotations

import multiprocessing
import pathlib
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torchvision.transforms import PILToTensor

import torch_dts
from torch_dts import DTSIterableDataset, _native

NUM_RANKS = 2


def run_rank(dataset: DTSIterableDataset, rank: int, store: str, num_workers: int, queue: Any) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=NUM_RANKS)
    torch.manual_seed(rank)
    loader = DataLoader(dataset, batch_size=2, num_workers=num_workers)
    epochs = []
    for _ in range(2):
        gray = torch.cat([images[:, 0, 0, 0] for images, _ in loader])
        epochs.append((gray / 8).round().int().tolist())
    queue.put((rank, epochs, len(dataset), repr(dataset).splitlines()[4].strip()))
    dist.destroy_process_group()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_ranks_of_a_process_group_share_each_epoch(
    one_block: pathlib.Path, tmp_path: pathlib.Path, num_workers: int
) -> None:
    dataset = DTSIterableDataset(one_block, PILToTensor(), batch_size=2)
    assert len(dataset) == 10
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    processes = [
        context.Process(target=run_rank, args=(dataset, rank, str(tmp_path / "store"), num_workers, queue))
        for rank in range(NUM_RANKS)
    ]
    for process in processes:
        process.start()
    found = sorted(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()

    with torch_dts.open(one_block) as file:
        sizes, source_index = file.block_table.num_samples, file.source_index
        for rank, epochs, length, ranks in found:
            expected = [
                source_index[_native.sample_order(sizes, 0, epoch, 16, NUM_RANKS, rank)].tolist()
                for epoch in range(2)
            ]
            assert epochs == expected
            assert length == 5
            assert ranks == f"Rank: {rank} of 2 (from torch.distributed)"
