#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 in torch_dts.DataLoader beside torch's DataLoader, in turns in one run.

    python examples/benchmarks/pixel_sets.py [--images 50000] [--rounds 3] [--num-workers 2]

The set is synthetic: random arrays in a torchvision CIFAR10 object, so nothing is downloaded.
The work is RandomCrop(32, padding=4), flip, ToTensor, Normalize to float32.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from contestants.work import epoch_of
from measuring import Contestant, in_turns, machine, table
from torchvision import transforms as v1
from torchvision.datasets import CIFAR10, VisionDataset

import torch_dts

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def synthetic_cifar10(num_images: int, transform: v1.Compose) -> CIFAR10:
    """A CIFAR10 object over random pixels; its constructor would want the files."""
    generator = np.random.default_rng(0)
    dataset = CIFAR10.__new__(CIFAR10)
    VisionDataset.__init__(dataset, "synthetic", transform=transform)
    dataset.train = True
    dataset.data = generator.integers(0, 256, (num_images, 32, 32, 3), dtype=np.uint8)
    dataset.targets = generator.integers(0, 10, num_images).tolist()
    dataset.classes = [f"class {i}" for i in range(10)]
    dataset.class_to_idx = {name: i for i, name in enumerate(dataset.classes)}
    return dataset


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    given = parser.parse_args()
    print(machine())
    torch.set_num_threads(1)
    transform = v1.Compose(
        [
            v1.RandomCrop(32, padding=4),
            v1.RandomHorizontalFlip(),
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )
    dataset = synthetic_cifar10(given.images, transform)
    common = {"batch_size": given.batch_size, "shuffle": True, "num_workers": given.num_workers}
    slow = torch.utils.data.DataLoader(dataset, persistent_workers=given.num_workers > 0, **common)
    fast = torch_dts.DataLoader(dataset, **common)
    contestants = [
        Contestant("torch DataLoader(CIFAR10)", epoch_of(slow)),
        Contestant("ours, CIFAR10", epoch_of(fast)),
    ]
    in_turns(contestants, given.rounds)
    print(table(contestants))


if __name__ == "__main__":
    main()
