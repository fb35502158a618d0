#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good a shuffle within windows of blocks is, beside a uniform one.

    python examples/benchmarks/shuffle_quality.py [--out docs/images]

A folder sorted by class, as image folders are: 1000 classes of 1281 pictures of about 110 kB, packed as
`convert` packs it. Looked at are the entropy of the classes in a batch of 256 (a batch of few classes
trains badly), and how far two samples come apart in an epoch that are neighbours in the folder, or in
the file: what the window keeps together are samples of one block, and these are of all classes.
"""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import torch
from line_chart import Axis, Line, line_chart
from torch import Tensor

from torch_dts import _native

NUM_CLASSES, PER_CLASS, BATCH_SIZE = 1000, 1281, 256
NUM_SAMPLES = NUM_CLASSES * PER_CLASS
WINDOWS = (1, 2, 4, 16, 64)
NUM_EPOCHS = 3
SEED = 1


def pack(shuffled: bool) -> tuple[Tensor, Tensor]:
    """Source index of each stored sample, samples of each block."""
    generator = torch.Generator().manual_seed(0)
    sizes = (110e3 * torch.exp(0.35 * torch.randn(NUM_SAMPLES, generator=generator) - 0.06)).long()
    stored, counts, _ = _native.pack_samples(sizes, shuffled=shuffled, seed=42)
    return stored, counts


def batch_entropy(labels: Tensor) -> Tensor:
    """Bits, of each whole batch: of how many classes a batch is, in effect, 2 to the power of this."""
    batches = labels[: len(labels) // BATCH_SIZE * BATCH_SIZE].view(-1, BATCH_SIZE)
    counts = torch.zeros(len(batches), NUM_CLASSES).scatter_add_(1, batches, torch.ones_like(batches).float())
    return -torch.special.xlogy(counts / BATCH_SIZE, counts / BATCH_SIZE).sum(1) / torch.log(
        torch.tensor(2.0)
    )


def distances(numbers: Tensor) -> Tensor:
    """Of samples number i and i + 1: how far apart they come, as a part of the epoch.

    Args:
        numbers: Of the samples, in the order in which they come.
    """
    place = torch.empty_like(numbers)
    place[numbers] = torch.arange(len(numbers))
    return (place[1:] - place[:-1]).abs().double() / len(numbers)


def quality(stored: Tensor, counts: Tensor, window: int) -> dict[str, Any]:
    """Of some epochs: mean, least and spread of the entropy, and the distances."""
    entropies, in_folder, in_file = [], [], []
    for epoch in range(NUM_EPOCHS):
        delivered = _native.sample_order(counts, SEED, epoch, window)
        entropies.append(batch_entropy(stored[delivered] // PER_CLASS))
        in_folder.append(distances(stored[delivered]))
        in_file.append(distances(delivered))
    entropy = torch.cat(entropies)
    return {
        "mean": entropy.mean().item(),
        "least": entropy.min().item(),
        "std": entropy.std().item(),
        "in_folder": torch.cat(in_folder),
        "in_file": torch.cat(in_file),
        "histogram": torch.histc(entropy, 60, 6.9, 7.8) / len(entropy) * 100,
    }


def distance_line(name: str, found: Tensor) -> Line:
    """The share of pairs at most so far apart, from a hundred-thousandth of an epoch on."""
    points = torch.linspace(-5, 0, 71, dtype=torch.float64)
    share = torch.searchsorted(found.sort().values, 10**points) / len(found)
    return Line(name, points.tolist(), (100 * share).tolist(), name == "uniform")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/images"))
    given = parser.parse_args()
    stored, counts = pack(shuffled=True)
    found = {f"window {window}": quality(stored, counts, window) for window in WINDOWS}
    found["uniform"] = quality(stored, counts, 0)
    in_source_order, its_counts = pack(shuffled=False)
    found['order="source", window 16'] = quality(in_source_order, its_counts, 16)
    wanted = found["uniform"]["mean"]
    print(f"{len(counts)} blocks, {NUM_SAMPLES} samples, {NUM_EPOCHS} epochs\n")
    print(
        "| order | mean entropy, bits | of uniform's | least | standard deviation "
        "| median distance of neighbours in the folder | in the file |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, each in found.items():
        print(
            f"| {name} | {each['mean']:.4f} | {100 * each['mean'] / wanted:.3f} % | {each['least']:.3f} "
            f"| {each['std']:.4f} | {each['in_folder'].median():.4f} | {each['in_file'].median():.5f} |"
        )
    given.out.mkdir(parents=True, exist_ok=True)
    bits = torch.linspace(6.9, 7.8, 61)[:-1] + 0.0075
    shown = {name: found[name] for name in ("window 1", "window 4", "window 16", "uniform")}
    entropy_lines = [
        Line(name, bits.tolist(), each["histogram"].tolist(), name == "uniform")
        for name, each in shown.items()
    ]
    highest = max(max(line.ys) for line in entropy_lines)
    entropy_chart = line_chart(
        "Classes in a batch of 256, folder sorted by class (1000 classes)",
        entropy_lines,
        Axis("entropy of a batch's classes, bits", 7.2, 7.8, [7.2 + 0.1 * k for k in range(7)]),
        Axis("batches, %", 0, highest * 1.1, list(range(0, int(highest) + 2, 5))),
    )
    distance_chart = line_chart(
        "How far two neighbours come apart in an epoch",
        [
            distance_line("uniform", found["uniform"]["in_folder"]),
            distance_line("in the folder, window 16", found["window 16"]["in_folder"]),
            *(
                distance_line(f"in the file, window {window}", found[f"window {window}"]["in_file"])
                for window in (1, 16, 64)
            ),
        ],
        Axis("at most this part of an epoch", -5, 0, range(-5, 1), lambda value: f"{100 * 10**value:g} %"),
        Axis("pairs of neighbours, %", 0, 100, range(0, 101, 20)),
    )
    (given.out / "shuffle_entropy.svg").write_text(entropy_chart, encoding="utf-8")
    (given.out / "shuffle_distance.svg").write_text(distance_chart, encoding="utf-8")


if __name__ == "__main__":
    main()
