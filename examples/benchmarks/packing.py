#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tightly and how randomly ``convert`` packs samples into blocks, and how fast.

    python examples/benchmarks/packing.py [--samples 1281167] [--mean 114700] [--sigma 0.65] [--seed 1]

Draws log-normal file sizes (the defaults imitate ImageNet's training set), packs them and
prints: the number of blocks beside the fewest possible, free room, file size over the
sources, seconds and memory; then how far small sets stay from the fewest blocks; then
z-scores of the mixing of a class-sorted set beside those of random filling.
"""

from __future__ import annotations

import argparse
import time

import torch
from measuring import machine, peak_memory_bytes
from torch import Tensor

from torch_dts import _native

BLOCK = 16 << 20
HEADER_AREA = 16 << 20


def log_normal(count: int, mean: float, sigma: float, seed: int) -> Tensor:
    """File sizes in bytes, int64 [count]."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(count, generator=generator, dtype=torch.float64)
    return torch.exp(normal * sigma + (torch.log(torch.tensor(mean)) - sigma * sigma / 2)).long()


def padded(sizes: Tensor) -> Tensor:
    """Sizes as a block keeps them."""
    return (sizes + 63) // 64 * 64


def show_tightness(sizes: Tensor) -> None:
    """Packs the large set and prints blocks, room and file size."""
    before = peak_memory_bytes()
    start = time.perf_counter()
    _, counts, header_size = _native.pack_samples(sizes)
    seconds = time.perf_counter() - start
    memory = peak_memory_bytes() - before
    num_blocks = len(counts)
    total, stored = int(sizes.sum()), int(padded(sizes).sum())
    fewest = -(-stored // (BLOCK - header_size))
    room = num_blocks * (BLOCK - header_size) - stored
    file_bytes = HEADER_AREA + num_blocks * BLOCK
    print(f"samples              {len(sizes)}, {total} bytes (mean {total / len(sizes):.0f})")
    print(f"blocks               {num_blocks} of {BLOCK} bytes, block_header_size {header_size}")
    print(f"ceil(sum/capacity)   {fewest}")
    print(f"free room            {room} bytes, {100 * room / (num_blocks * BLOCK):.4f} % of the blocks")
    print(f"file over sources    {100 * (file_bytes / total - 1):.4f} % ({file_bytes} bytes)")
    print(f"time, added memory   {seconds:.2f} s, {memory / 2**20:.0f} MiB")


def show_small_sets(mean: float, sigma: float, num_sets: int) -> None:
    """Packs sets of 1 to 30 000 samples and prints how many exceed the fewest blocks by how many."""
    generator = torch.Generator().manual_seed(0)
    excess: dict[int, int] = {}
    for seed in range(num_sets):
        count = int(torch.randint(1, 30001, (1,), generator=generator)) if seed >= 300 else seed + 1
        sizes = log_normal(count, mean, sigma, 1000 + seed)
        _, counts, header_size = _native.pack_samples(sizes)
        over = len(counts) - _native.packing_bound(sizes, BLOCK, header_size)
        excess[over] = excess.get(over, 0) + 1
    shown = ", ".join(f"+{over}: {number} sets" for over, number in sorted(excess.items()))
    print(f"blocks over fewest   {shown} (of 1 to 30000 samples)")


def mixing_scores(labels: Tensor, sizes: Tensor, order: Tensor, counts: Tensor) -> tuple[float, float]:
    """z-scores: chi-square of 20 class groups per block; correlation of size with block number."""
    block = torch.repeat_interleave(torch.arange(len(counts)), counts)
    groups = labels[order] % 20
    found = torch.zeros(len(counts), 20, dtype=torch.float64)
    found.index_put_((block, groups), torch.ones(len(order), dtype=torch.float64), accumulate=True)
    share = torch.bincount(groups, minlength=20).double() / len(order)
    expected = counts[:, None].double() * share
    chi_square = float(((found - expected) ** 2 / expected)[:-1].sum())
    degrees = 19.0 * (len(counts) - 1)
    pair = torch.stack([block.double(), sizes[order].double()])
    correlation = float(torch.corrcoef(pair)[0, 1])
    return (chi_square - degrees) / (2 * degrees) ** 0.5, correlation * len(order) ** 0.5


def show_mixing(count: int, seeds: int) -> None:
    """Prints the z-scores of a 1000-class set whose sizes depend on class, packed and filled at random."""
    labels = torch.arange(count) * 1000 // count
    scores: dict[str, list[tuple[float, float]]] = {"packed": [], "filled at random": []}
    for seed in range(seeds):
        class_mean = torch.exp(torch.randn(1000, generator=torch.Generator().manual_seed(seed)) * 0.5)
        sizes = (log_normal(count, 90000.0, 0.5, 100 + seed) * class_mean[labels].double()).long()
        sizes.clamp_(max=BLOCK - 4096)
        order, counts, _ = _native.pack_samples(sizes, seed=seed)
        scores["packed"].append(mixing_scores(labels, sizes, order, counts))
        shuffle = torch.randperm(count, generator=torch.Generator().manual_seed(5000 + seed))
        _, counts, _ = _native.pack_samples(sizes[shuffle], shuffled=False)
        scores["filled at random"].append(mixing_scores(labels, sizes, shuffle, counts))
    print(f"mixing               {count} samples, 1000 classes, z-scores (mean, deviation over {seeds} sets)")
    for name, pairs in scores.items():
        chi, trend = torch.tensor(pairs, dtype=torch.float64).unbind(1)
        print(
            f"  {name:18s} classes per block {chi.mean():+.2f} ({chi.std():.2f}), "
            f"size with block number {trend.mean():+.2f} ({trend.std():.2f})"
        )


def main() -> None:
    """Reads the arguments and prints all figures."""
    parser = argparse.ArgumentParser(description="Packing: tightness, mixing and speed.")
    parser.add_argument("--samples", type=int, default=1281167, help="samples of the large set")
    parser.add_argument("--mean", type=float, default=114700.0, help="mean file size in bytes")
    parser.add_argument("--sigma", type=float, default=0.65, help="of the log-normal distribution")
    parser.add_argument("--seed", type=int, default=1, help="of the large set's sizes")
    parser.add_argument("--small-sets", type=int, default=600, help="number of small sets")
    parser.add_argument("--mixing-samples", type=int, default=200000, help="samples of the mixing sets")
    parser.add_argument("--mixing-sets", type=int, default=20, help="number of mixing sets")
    arguments = parser.parse_args()
    print(machine())
    show_tightness(log_normal(arguments.samples, arguments.mean, arguments.sigma, arguments.seed))
    if arguments.small_sets > 0:
        show_small_sets(arguments.mean, arguments.sigma, arguments.small_sets)
    if arguments.mixing_sets > 1:
        show_mixing(arguments.mixing_samples, arguments.mixing_sets)


if __name__ == "__main__":
    main()
