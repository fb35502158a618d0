#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an epoch's plan costs a rank, and how even the ranks are, for sets that need not exist.

    python examples/benchmarks/order.py [--samples 1300000 14000000 1000000000] [--ranks 1 8 64 1024]

Only the table of blocks is made up: blocks of 16 MiB with as many samples as pictures of about
110 kB fill. Time is CPU time of the process, the least of three rounds, memory what the peak lies above what
the process had before, both for the longest of the ranks looked at (first, middle and last one). Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from measuring import machine
from torch import Tensor

from torch_dts import _native
from torch_dts.datasets._chunks import rank_range
from torch_dts.loader._order import Order

BATCH_SIZE = 256
SEED, EPOCH = 1, 3
NUM_ROUNDS = 3
BLOCK_BYTES, INDEX_BYTES = 16 << 20, 4096
LIST_LIMIT = 1 << 28  # larger sets: windows of blocks only, without the list of samples


class Cost(NamedTuple):
    seconds: float
    peak_bytes: int


def made_up_blocks(num_samples: int) -> Tensor:
    """int64 ``[num_blocks]``: samples of each block, 140 to 170."""
    sizes = torch.randint(140, 171, (num_samples // 140 + 1,), generator=torch.Generator().manual_seed(0))
    ends = sizes.cumsum(0)
    sizes = sizes[: int(torch.searchsorted(ends, num_samples)) + 1].clone()
    sizes[-1] -= int(sizes.sum()) - num_samples
    return sizes


def order_of(block_sizes: Tensor, window: int, num_replicas: int, rank: int) -> Order:
    """The order of a file that has these blocks; planning asks for no more of it."""
    file: Any = SimpleNamespace(block_table=SimpleNamespace(num_samples=block_sizes))
    return Order(
        int(block_sizes.sum()),
        file=file,
        shuffle=True,
        shuffle_window=window,
        num_replicas=num_replicas,
        rank=rank,
    )


def memory_field(name: str) -> int:
    """Bytes of a line of /proc/self/status."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024


def measured(run: Callable[[], object]) -> Cost:
    """Cost of a call, in a process of its own."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before = memory_field("VmRSS")
        seconds = []
        for _ in range(NUM_ROUNDS):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
        cost = (min(seconds), memory_field("VmHWM") - before)
        os.write(write_end, json.dumps(cost).encode())
        os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return Cost(*found)


def some_ranks(num_replicas: int) -> list[int]:
    return sorted({0, num_replicas // 2, num_replicas - 1})


def bytes_read(block_sizes: Tensor, window: int, num_replicas: int) -> tuple[float, float]:
    """Bytes that a rank reads, by those of its share (the most found), and what they may be by the design.

    A block that two ranks share is read in part: its index and the rank's samples.
    """
    most, limit = 0.0, 0.0
    for rank in some_ranks(num_replicas):
        runs = _native.rank_runs(block_sizes, SEED, EPOCH, window, num_replicas, rank)
        parts = runs[:, 2] / block_sizes[runs[:, 0]]
        share = float(parts.sum()) * BLOCK_BYTES
        most = max(most, (share + int((parts < 1).sum()) * INDEX_BYTES) / share)
        limit = max(limit, (share + BLOCK_BYTES) / share)
    return most, limit


def spread(num_samples: int, num_replicas: int) -> str:
    """Most minus fewest samples, and batches, over all ranks: of their ranges, and as delivered."""
    ranges = [rank_range(num_samples, num_replicas, rank) for rank in range(num_replicas)]
    counts = [end - first for first, end in ranges]
    orders = [Order(num_samples, num_replicas=num_replicas, rank=rank) for rank in range(num_replicas)]
    lengths = {len(order) for order in orders}
    batches = {-(-length // BATCH_SIZE) for length in lengths}
    return f"{max(counts) - min(counts)} -> {max(lengths) - min(lengths)}, {max(batches) - min(batches)}"


def plan(block_sizes: Tensor, window: int, num_replicas: int, rank: int) -> object:
    """What a rank does when an epoch begins."""
    if int(block_sizes.sum()) > LIST_LIMIT:
        return _native.rank_runs(block_sizes, SEED, EPOCH, window, num_replicas, rank)
    return order_of(block_sizes, window, num_replicas, rank).stream(SEED, EPOCH)


def row(block_sizes: Tensor, window: int, num_replicas: int) -> str:
    num_samples = int(block_sizes.sum())
    costs = [
        measured(lambda rank=rank: plan(block_sizes, window, num_replicas, rank))
        for rank in some_ranks(num_replicas)
    ]
    seconds = max(cost.seconds for cost in costs)
    peak = max(cost.peak_bytes for cost in costs)
    read = "singly"
    if window:
        read = "{:.4f} (limit {:.4f})".format(*bytes_read(block_sizes, window, num_replicas))
    windows = f"{window or 'all'}{', windows only' if num_samples > LIST_LIMIT else ''}"
    return (
        f"| {num_samples:,} | {windows} | {num_replicas} | {seconds:.3f} | {peak / 1e6:.0f} "
        f"| {read} | {spread(num_samples, num_replicas)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[1_300_000, 14_000_000, 1_000_000_000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 8, 64, 1024])
    parser.add_argument("--windows", type=int, nargs="+", default=[16, 0], help="0: uniform")
    given = parser.parse_args()
    torch.set_num_threads(1)  # of torch's own: a child of fork has none of the others
    print(machine(), "\n")
    print("| samples | window | ranks | CPU s | MB | bytes read / of the share | spread: samples, batches |")
    print("|---|---|---|---|---|---|---|")
    for num_samples in given.samples:
        block_sizes = made_up_blocks(num_samples)
        for window in given.windows:
            if window == 0 and num_samples > LIST_LIMIT:
                continue
            for num_replicas in given.ranks:
                print(row(block_sizes, window, num_replicas), flush=True)


if __name__ == "__main__":
    main()
