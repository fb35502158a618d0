#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of several augmentations of one decoding beside as many passes over the set.

    python examples/benchmarks/views.py DATA [--rounds 3] [--views 2] [--num-workers 2]

DATA is a `.dts` file or a folder of class folders of JPEGs. The work for a view is
RandomResizedCrop(224), flip, ToTensor, Normalize to float32. "passes" are epochs of a loader of
one view, as many as there are views; "multi-crop" is DINO's: two views of 224 and six of 96 pixels.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from typing import Any

import torch
from measuring import machine
from torchvision import transforms as v1

import torch_dts
from torch_dts.transforms import Views

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def crop(size: int, scale: tuple[float, float]) -> v1.Compose:
    steps = [v1.RandomResizedCrop(size, scale), v1.RandomHorizontalFlip(), v1.ToTensor()]
    return v1.Compose([*steps, v1.Normalize(MEAN, STD)])


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def epoch_ms(loader: Any, num_passes: int = 1) -> float:
    """CPU ms for each sample of the set."""
    began = cpu_seconds()
    num_samples = 0
    for _ in range(num_passes):
        num_samples = 0
        for images, labels in loader:
            views = images if isinstance(images, list) else [images]
            num_samples += len(labels)
            for view in views:
                assert bool(view[:, 0, 0, 0].isfinite().all())
    return 1000 * (cpu_seconds() - began) / num_samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", help="a .dts file, or a folder of class folders")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--views", type=int, default=2)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(1)
    common = {
        "batch_size": options.batch_size,
        "shuffle": True,
        "seed": 0,
        "num_workers": options.num_workers,
    }
    plain = crop(224, (0.08, 1.0))
    large, small = crop(224, (0.4, 1.0)), crop(96, (0.05, 0.4))

    def loader(transform: Any, **more: Any) -> Any:
        return torch_dts.DataLoader(options.data, transform=transform, **common, **more)

    one = loader(plain)
    together = loader(plain, views=options.views)
    multi = loader(Views([large] * 2 + [small] * 6))
    lone = (loader(large), loader(small))
    rows: dict[str, list[float]] = {}
    for number in range(options.rounds + 1):
        found = {
            f"views={options.views}": epoch_ms(together),
            f"{options.views} passes": epoch_ms(one, options.views),
            "multi-crop": epoch_ms(multi),
            "2 + 6 passes": epoch_ms(lone[0], 2) + epoch_ms(lone[1], 6),
        }
        for name, value in found.items():
            if number:  # the first one warms up
                rows.setdefault(name, []).append(value)
    print(machine())
    print(f"CPU ms for each sample, median of {options.rounds} (lowest to highest)")
    for name, values in rows.items():
        print(f"{name:>14}  {statistics.median(values):6.2f}  ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
