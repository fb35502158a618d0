#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that has to be seen on a GPU, in one run of a few minutes: what is right, and how fast it is.

    python examples/benchmarks/gpu.py                    # with pictures of its own
    python examples/benchmarks/gpu.py --data train       # throughput on your own

First the checks of `gpu_checks.py`; then the bandwidth of fused_normalize beside a copy on the device,
images per second of the back ends beside the rate of the CPU alone, the bandwidth of the copy to the
device and DALI's own reader pipeline, and how much of that copy is hidden behind the consumer's kernels,
from a trace. DALI is left out where it isn't installed. What can't begin within `--minutes` is left out.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import torch
from gpu_checks import CHECKS, MEAN, STD, training_transform
from gpu_dali import reader_pipeline, reader_rate
from measuring import machine
from synthetic_photos import make_folder

import torch_dts
from torch_dts import _native

Row = tuple[str, str]
CPU, DALI = "cpu back end, on the CPU", "dali back end, device=cuda"
READER = "DALI's own reader pipeline"


def seconds_of(work: Callable[[], Any], repeats: int) -> float:
    """On the device, of one call."""
    work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000 / repeats


def copy_bandwidth(num_bytes: int = 256 << 20) -> tuple[float, float]:
    """Bytes per second to the device, and read plus written on the device."""
    host = torch.empty(num_bytes, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(num_bytes, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(there)
    to_device = num_bytes / seconds_of(lambda: there.copy_(host, non_blocking=True), 10)
    return to_device, 2 * num_bytes / seconds_of(lambda: other.copy_(there), 50)


def normalize_rows(on_device: float) -> list[Row]:
    """Bandwidth of the kernel, read plus written, and its share of a copy's."""
    images = torch.randint(0, 256, (256, 224, 224, 3), dtype=torch.uint8, device="cuda")
    numbers = torch.tensor(MEAN), torch.tensor(STD)
    rows = []
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for channels_last in (False, True):
            for pad_channels in (0, 4):
                if pad_channels and not channels_last:
                    continue
                result = _native.fused_normalize(
                    images, None, *numbers, dtype, channels_last, pad_channels=pad_channels
                )
                moved = images.numel() + result.numel() * result.element_size()
                del result
                seconds = seconds_of(
                    lambda d=dtype, c=channels_last, p=pad_channels: _native.fused_normalize(
                        images, None, *numbers, d, c, pad_channels=p
                    ),
                    50,
                )
                kind = ("NHWC" if channels_last else "NCHW") + (", 4 channels" if pad_channels else "")
                rate = moved / seconds
                rows.append(
                    (
                        f"fused_normalize {dtype} {kind}",
                        f"{rate / 1e9:.0f} GB/s, {versus(rate, on_device, 'a copy', 0.8)}",
                    )
                )
    return rows


def images_per_second(loader: Any, seconds: float) -> float:
    """Of whole epochs behind a first one, until the time is over."""
    for _ in loader:
        pass
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        for images, _ in loader:
            count += len(images)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return count / (spent if count == 0 else time.perf_counter() - began)


def versus(rate: float, other: float, of: str, goal: float) -> str:
    """A share of something, and whether it is as large as it should be."""
    return f"{rate / other:.0%} of {of} (goal {goal:.0%}: {'met' if rate >= goal * other else 'missed'})"


def loader_rows(
    path: pathlib.Path, batch_size: int, seconds: float, to_device: float, rates: dict[str, float]
) -> Iterator[Row]:
    """Images per second of each back end, beside the CPU's alone and the copy's bandwidth.

    Args:
        rates: Is given each back end's images per second.
    """
    how: dict[str, Any] = {
        "batch_size": batch_size,
        "shuffle": True,
        "transform": training_transform(224),
        "dtype": torch.float16,
    }
    kinds: dict[str, dict[str, Any]] = {
        CPU: {},
        "cpu back end, device=cuda": {"device": "cuda"},
        "cpu back end, device=cuda, channels_last, 4 channels": {
            "device": "cuda",
            "memory_format": torch.channels_last,
            "pad_channels": 4,
        },
        DALI: {"device": "cuda", "backend": "dali"},
    }
    for name, arguments in kinds.items():
        try:
            loader = torch_dts.DataLoader(path, **{**how, **arguments})
        except ImportError as error:
            yield name, left_out(error)
            continue
        rate = rates[name] = images_per_second(loader, seconds)
        num_redone = loader.stats().num_redone
        loader.close()
        text = f"{rate:.0f} images/s"
        if "device" in arguments and "backend" not in arguments:
            text += f", {versus(rate, rates[CPU], 'the CPU alone', 0.95)}"
            text += f", {rate * 3 * 224 * 224 / to_device:.1%} of the copy's bandwidth"
        yield name, text + (f", {num_redone} batches made by the CPU" if num_redone else "")


def reader_rows(
    folder: pathlib.Path, batch_size: int, seconds: float, rates: dict[str, float], on_gpu: bool = True
) -> Iterator[Row]:
    """Images per second of DALI's own reader pipeline, and of its decoder alone."""
    num_threads = len(os.sched_getaffinity(0))
    for name, decodes_only in ((READER, False), ("DALI's reader and decoder alone", True)):
        try:
            built = reader_pipeline(str(folder), batch_size, num_threads, 224, on_gpu, decodes_only)
        except ImportError as error:
            yield name, left_out(error)
            continue
        rate = rates[name] = reader_rate(built, batch_size, seconds)
        del built
        text = f"{rate:.0f} images/s"
        if name == READER and DALI in rates:
            text += f"; the dali back end makes {versus(rates[DALI], rate, 'it', 0.9)}"
        yield name, text


def left_out(error: ImportError) -> str:
    return f"left out: {str(error).splitlines()[0][:70]}"


def overlap_row(path: pathlib.Path, batch_size: int) -> Row:
    """How much of the copies to the device runs while kernels of the consumer do."""
    name = "copies hidden behind the consumer's kernels"
    loader = torch_dts.DataLoader(path, batch_size, transform=training_transform(224), device="cuda")
    weights = torch.randn(8192, 8192, device="cuda")
    for _ in loader:
        break
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for number, (images, _) in enumerate(loader):
            for _ in range(30):
                weights = weights @ weights * 1e-4
            images.sum()
            if number == 10:
                break
        torch.cuda.synchronize()
    loader.close()
    on_device = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    copies = [e.time_range for e in on_device if "HtoD" in e.name and e.time_range.elapsed_us() > 50]
    kernels = [e.time_range for e in on_device if "Mem" not in e.name and "normalize" not in e.name]
    total = sum(copy.elapsed_us() for copy in copies)
    if not total:
        return name, "the trace shows no copy"
    hidden = sum(min(covered(copy.start, copy.end, kernels), copy.elapsed_us()) for copy in copies)
    return name, f"{hidden / total:.0%} of {total / 1000:.1f} ms in {len(copies)} copies"


def covered(start: float, end: float, ranges: Sequence[Any]) -> float:
    """The time between two moments in which any of the ranges runs."""
    total, at = 0.0, start
    for one in sorted(ranges, key=lambda r: r.start):
        begin, finish = max(at, one.start), min(end, one.end)
        if finish > begin:
            total += finish - begin
            at = finish
    return total


def run_checks(path: pathlib.Path) -> tuple[list[Row], bool]:
    """A row for each check, and whether all hold."""
    rows, all_hold = [], True
    for name, check in CHECKS.items():
        began = time.perf_counter()
        try:
            told = check(path)
        except Exception as error:  # the others are to be seen, too
            all_hold = False
            told = f"FAILED: {type(error).__name__}: {error}"
        rows.append((name, f"{told} ({time.perf_counter() - began:.1f} s)"))
        print(f"  {rows[-1][0]:45} {rows[-1][1]}", flush=True)
    return rows, all_hold


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    add = parser.add_argument
    add(
        "--data",
        help="a .dts file or a folder for the throughput (default: pictures made here)",
    )
    add("--pictures", type=int, default=600, help="how many to make")
    add("--batch-size", type=int, default=128)
    add("--seconds", type=float, default=10.0, help="of each measurement of throughput")
    add("--minutes", type=float, default=7.0, help="what has not begun by then is left out")
    arguments = parser.parse_args(given)
    if not torch.cuda.is_available():
        print("gpu.py: torch finds no CUDA device here; nothing was run")
        return 1
    end = time.perf_counter() + 60 * arguments.minutes
    print(f"{machine()}, {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        photos = pathlib.Path(folder) / "photos"
        make_folder(photos, arguments.pictures)
        small = pathlib.Path(torch_dts.convert(photos, pathlib.Path(folder) / "photos.dts", progress=False))
        data = pathlib.Path(arguments.data) if arguments.data else small
        files = photos if data is small else data
        print("\nchecks", flush=True)
        _, all_hold = run_checks(small)
        print("\nmeasurements", flush=True)
        to_device, on_device = copy_bandwidth()
        show(("copy to the device", f"{to_device / 1e9:.1f} GB/s"))
        show(("copy on the device, read + written", f"{on_device / 1e9:.0f} GB/s"))
        rates: dict[str, float] = {}
        size, seconds = arguments.batch_size, arguments.seconds
        show_all(normalize_rows(on_device), end)
        show_all(loader_rows(data, size, seconds, to_device, rates), end)
        if files.is_dir():
            show_all(reader_rows(files, size, seconds, rates), end)
        else:
            show((READER, "left out: it reads folders, give one as --data"))
        show_all((overlap_row(data, size) for _ in range(1)), end)
    print("\nall checks hold" if all_hold else "\nsome checks FAILED", flush=True)
    return 0 if all_hold else 1


def show(row: Row) -> None:
    print(f"  {row[0]:55} {row[1]}", flush=True)


def show_all(rows: Iterable[Row], end: float) -> None:
    """Prints rows as they are made; none is begun when the time is over."""
    made = iter(rows)
    while time.perf_counter() < end:
        row = next(made, None)
        if row is None:
            return
        show(row)
    show(("the time is over", "what follows here was left out; --minutes gives more"))


if __name__ == "__main__":
    sys.exit(main())
