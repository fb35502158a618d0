# SPDX-License-Identifier: Apache-2.0
"""What decode="fast" saves, how far its pixels are from the exact ones, and what training makes of that.

    python fast_decode.py speed train.dts [--sizes 224 96 64] [--rounds 5] [--num-workers 1]
    python fast_decode.py pixels train.dts [--sizes 224 96 64] [--images 300]
    python fast_decode.py train folder [--size 64] [--epochs 6] [--seeds 3]

`speed` runs RandomResizedCrop, flip and uint8 epochs of both kinds in turns. `pixels` compares the same
crops of both, in levels of 255. `train` takes ``folder/train`` and ``folder/val`` (folders of classes),
trains a small network with each kind from the same seeds, and evaluates all of them on exact pixels.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import statistics
from collections.abc import Sequence

import torch
from measuring import Contestant, in_turns, machine, table
from torch import Tensor, nn
from torchvision.transforms import v2

import torch_dts
from torch_dts.transforms import compile

DECODES = ("exact", "fast")


def crop(size: int) -> v2.Compose:
    """The usual training crop, as bytes."""
    return v2.Compose([v2.RandomResizedCrop(size), v2.RandomHorizontalFlip(), v2.ToImage()])


def measured(path: str, size: int, rounds: int, num_workers: int) -> list[Contestant]:
    """Epochs of both kinds, in turns."""

    def contestant(decode: str) -> Contestant:
        loader = torch_dts.DataLoader(
            path, 64, transform=crop(size), seed=0, num_workers=num_workers, decode=decode, shuffle=True
        )
        return Contestant(f"{size} x {size}, {decode}", lambda: sum(len(labels) for _, labels in loader))

    contestants = [contestant(decode) for decode in DECODES]
    in_turns(contestants, rounds)
    return contestants


@dataclasses.dataclass
class Difference:
    """Pixels of crops, fast against exact, in levels of 255.

    Attributes:
        num_crops, num_scaled: All of them, and those that differ at all.
        mean: Absolute, over the crops that differ.
        per_mille: 99.9 % of these values differ by no more.
        largest: The largest difference of a value.
        worst_mean: The mean of the crop that differs most.
    """

    num_crops: int
    num_scaled: int
    mean: float
    per_mille: int
    largest: int
    worst_mean: float

    def __str__(self) -> str:
        return (
            f"{self.num_scaled} of {self.num_crops} crops decoded smaller: mean difference {self.mean:.2f}, "
            f"99.9 % within {self.per_mille}, largest {self.largest}, worst crop's mean {self.worst_mean:.2f}"
        )


def difference(samples: Sequence[bytes], size: int, num_epochs: int = 1) -> Difference:
    """Compares `num_epochs` crops of each encoded image."""
    exact, fast = (compile(crop(size), decode=decode) for decode in DECODES)
    counts = torch.zeros(256, dtype=torch.int64)
    means: list[float] = []
    for epoch in range(num_epochs):
        for first in range(0, len(samples), 64):
            chosen = samples[first : first + 64]
            numbers = range(first, first + len(chosen))
            pair = (run(chosen, epoch=epoch, indices=numbers).int() for run in (exact, fast))
            for apart in _absolute(*pair):
                means.append(float(apart.float().mean()))
                if means[-1] > 0:
                    counts += torch.bincount(apart.flatten(), minlength=256)
    scaled = [mean for mean in means if mean > 0]
    if not scaled:
        return Difference(len(means), 0, 0.0, 0, 0, 0.0)
    within = counts.cumsum(0).double() / counts.sum()
    return Difference(
        len(means),
        len(scaled),
        statistics.fmean(scaled),
        int((within < 0.999).sum()),
        int(counts.nonzero().max()),
        max(scaled),
    )


def _absolute(exact: Tensor, fast: Tensor) -> Tensor:
    return (exact - fast).abs()


class SmallNet(nn.Sequential):
    """Four convolutions, of which each halves the image."""

    def __init__(self, num_classes: int) -> None:
        layers: list[nn.Module] = []
        before = 3
        for channels in (24, 48, 96, 128):
            layers += [nn.Conv2d(before, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
            before = channels
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, num_classes))


def _floats(*geometry: v2.Transform) -> v2.Compose:
    tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.45] * 3, [0.25] * 3)]
    return v2.Compose([*geometry, *tail])


def accuracy_of(folder: str, decode: str, seed: int, size: int, epochs: int) -> float:
    """Trains with one kind of pixels; the share of right answers for exact ones."""
    train = torch_dts.DataLoader(
        os.path.join(folder, "train"),
        64,
        shuffle=True,
        drop_last=True,
        transform=_floats(v2.RandomResizedCrop(size), v2.RandomHorizontalFlip()),
        seed=seed,
        decode=decode,
    )
    whole = _floats(v2.Resize(size * 9 // 8), v2.CenterCrop(size))
    val = torch_dts.DataLoader(os.path.join(folder, "val"), 64, transform=whole)
    torch.manual_seed(seed)
    net = SmallNet(len(os.listdir(os.path.join(folder, "val"))))
    optimizer = torch.optim.AdamW(net.parameters(), 4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, max(2, epochs * len(train)))
    for _ in range(epochs):
        for images, labels in train:
            loss = nn.functional.cross_entropy(net(images), labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()
    right = total = 0
    with torch.inference_mode():
        for images, labels in val:
            right += int((net(images).argmax(1) == labels).sum())
            total += len(labels)
    return right / total


def trained(folder: str, size: int, epochs: int, num_seeds: int) -> dict[str, list[float]]:
    """Accuracies of each kind, of seed after seed."""
    found: dict[str, list[float]] = {decode: [] for decode in DECODES}
    for seed in range(num_seeds):
        for decode in DECODES:
            found[decode].append(accuracy_of(folder, decode, seed, size, epochs))
    return found


def training_table(found: dict[str, list[float]]) -> str:
    lines = []
    for decode, values in found.items():
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        each = " ".join(f"{100 * value:.1f}" for value in values)
        lines.append(f"{decode:<8}{100 * statistics.fmean(values):6.1f} +- {100 * spread:.1f} %   ({each})")
    apart = [100 * (fast - exact) for exact, fast in zip(found["exact"], found["fast"], strict=True)]
    lines.append(f"fast - exact, seed by seed: {statistics.fmean(apart):+.1f} points on average")
    return "\n".join(lines)


def samples_of(path: str, count: int) -> list[bytes]:
    """The first JPEGs of a .dts file or a folder."""
    if path.endswith(".dts"):
        with torch_dts.open(path) as file:
            return [bytes(file.read(i)) for i in range(min(count, len(file)))]
    found = sorted(p for p in pathlib.Path(path).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    return [p.read_bytes() for p in found[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("speed", "pixels", "train"))
    parser.add_argument("path")
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 96, 64])
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print(machine())
    if args.what == "train":
        print(training_table(trained(args.path, args.size, args.epochs, args.seeds)))
        return
    for size in args.sizes:
        if args.what == "speed":
            print(table(measured(args.path, size, args.rounds, args.num_workers)))
        else:
            samples = samples_of(args.path, args.images)
            print(f"{size} x {size}: {difference(samples, size, args.rounds)}")


if __name__ == "__main__":
    main()
