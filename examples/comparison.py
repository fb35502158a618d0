# SPDX-License-Identifier: Apache-2.0
"""Several ways to read one set, measured in turns under the same load (used by demo.py)."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader


def make_model(num_classes: int) -> nn.Module:
    """A small CNN; always the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise((3, 16, 32, 64)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes))


class Contestant:
    """One way to read, its model, and what was measured of it."""

    def __init__(self, name: str, loader: DataLoader[tuple[Tensor, Tensor]], num_classes: int) -> None:
        self.name = name
        self.losses: list[float] = []
        self.load_rates: list[float] = []
        self.train_rates: list[float] = []
        self._loader = loader
        self._model = make_model(num_classes)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=3e-3)
        self._batches = self._endless()

    def _endless(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from self._loader

    def drain(self) -> None:
        """Takes the batches that the workers made ahead while others had their turn."""
        for _ in range(max(1, self._loader.num_workers * (self._loader.prefetch_factor or 0))):
            next(self._batches)

    def load(self, num_batches: int) -> None:
        """Only reads; every batch is touched."""
        start, num_images = time.perf_counter(), 0
        for _ in range(num_batches):
            images, _ = next(self._batches)
            num_images += int(images[:, 0, 0, 0].isfinite().sum())
        self.load_rates.append(num_images / (time.perf_counter() - start))

    def train(self, num_steps: int) -> None:
        """Reads and trains."""
        start, num_images = time.perf_counter(), 0
        for _ in range(num_steps):
            images, labels = next(self._batches)
            # A batch of one has no variance for BatchNorm to use.
            self._model.train(len(images) > 1)
            loss = nn.functional.cross_entropy(self._model(images), labels)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            self.losses.append(loss.item())
            num_images += len(images)
        self.train_rates.append(num_images / (time.perf_counter() - start))

    def line(self) -> str:
        """Name, medians of loading and training in images/s, loss at the start and at the end."""
        part = max(1, len(self.losses) // 5)
        first, last = statistics.fmean(self.losses[:part]), statistics.fmean(self.losses[-part:])
        rates = f"{statistics.median(self.load_rates):9.0f} {statistics.median(self.train_rates):9.0f}"
        return f"{self.name:<20}{rates}   {first:.3f} -> {last:.3f}"


def run_in_turns(contestants: list[Contestant], num_rounds: int, steps_per_round: int) -> None:
    """Each round every contestant loads and trains, another one first each time."""
    for contestant in contestants:  # starts the workers, warms the page cache
        contestant.drain()
    for round_number in range(num_rounds):
        shift = round_number % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            contestant.drain()
            contestant.load(steps_per_round)
            contestant.train(steps_per_round)
        print(f"round {round_number + 1} of {num_rounds} done", flush=True)
