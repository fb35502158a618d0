# SPDX-License-Identifier: Apache-2.0
"""``torch-dts bench``: how fast a data set loads here, what limits, and what would help."""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from torch_dts._paths import display
from torch_dts._progress import told_when_slow
from torch_dts._words import num_of
from torch_dts.cli._augment import PRESETS, load_transform
from torch_dts.cli._bench_advice import advise
from torch_dts.cli._bench_digest import Digest, digest_epoch
from torch_dts.cli._bench_exports import measure_exports
from torch_dts.cli._bench_figures import Figures, Rate, as_dict
from torch_dts.cli._bench_measure import measure_disk, measure_rate
from torch_dts.cli._bench_set import BenchSet
from torch_dts.cli._options import number_of, worker_count
from torch_dts.cli._output import emit, flush, human_bytes, two_columns
from torch_dts.loader import DataLoader
from torch_dts.loader._memory import available_bytes
from torch_dts.loader._threads import default_num_workers
from torch_dts.transforms._read import read

_SECONDS = 20.0
_DTYPES = {"uint8": torch.uint8, "float32": torch.float32, "float16": torch.float16}
# Parts of the time; what is not asked for leaves its part to the threads.
_DISK_SHARE, _EXPORT_SHARE, _CONSUMER_SHARE = 0.15, 0.15, 0.2

_EPILOG = """\
examples:
  torch-dts bench train.dts
  torch-dts bench photos/train               a folder of images, as ImageFolder takes it
  torch-dts bench train.dts --transform train.py:transform --batch-size 128
  torch-dts bench train.dts --consumer 1500  beside a model that takes 1500 images/s
  torch-dts bench train.dts --digest --epochs 2 --seed 1
                                             a hash of all that two epochs deliver: the same on
                                             all machines, for any number of threads
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "bench",
        help="measure how fast a file or folder loads here, and what would help",
        description="Measure how fast a .dts file or a folder of images loads on this machine: images a "
        "second by number of threads, the disk, what limits, and what would help. Nothing is written. "
        "Parts of the data are dropped from the page cache and read again.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "file",
        metavar="PATH",
        help="a .dts file; a set of volumes, by its first file, its folder or a quoted glob; or a folder "
        "with one sub-folder of images per class",
    )
    add("--batch-size", type=number_of(1), default=256, metavar="N", help="images a batch (default: 256)")
    add(
        "--num-workers",
        type=worker_count,
        metavar="N",
        help="threads, as the DataLoader's (default: one for each usable CPU); 1, 2, 4 ... are tried, too",
    )
    add(
        "--transform",
        metavar="TRANSFORM",
        help=f"what is done to the images: {', '.join(PRESETS)}, or one of your own as module:object or "
        "file.py:object, which is imported (default: imagenet; cifar for pixel files)",
    )
    add("--size", type=number_of(1), metavar="PIXELS", help="side of the result of imagenet ... cifar")
    add("--dtype", choices=sorted(_DTYPES), help="of the batches (default: as the transform gives)")
    add(
        "--mode",
        choices=("auto", "fully", "partial"),
        default="auto",
        help="where the data are kept, as the DataLoader's (default: auto)",
    )
    add(
        "--seconds",
        type=_positive,
        default=_SECONDS,
        metavar="S",
        help=f"how long to measure, about (default: {_SECONDS:g})",
    )
    add(
        "--consumer",
        type=_positive,
        metavar="RATE",
        help="images a second that the model takes: shows how much it would wait",
    )
    add("--digest", action="store_true", help="print one hash of all batches of each epoch, measure nothing")
    add("--epochs", type=number_of(1), metavar="N", help="with --digest, how many epochs (default: 1)")
    add("--seed", type=int, metavar="N", help="with --digest, of order and random choices (default: 0)")
    add(
        "--shuffle-window",
        type=_window,
        metavar="N|all",
        help="with --digest, blocks whose samples are mixed (default: 16)",
    )
    add("--num-replicas", type=number_of(1), metavar="R", help="with --digest, ranks that share the set")
    add("--rank", type=number_of(0), metavar="I", help="with --digest, which of them, from 0")
    add("--json", action="store_true", help="print everything as one JSON object")


def _positive(text: str) -> float:
    """An argument type: a number above 0."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _window(text: str) -> int | str:
    """An argument type: "all" or a number above 0."""
    return text if text == "all" else number_of(1)(text)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code."""
    if not args.digest:
        for name in ("epochs", "seed", "shuffle_window", "num_replicas", "rank"):
            if getattr(args, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} belongs to --digest, which is missing")
    elif args.consumer is not None:
        raise ValueError("--digest measures nothing: leave --consumer out")
    name = args.transform
    transform = None if name is None else load_transform(name, args.size)
    data = BenchSet(args.file)
    try:
        if transform is None:
            name = "cifar" if data.kind == "pixels" else "imagenet"
            transform = load_transform(name, args.size)
        with warnings.catch_warnings():
            # Why Python does the work is part of the advice.
            warnings.filterwarnings("ignore", message="this DataLoader works as torch")
            warnings.filterwarnings("ignore", message="This DataLoader will create")
            if args.digest:
                _print_digests(args, data, transform)
            else:
                _measure_and_print(args, data, transform, name)
    finally:
        data.close()
    return 0


def _loader(args: argparse.Namespace, data: BenchSet, transform: Any, **more: Any) -> DataLoader:
    return DataLoader(
        data.dataset,
        transform=transform,
        batch_size=args.batch_size,
        mode=args.mode,
        dtype=_DTYPES.get(args.dtype),
        **more,
    )


def _print_digests(args: argparse.Namespace, data: BenchSet, transform: Any) -> None:
    loader = _loader(
        args,
        data,
        transform,
        num_workers=args.num_workers,
        shuffle=True,
        seed=args.seed or 0,
        shuffle_window=args.shuffle_window or 16,
        num_replicas=args.num_replicas,
        rank=args.rank,
    )
    found: list[Digest] = []
    try:
        for epoch in range(args.epochs or 1):
            loader.set_epoch(epoch)
            found.append(digest_epoch(loader))
            if not args.json:
                emit(f"epoch {epoch}  {found[-1].sha256}  {num_of(found[-1].num_images, 'image')}")
                flush()
    finally:
        loader.close()
        if args.json:
            emit(json.dumps({"digests": [digest._asdict() for digest in found]}, indent=2))


def _measure_and_print(args: argparse.Namespace, data: BenchSet, transform: Any, name: str) -> None:
    cpus = default_num_workers()
    figures = Figures(
        path=display(args.file),
        kind=data.kind,
        num_samples=data.num_samples,
        total_bytes=data.total_bytes,
        level=data.level,
        has_restart_markers=data.has_restart_markers,
        num_cpus=cpus,
        available_bytes=available_bytes(),
        mode=args.mode,
        batch_size=args.batch_size,
        transform=name,
        num_workers=cpus if args.num_workers is None else args.num_workers,
        consumer_rate=args.consumer,
    )
    try:
        _measure(args, data, transform, figures)
    except KeyboardInterrupt:
        figures.is_interrupted = True
        raise
    finally:
        _print(args, figures)


def _measure(args: argparse.Namespace, data: BenchSet, transform: Any, figures: Figures) -> None:
    """Fills in the figures, so that those there are remain when it is interrupted."""
    started = time.perf_counter()
    reading = read(transform, source_channels=data.image_channels)
    figures.python_reason = reading.reason
    is_native = reading.plan is not None
    with told_when_slow("measuring the disk"):
        pieces, num_threads = data.pieces()
        figures.disk = measure_disk(pieces, _DISK_SHARE * args.seconds, num_threads)
    left = args.seconds * (1 - _EXPORT_SHARE) - (time.perf_counter() - started)
    counts = thread_counts(figures.num_workers, figures.num_cpus)
    share = left * (1 - _CONSUMER_SHARE * (args.consumer is not None)) / len(counts)
    for count in counts:
        rate = _run_loader(args, data, transform, count, max(0.1, share), is_native, None)
        figures.rates.append(rate)
    figures.rates.sort(key=lambda rate: rate.num_workers)
    if args.consumer is not None:
        figures.consumer = _run_loader(
            args, data, transform, figures.num_workers, _CONSUMER_SHARE * left, is_native, args.consumer
        )
    if reading.plan is not None:
        with told_when_slow("trying other ways to store the images"):
            figures.exports = measure_exports(
                data.samples(),
                reading.plan.encode(_DTYPES.get(args.dtype)),
                data.level or 0,
                bool(data.has_restart_markers),
                _EXPORT_SHARE * args.seconds / 2,
            )


def thread_counts(num_workers: int, num_cpus: int) -> list[int]:
    """The numbers of threads to try: that asked for first, then 1, 2, 4 ... up to the CPUs."""
    found = {num_workers: None}
    count = 1
    while count <= num_cpus:
        found[count] = None
        count *= 2
    found[num_cpus] = None
    return list(found)


def _run_loader(
    args: argparse.Namespace,
    data: BenchSet,
    transform: Any,
    num_workers: int,
    seconds: float,
    is_native: bool,
    consumer_rate: float | None,
) -> Rate:
    loader = _loader(args, data, transform, num_workers=num_workers, shuffle=True, seed=0)
    try:
        with told_when_slow(f"measuring {num_of(num_workers, 'thread')}"):
            return measure_rate(loader, seconds, consumer_rate, is_native)
    finally:
        loader.close()


def _print(args: argparse.Namespace, figures: Figures) -> None:
    advice = advise(figures)
    if args.json:
        emit(json.dumps({**as_dict(figures), "advice": advice}, indent=2, allow_nan=False))
        return
    emit(two_columns(_rows(figures)))
    if figures.rates:
        emit("\n" + "\n".join(_table(figures)))
    if advice:
        emit("\n" + "\n".join(advice))


def _rows(figures: Figures) -> Iterator[tuple[str, str]]:
    kinds = {"folder": "folder of images", "pixels": "pixel file"}
    kind = kinds.get(figures.kind, f".dts file, level {figures.level}")
    if figures.has_restart_markers:
        kind += ", with restart markers"
    yield "data", f"{figures.path} ({kind})"
    size = f"{human_bytes(figures.mean_bytes)} on average"
    yield "samples", f"{figures.num_samples:,}, {size}, {human_bytes(figures.total_bytes)} together"
    yield "work", f"{figures.transform}, batches of {figures.batch_size}, mode {figures.mode}"
    yield "CPUs", str(figures.num_cpus)
    if figures.disk is not None:
        disk = f"only {human_bytes(figures.disk.num_bytes)} read: too little to tell"
        if figures.disk_images_per_s is not None:
            disk = f"{figures.disk.bytes_per_s / 1e6:,.0f} MB/s not cached, enough for "
            disk += f"{figures.disk_images_per_s:,.0f} images/s"
        yield "disk", disk
    if figures.chosen is not None:
        yield "first batch", f"after {figures.chosen.first_batch_seconds:.2f} s"
        yield "limit", figures.chosen.bottleneck


def _table(figures: Figures) -> Iterator[str]:
    yield "threads  images/s  CPU ms/image  MB/s read"
    for rate in figures.rates:
        cpu = "-" if rate.cpu_ms is None else f"{rate.cpu_ms:.2f}"
        row = f"{rate.num_workers:>7}  {rate.images_per_s:>8,.0f}  {cpu:>12}"
        yield f"{row}  {rate.read_bytes_per_s / 1e6:>9,.0f}"
    if figures.consumer is not None:
        waits = f"{100 * figures.consumer.wait_share:.1f} % of the time waiting"
        yield f"beside a model of {figures.consumer_rate:,.0f} images/s: {waits}"
