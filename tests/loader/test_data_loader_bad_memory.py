# SPDX-License-Identifier: Apache-2.0
"""10 000 damaged, cut and foreign files: memory stays as it was, stderr stays empty."""

from __future__ import annotations

import gc
import io
import pathlib
import resource
from collections.abc import Callable

import numpy as np
import pytest
import torch
from loader_sets import RANDOM, photo
from PIL import Image
from torchvision.datasets import ImageFolder

from torch_dts import _native, transforms
from torch_dts.loader import DataLoader

NUM_SAMPLES = 10_000
MAX_GROWTH_BYTES = 4 << 20
STATM = pathlib.Path("/proc/self/statm")


def memory_bytes() -> int:
    """Resident memory; the highest so far where the system does not tell today's."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def encoded(number: int, kind: str, **how: int | bool) -> bytes:
    stream = io.BytesIO()
    photo(number, (50, 44)).save(stream, kind, **how)
    return stream.getvalue()


def flipped(data: bytes, first: int, last: int, generator: np.random.Generator) -> bytes:
    """Four bytes between two places replaced."""
    damaged = bytearray(data)
    for place in generator.integers(first, last, 4):
        damaged[place] = generator.integers(0, 256)
    return bytes(damaged)


def opens(data: bytes) -> bool:
    try:
        Image.open(io.BytesIO(data)).convert("RGB")
    except Exception:
        return False
    return True


@pytest.fixture(scope="module")
def bad_files() -> list[bytes]:
    """130 of them, no two alike; Pillow makes something of a few."""
    generator = np.random.default_rng(8)
    made = []
    for number in range(10):
        whole = encoded(number, "JPEG", quality=60 + 3 * number, progressive=number % 2 == 1)
        png, gif = encoded(number, "PNG"), encoded(number, "GIF")
        scan = whole.index(b"\xff\xda")
        made += [whole[:place] for place in generator.integers(4, len(whole) - 2, 4)]  # cut
        made += [flipped(whole, 2, scan, generator) for _ in range(3)]  # headers
        made += [flipped(whole, scan, len(whole), generator) for _ in range(2)]  # the scan
        made += [whole[:2] + png, png[: len(png) // 2], gif[: len(gif) // 2]]
        made.append(generator.bytes(300))
    return made


def grown_over(rounds: int, work: Callable[[], None]) -> int:
    """How much memory grows over some rounds, after one quarter as many to get used to it."""
    for _ in range(-(-rounds // 4)):
        work()
    gc.collect()
    before = memory_bytes()
    for _ in range(rounds):
        work()
    gc.collect()
    return memory_bytes() - before


def test_plans_over_bad_files(bad_files: list[bytes], capfd: pytest.CaptureFixture[str]) -> None:
    plan = transforms.compile(RANDOM).plan
    assert plan is not None
    text = plan.encode()
    sizes = torch.tensor([len(data) for data in bad_files])
    arena = torch.frombuffer(bytearray(b"".join(bad_files)), dtype=torch.uint8)
    shapes = torch.zeros(len(bad_files), 3, dtype=torch.int64)
    numbers = torch.arange(len(bad_files))

    def work() -> None:
        images, status = _native.run_plan(
            arena, sizes.cumsum(0) - sizes, sizes, shapes, text, numbers, numbers[:0], 1, 0
        )
        is_bad = status != 0
        assert 60 <= int(is_bad.sum()) < len(bad_files)
        assert not images[is_bad].any()

    assert grown_over(NUM_SAMPLES // len(bad_files) + 1, work) < MAX_GROWTH_BYTES
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")
def test_a_loader_over_bad_files(
    bad_files: list[bytes], tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    for number, data in enumerate(bad_files):
        (tmp_path / "a" / f"{number:03}.jpg").write_bytes(data)
    per_round = NUM_SAMPLES // 10
    order = [number % len(bad_files) for number in range(per_round)]
    loader = DataLoader(ImageFolder(tmp_path, RANDOM), 50, sampler=order, num_workers=0, on_error="replace")
    num_rounds = 0

    def work() -> None:
        nonlocal num_rounds
        num_rounds += 1
        assert sum(labels.numel() for _, labels in loader) == per_round

    # Half as many: nearly all its time is Pillow's. A kilobyte lost with each would be seen.
    assert grown_over(NUM_SAMPLES // per_round // 2, work) < MAX_GROWTH_BYTES
    num_bad = sum(not opens(bad_files[number]) for number in order)
    assert num_bad > per_round // 2
    assert loader.stats().num_replaced == num_rounds * num_bad
    loader.close()
    assert capfd.readouterr() == ("", "")
