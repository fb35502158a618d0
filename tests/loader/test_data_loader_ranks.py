# SPDX-License-Identifier: Apache-2.0
"""Ranks: who delivers what, with samplers of torch's, with num_replicas, and in a real process group."""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
import torch
import torch.utils.data
from loader_sets import FIXED, NUM_BLOCKS_SAMPLES, NUM_PHOTOS, RANDOM, hashes, labels_of
from torch.utils.data import BatchSampler, DistributedSampler, Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.loader._data_loader import DataLoader

Batches = list[list[int]]


def flat(batches: Batches) -> list[int]:
    return list(itertools.chain(*batches))


def ranks(path: pathlib.Path, num_replicas: int, **kwargs: Any) -> list[Batches]:
    """The labels (source indices) of each rank's batches."""
    return [
        labels_of(
            DataLoader(
                torch_dts.DTSDataset(path, FIXED),
                **{"batch_size": 3, "num_workers": 1, "num_replicas": num_replicas, "rank": rank, **kwargs},
            )
        )
        for rank in range(num_replicas)
    ]


def sampled(path: pathlib.Path, num_replicas: int, epoch: int = 0, **kwargs: Any) -> list[Batches]:
    found = []
    for rank in range(num_replicas):
        dataset = torch_dts.DTSDataset(path, FIXED)
        sampler: Any = DistributedSampler(dataset, num_replicas, rank, **kwargs)
        sampler.set_epoch(epoch)
        loader = DataLoader(dataset, 3, sampler=sampler, num_workers=1)
        found.append(labels_of(loader))
        assert len(loader) == len(found[-1])
    return found


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("num_replicas", [2, 3, 7, 23])
def test_ranks_are_equal_and_complete(num_replicas: int, shuffle: bool, blocks_file: pathlib.Path) -> None:
    arguments: dict[str, Any] = {"shuffle": shuffle, "shuffle_window": 2}
    found = ranks(blocks_file, num_replicas, **arguments)
    length = -(-NUM_BLOCKS_SAMPLES // num_replicas)
    assert [len(flat(rank)) for rank in found] == [length] * num_replicas
    assert [[len(batch) for batch in rank] for rank in found] == [[len(b) for b in found[0]]] * num_replicas
    counts = Counter(flat([flat(rank) for rank in found]))
    assert set(counts) == set(range(NUM_BLOCKS_SAMPLES))
    assert sum(counts.values()) == length * num_replicas
    dropped = ranks(blocks_file, num_replicas, drop_last=True, **arguments)
    whole = NUM_BLOCKS_SAMPLES // num_replicas // 3 * 3
    assert [flat(rank) for rank in dropped] == [flat(rank)[:whole] for rank in found]


def test_lengths_are_those_of_torchs_sampler() -> None:
    for num_samples, num_replicas, batch_size in [(10, 4, 1), (26, 4, 6), (5, 8, 2), (12, 3, 4)]:
        data: Any = list(range(num_samples))
        for drop_last in (False, True):
            sampler: Any = DistributedSampler(data, num_replicas, 0, drop_last=drop_last)
            torchs = torch.utils.data.DataLoader(data, batch_size, sampler=sampler)
            ours = DataLoader(data, batch_size, sampler=sampler)
            assert len(ours) == len(torchs)
        ours = DataLoader(data, batch_size, shuffle=True, num_replicas=num_replicas, rank=1)
        torchs = torch.utils.data.DataLoader(
            data, batch_size, sampler=DistributedSampler(data, num_replicas, 1)
        )
        assert len(ours) == len(torchs)


def test_a_distributed_sampler_keeps_its_ranks_and_gets_our_order(blocks_file: pathlib.Path) -> None:
    found = sampled(blocks_file, 3, epoch=4, seed=9)
    loaders = [
        DataLoader(
            torch_dts.DTSDataset(blocks_file, FIXED),
            3,
            True,
            num_replicas=3,
            rank=rank,
            seed=9,
            num_workers=1,
        )
        for rank in range(3)
    ]
    for loader in loaders:
        loader.set_epoch(4)
    assert found == [labels_of(loader) for loader in loaders]
    assert found != sampled(blocks_file, 3, epoch=5, seed=9)
    assert [len(flat(rank)) for rank in sampled(blocks_file, 3, drop_last=True)] == [6, 6, 6]


def test_forgetting_set_epoch_still_gives_new_orders(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    sampler: Any = DistributedSampler(dataset, 2, 0)
    loader = DataLoader(dataset, 3, sampler=sampler, num_workers=1)
    epochs = [labels_of(loader) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    sampler.set_epoch(1)
    assert labels_of(loader) == epochs[1]
    loader.set_epoch(2)
    assert labels_of(loader) == epochs[2]
    assert sampler.epoch == 2


def test_inside_of_a_batch_sampler(blocks_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    sampler: Any = DistributedSampler(dataset, 3, 1, seed=9)
    loader = DataLoader(dataset, batch_sampler=BatchSampler(sampler, 3, False), num_workers=1)
    assert labels_of(loader) == sampled(blocks_file, 3, seed=9)[1]


def test_other_samplers_keep_their_own_indices(blocks_file: pathlib.Path) -> None:
    class Mine(DistributedSampler[Any]):
        pass

    dataset: Any = torch_dts.DTSDataset(blocks_file, FIXED)
    for sampler in (DistributedSampler(dataset, 3, 1, shuffle=False), Mine(dataset, 3, 1)):
        expected = list(sampler)
        assert flat(labels_of(DataLoader(dataset, 3, sampler=sampler, num_workers=1))) == expected
    data: Any = list(range(10))
    found = [
        list(torch.utils.data.DataLoader(data, 1, sampler=DistributedSampler(data, 4, rank, shuffle=False)))
        for rank in range(4)
    ]
    assert [[int(batch) for batch in rank] for rank in found] == [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]


def test_a_filler_is_augmented_anew(photos: pathlib.Path) -> None:
    loader = DataLoader(
        ImageFolder(photos, RANDOM), 1, shuffle=True, num_replicas=2, rank=0, return_index=True
    )
    first, *_, last = loader
    assert torch.equal(first[2], last[2])
    assert not torch.equal(first[0], last[0])


def test_subsets_are_shared_out_too(photos: pathlib.Path) -> None:
    subset = Subset(ImageFolder(photos, FIXED), range(3, 14))
    found = [
        flat(
            [
                batch[2].tolist()
                for batch in DataLoader(subset, 2, True, num_replicas=2, rank=r, return_index=True)
            ]
        )
        for r in range(2)
    ]
    assert [len(rank) for rank in found] == [6, 6]
    assert set(found[0]) | set(found[1]) == set(range(11))


@pytest.mark.parametrize("num_replicas", [1, 3, 23])
def test_the_iterable_dataset_shares_itself_out(num_replicas: int, blocks_file: pathlib.Path) -> None:
    found = []
    for rank in range(num_replicas):
        dataset = torch_dts.DTSIterableDataset(blocks_file, FIXED, num_replicas=num_replicas, rank=rank)
        loader = DataLoader(dataset, 4, num_workers=1)
        found.append(labels_of(loader))
        assert len(found[-1]) == len(loader)
    assert len({len(flat(rank)) for rank in found}) == 1
    assert set(flat([flat(rank) for rank in found])) == set(range(NUM_BLOCKS_SAMPLES))


# The example of torch's documentation, with ImageFolder and DataLoader as torch_dts has them.
EXAMPLE = """
def main(rank, world_size, path, shuffle):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    dataset = DTSDataset(path, transform=transform)
    sampler = DistributedSampler(dataset, shuffle=shuffle)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=1)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 20)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            seen[epoch] += labels.tolist()
    if rank == 0:
        evaluation = DataLoader(DTSDataset(path, transform=transform), batch_size=4, num_workers=1)
        for images, labels in evaluation:
            evaluated.extend(labels.tolist())
    try:
        iter(DataLoader(dataset, shuffle=True, distributed=True, seed=rank))
    except ValueError as error:
        problems.append(str(error))
    dist.barrier()
    dist.destroy_process_group()
"""
LAUNCHER = """
import json, os, socket, sys, tempfile, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torch_dts import DTSDataset
from torch_dts.loader._data_loader import DataLoader
from torchvision import transforms

transform = transforms.Compose([transforms.RandomResizedCrop(16), transforms.ToTensor()])
exec(sys.argv[2])
results = []
for world_size in (2, 3):
    for shuffle in (True, False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        written = [tempfile.TemporaryFile("w+") for _ in range(world_size)]
        pids = []
        for rank in range(world_size):
            pids.append(os.fork())
            if pids[-1] == 0:
                seen, evaluated, problems = [[], []], [], []
                main(rank, world_size, sys.argv[1], shuffle)
                json.dump([seen, evaluated, problems], written[rank])
                written[rank].flush()
                os._exit(0)
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * world_size
        for file in written:
            file.seek(0)
        results.append([world_size, shuffle, [json.load(file) for file in written]])
print(json.dumps(results))
"""


def test_torchs_example_in_a_process_group(blocks_file: pathlib.Path) -> None:
    program = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(blocks_file), EXAMPLE],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    for world_size, shuffle, found in json.loads(program.stdout.splitlines()[-1]):
        seen, evaluated, problems = zip(*found, strict=True)
        length = -(-NUM_BLOCKS_SAMPLES // world_size)
        for epoch in range(2):
            assert [len(rank[epoch]) for rank in seen] == [length] * world_size
            counts = Counter(flat([rank[epoch] for rank in seen]))
            assert set(counts) == set(range(NUM_BLOCKS_SAMPLES))
            surplus = length * world_size - NUM_BLOCKS_SAMPLES
            assert sorted(counts.values(), reverse=True) == [2] * surplus + [1] * (
                NUM_BLOCKS_SAMPLES - surplus
            )
            if not shuffle:
                expected = [
                    list(DistributedSampler(range(NUM_BLOCKS_SAMPLES), world_size, rank, shuffle=False))  # type: ignore[arg-type]
                    for rank in range(world_size)
                ]
                assert [rank[epoch] for rank in seen] == expected
        assert (seen[0][0] != seen[0][1]) == shuffle
        assert evaluated[0] == list(range(NUM_BLOCKS_SAMPLES))
        # Ranks with different seeds: all but the one that came first are told so.
        assert sum(map(len, problems)) == world_size - 1
        assert all("ranks that share a data set need the same" in text for text in flat(problems))


def test_hashes_of_one_rank_are_those_of_no_ranks(photos_file: pathlib.Path) -> None:
    dataset = torch_dts.DTSDataset(photos_file, RANDOM)
    one = DataLoader(dataset, 4, True, num_replicas=1, rank=0)
    assert hashes(one) == hashes(DataLoader(dataset, 4, True, seed=0))
    assert len(one.sampler) == NUM_PHOTOS  # type: ignore[arg-type]


@pytest.mark.parametrize("num_replicas", [1, 3, 7, 64])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_rank_reads_no_more_than_a_block_beside_its_share(
    num_replicas: int, shuffle: bool, blocks_file: pathlib.Path
) -> None:
    for rank in range(0, num_replicas, max(1, num_replicas // 5)):
        dataset = torch_dts.DTSIterableDataset(
            blocks_file,
            FIXED,
            shuffle=shuffle,
            shuffle_window=2,
            seed=4,
            num_replicas=num_replicas,
            rank=rank,
            uneven="exact",
        )
        loader = DataLoader(dataset, 2, num_workers=1, mode="partial", return_mask=True)
        labels = [label for batch in loader for label in batch[1][batch[2]].tolist()]
        file = dataset.file
        stored = torch.argsort(file.source_index)[torch.tensor(labels, dtype=torch.int64)]
        share = float((1 / file.block_table.num_samples[file.block_of(stored)]).sum())
        num_bytes = loader.stats().bytes_read
        assert num_bytes <= (share + 1) * file.block_size
        whole = (
            torch.bincount(file.block_of(stored), minlength=file.num_blocks) == file.block_table.num_samples
        )
        assert num_bytes // file.block_size >= int(whole.sum())
        loader.close()
