# SPDX-License-Identifier: Apache-2.0
"""Some images stored in other ways, in memory, and decoded: what converting them would bring."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts.cli._bench_figures import Export, Exports
from torch_dts.convert._level_recoder import LevelRecoder
from torch_dts.convert._recode import Recoder
from torch_dts.convert._restart_recoder import RestartRecoder

MOST_IMAGES = 48
MOST_BYTES = 64 << 20
_LEAST_ROUNDS, _MOST_ROUNDS = 3, 30
_JPEG, _OK = 1, 0


@dataclass(frozen=True)
class _Stored:
    """Samples in memory: uint8 bytes, and int64 [n] of places and sizes."""

    arena: Tensor
    offsets: Tensor
    sizes: Tensor

    @staticmethod
    def of(samples: Sequence[bytes | memoryview]) -> _Stored:
        sizes = torch.tensor([len(sample) for sample in samples])
        arena = torch.frombuffer(bytearray(b"".join(samples)), dtype=torch.uint8)
        return _Stored(arena, sizes.cumsum(0) - sizes, sizes)


def measure_exports(
    samples: Sequence[bytes | memoryview],
    plan: str,
    level: int,
    has_restart_markers: bool,
    seconds: float,
) -> Exports | None:
    """Decodes JPEGs as they are, and as `torch_dts.convert` would store them.

    Args:
        samples: Encoded images; those that are no JPEG which native code decodes are passed over.
        plan: What is done to them, as native code takes it.
        level: That they have; only higher ones are tried.
        has_restart_markers: They have them already.
        seconds: For the decoding; each way gets at least three rounds.

    Returns:
        None where there is no sample to try.
    """
    samples = _usable(samples, plan)
    if not samples:
        return None
    source = _Stored.of(samples)
    scanned = _native.scan_samples(source.arena, source.offsets, source.sizes)
    ways: list[tuple[str, bool, Recoder]] = []
    if level == 0 and not has_restart_markers:
        ways.append(("--restart-interval auto", True, RestartRecoder("auto", "needed")))
    ways += [
        (f"--level {each}", False, LevelRecoder(each, "auto", num_workers=1)) for each in range(level + 1, 4)
    ]
    trials = [source]
    for _, _, recoder in ways:
        try:
            made = recoder.recode(source.arena, source.offsets, source.sizes)
        finally:
            recoder.close()
        # a bad one is not stored: its place is kept by what it was
        trials.append(_Stored.of([each.data or sample for each, sample in zip(made, samples, strict=True)]))
    times = _decode_in_turns(trials, plan, seconds)
    others = [
        Export(options, is_lossless, cpu_ms, int(trial.sizes.sum()) / int(source.sizes.sum()))
        for (options, is_lossless, _), trial, cpu_ms in zip(ways, trials[1:], times[1:], strict=True)
    ]
    short_side = float(scanned[:, 1:3].min(1).values.double().mean())
    return Exports(len(samples), times[0], short_side, tuple(others))


def _usable(samples: Sequence[bytes | memoryview], plan: str) -> list[bytes | memoryview]:
    samples = [sample for sample in samples if len(sample)]
    if not samples:
        return []
    stored = _Stored.of(samples)
    kinds = _native.scan_samples(stored.arena, stored.offsets, stored.sizes)[:, 0]
    _, status = _run(stored, plan, 0)
    return [
        sample
        for sample, kind, code in zip(samples, kinds.tolist(), status.tolist(), strict=True)
        if kind == _JPEG and code == _OK
    ]


def _decode_in_turns(trials: Sequence[_Stored], plan: str, seconds: float) -> list[float]:
    """Milliseconds of CPU time an image, for each: the median of rounds in which each has its turn."""
    found: list[list[float]] = [[] for _ in trials]
    stop = time.perf_counter() + seconds
    for round_number in range(_MOST_ROUNDS):
        if round_number >= _LEAST_ROUNDS and time.perf_counter() > stop:
            break
        for trial, times in zip(trials, found, strict=True):
            cpu = time.process_time()
            _run(trial, plan, round_number)
            times.append(1e3 * (time.process_time() - cpu) / trial.sizes.numel())
    return [statistics.median(times) for times in found]


def _run(stored: _Stored, plan: str, epoch: int) -> tuple[Tensor, Tensor]:
    """All samples, with the random choices of an epoch: the same for each way to store them."""
    count = stored.sizes.numel()
    return _native.run_plan(
        stored.arena,
        stored.offsets,
        stored.sizes,
        torch.zeros(count, 3, dtype=torch.int64),
        plan,
        torch.arange(count),
        torch.zeros(count, dtype=torch.int64),
        0,
        epoch,
    )
