# SPDX-License-Identifier: Apache-2.0
"""What a rank of a DTSIterableDataset reads: its blocks, and of those it shares its samples only."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch

import torch_dts
from torch_dts import DTSIterableDataset, _native

Numbers = Callable[..., list[int]]


def bytes_read_by(dataset: DTSIterableDataset, monkeypatch: pytest.MonkeyPatch) -> int:
    """Reads an epoch and counts the bytes that were asked of the file."""
    file = dataset.file
    counted = [0]
    read_blocks, read_many = file.read_blocks, file.read_many

    def counting_blocks(block_ids: torch.Tensor, **kwargs: Any) -> Any:
        counted[0] += block_ids.numel() * file.block_size
        return read_blocks(block_ids, **kwargs)

    def counting_many(indices: torch.Tensor) -> Any:
        found = read_many(indices)
        counted[0] += sum(map(len, found))
        return found

    monkeypatch.setattr(file, "read_blocks", counting_blocks)
    monkeypatch.setattr(file, "read_many", counting_many)
    assert len(list(dataset)) == len(dataset)
    return counted[0]


@pytest.mark.parametrize("num_replicas", [1, 3, 7, 64])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_rank_reads_no_more_than_a_block_beside_its_share(
    many_blocks: pathlib.Path, num_replicas: int, shuffle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(0, num_replicas, max(1, num_replicas // 7)):
        dataset = DTSIterableDataset(
            many_blocks, shuffle=shuffle, shuffle_window=2, seed=1, num_replicas=num_replicas, rank=rank
        )
        sizes = dataset.file.block_table.num_samples
        if shuffle:
            runs = _native.rank_runs(sizes, 1, 0, 2, num_replicas, rank)
            share = float((runs[:, 2] / sizes[runs[:, 0]]).sum())
        else:
            share = len(dataset) / 23 * sizes.numel()
        assert bytes_read_by(dataset, monkeypatch) <= (share + 1) * dataset.file.block_size


def test_a_border_block_is_not_checked_and_its_damage_is_no_error(
    many_blocks: pathlib.Path, tmp_path: pathlib.Path, numbers: Numbers
) -> None:
    hurt = tmp_path / "hurt.dts"
    shutil.copyfile(many_blocks, hurt)
    with torch_dts.open(hurt) as file:
        sizes = file.block_table.num_samples
        ends = sizes.cumsum(0)
        # Of four ranks the first one ends inside of this block.
        border = int(torch.bucketize(torch.tensor(23 // 4), ends, right=True))
        assert 23 // 4 not in ends.tolist()
        position = file.header.header_bytes + (border + 1) * file.block_size - 1
    with hurt.open("r+b") as stream:
        stream.seek(position)
        stream.write(b"\x55")  # in the zeros behind the last sample
    parts = [
        numbers(DTSIterableDataset(hurt, shuffle=False, num_replicas=4, rank=rank, uneven="exact"))
        for rank in range(2)
    ]
    with torch_dts.open(many_blocks) as file:
        assert parts[0] + parts[1] == file.source_index[: 23 // 2].tolist()
    with pytest.raises(torch_dts.CorruptFileError, match=f"block {border}"):
        list(DTSIterableDataset(hurt, shuffle=False))
