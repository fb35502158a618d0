#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""``DataLoader(backend="dali")`` on the CPU beside a plain DALI pipeline over the same files, in turns.

    python examples/benchmarks/dali_backend.py DATA [--rounds 3] [--num-workers 2] [--batch-size 256]

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py). The work is
RandomResizedCrop(224), flip, ToTensor, Normalize to float32. Beside the two epochs it tells what
handing a batch over to DALI costs: reading the outlines, feeding and scheduling.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from contestants import entry
from contestants.work import Work, epoch_of, make_transform, run_of
from measuring import Contestant, in_turns, machine, table
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts.backends import _dali_engine
from torch_dts.backends._dali_pipeline import DaliPipeline


@contextmanager
def feeding_times() -> Iterator[list[float]]:
    """CPU seconds of the thread for each part of a batch's way to DALI, while this is open."""
    times: list[float] = []
    read, submit = _dali_engine.read_outlines, DaliPipeline.submit

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            began = time.thread_time()
            result = work(*given)
            times.append(time.thread_time() - began)
            return result

        return run

    _dali_engine.read_outlines, DaliPipeline.submit = timed(read), timed(submit)
    try:
        yield times
    finally:
        _dali_engine.read_outlines, DaliPipeline.submit = read, submit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--image-size", type=int, default=224)
    given = parser.parse_args()
    print(machine())
    missing = entry("dali").missing()
    if missing is not None:
        raise SystemExit(f"DALI is not installed: {missing}")
    work = Work(given.data, "", given.batch_size, given.image_size, given.num_workers)
    plain = run_of(entry("dali").load().start("dali", work))
    loader = torch_dts.DataLoader(
        ImageFolder(given.data, make_transform(given.image_size)),
        batch_size=given.batch_size,
        shuffle=True,
        num_workers=given.num_workers,
        backend="dali",
    )
    contestants = [
        Contestant("plain DALI pipeline, CPU", plain),
        Contestant("ours, backend='dali', CPU", epoch_of(loader)),
    ]
    with feeding_times() as times:
        in_turns(contestants, given.rounds)
    print(table(contestants))
    num_batches = len(times) // 2
    print(
        f"handing over: {1000 * sum(times) / num_batches:.2f} ms of CPU time per batch, {num_batches} batches"
    )


if __name__ == "__main__":
    main()
