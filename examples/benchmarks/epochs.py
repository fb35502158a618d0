#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Epochs of a set in all its forms: the tables of the article that described the format, and more.

    python examples/benchmarks/epochs.py load         --data DATA --work WORK   # reading without decoding
    python examples/benchmarks/epochs.py pipeline     --data DATA --work WORK   # decoded, cropped, normalized
    python examples/benchmarks/epochs.py totals       --data DATA --work WORK   # 100 epochs
    python examples/benchmarks/epochs.py small-memory --data DATA --work WORK   # a set 4 times memory
    python examples/benchmarks/epochs.py syscalls     --data DATA --work WORK   # per 1000 samples
    python examples/benchmarks/epochs.py waiting      --data DATA --work WORK   # share of a consumer's time
    python examples/benchmarks/epochs.py all          --data DATA --work WORK --json FOLDER

DATA is a folder of class folders of JPEGs (make one with make_imagenet_like.py). WORK keeps what is made
from it: levels 0 to 3, and MNIST, CIFAR-10 and CIFAR-100 with random pixels unless --pixel-data has the real
ones. Validation is every tenth image, unless --val is a folder.

RAW is the folder through torch_dts.DataLoader(ImageFolder), LV0 to LV3 are .dts files, "torch" is torch's
DataLoader(ImageFolder). FULLY keeps all bytes in memory, so that its warm epochs (the second and later
ones) read nothing; PARTIAL keeps two groups of blocks. `load` touches every byte that was read, and
decodes nothing.

Cold means that no page of the set's files is in the page cache. Before each cold epoch, and after the loader
was made, each file's pages are dropped with posix_fadvise(POSIX_FADV_DONTNEED), which needs no rights
and leaves other programs alone; mincore then counts what is still there, and the tables say so. Files
are synced before, as only clean pages can be dropped. Inodes and directories stay
cached, which helps RAW; --drop-caches drops these too (/proc/sys/vm/drop_caches: root only, slows down all
that runs on the machine). A disk below that has a cache of its own, such as a hypervisor's,
keeps it: the table of the disk's own rate shows what "cold" is worth on a machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator

import torch
from epoch_parts import disk_rate, load_tables, pixel_files, pixel_tables, slow_disk, small_memory
from epoch_parts import syscalls as syscalls_part
from epoch_parts import totals as totals_part
from epoch_parts import waiting as waiting_part
from epoch_parts.sets import ImageSet, image_set, image_sets, name_of
from epoch_parts.ways import Settings
from measuring import machine
from results import Table, save

SMALL_MEMORY_IMAGES, SYSCALL_IMAGES = 1500, 1000


def settings_of(given: argparse.Namespace, load_only: bool) -> Settings:
    return Settings(given.num_workers, given.batch_size, given.image_size, load_only)


def train_set(given: argparse.Namespace, levels: tuple[int, ...], most: int | None = None) -> ImageSet:
    count = most if given.images is None else min(given.images, most or given.images)
    return image_set("train", given.data, given.work, count, levels)


def _epoch_tables(given: argparse.Namespace, load_only: bool) -> list[Table]:
    settings = settings_of(given, load_only)
    sets = image_sets(given.data, given.work, given.images, given.val, tuple(given.levels))
    found = load_tables.measured(sets, settings, given.rounds, given.warm_epochs, given.drop_caches)
    made = load_tables.tables(found, settings, given.drop_caches)
    if load_only:
        made.append(disk_rate.table(sets["train"], name_of(0), settings, max(3, given.rounds)))
    pixels = [
        pixel_tables.pixel_set(name, split, given.pixel_data, given.work, given.pixel_images)
        for name in pixel_files.NAMES
        for split in ("train", "val")
    ]
    return [*made, pixel_tables.table(pixels, settings, given.rounds)]


def load(given: argparse.Namespace) -> list[Table]:
    return _epoch_tables(given, load_only=True)


def pipeline(given: argparse.Namespace) -> list[Table]:
    return _epoch_tables(given, load_only=False)


def totals(given: argparse.Namespace) -> list[Table]:
    images = train_set(given, tuple(given.levels))
    return [
        totals_part.table(images, settings_of(given, load_only), given.epochs, given.seconds_each)
        for load_only in (True, False)
    ]


def small_memory_tables(given: argparse.Namespace) -> list[Table]:
    images = train_set(given, (0, 3), SMALL_MEMORY_IMAGES)
    disk = slow_disk.Disk(given.seek_ms, given.disk_mb * 1e6)
    return [
        small_memory.slow_disk_table(images, settings_of(given, load_only=True), disk),
        small_memory.control_group_table(images, settings_of(given, load_only=True), given.cgroup),
    ]


def syscalls(given: argparse.Namespace) -> list[Table]:
    images = train_set(given, (0,), SYSCALL_IMAGES)
    return [syscalls_part.table(images, settings_of(given, load_only=False))]


def waiting(given: argparse.Namespace) -> list[Table]:
    return [waiting_part.table(train_set(given, (0, 3)), settings_of(given, load_only=False))]


SUBCOMMANDS: dict[str, Callable[[argparse.Namespace], list[Table]]] = {
    "load": load,
    "pipeline": pipeline,
    "totals": totals,
    "small-memory": small_memory_tables,
    "syscalls": syscalls,
    "waiting": waiting,
}


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("subcommand", choices=[*SUBCOMMANDS, "all"])
    parser.add_argument("--data", required=True, help="a folder of class folders of JPEGs")
    parser.add_argument("--val", help="the same for validation")
    parser.add_argument("--work", type=pathlib.Path, help="where made sets are kept; a temporary folder")
    parser.add_argument("--images", type=int, help="so many of the images")
    parser.add_argument("--levels", type=int, nargs="+", default=[0, 1, 2, 3], help="of the tables of epochs")
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument(
        "--rounds", type=int, default=2, help="cold epochs of each, with warm ones after them"
    )
    parser.add_argument("--warm-epochs", type=int, default=2, help="after each cold epoch")
    parser.add_argument("--drop-caches", action="store_true", help="drop inodes too, of the whole machine")
    parser.add_argument("--pixel-data", help="a folder with MNIST and CIFAR as torchvision stores them")
    parser.add_argument("--pixel-images", type=int, help="images of a split at most, where they are made")
    parser.add_argument("--epochs", type=int, default=100, help="of totals")
    parser.add_argument("--seconds-each", type=float, default=5.0, help="totals: measure no longer than this")
    parser.add_argument("--seek-ms", type=float, default=8.0, help="of the slow disk, an access")
    parser.add_argument("--disk-mb", type=float, default=150.0, help="of the slow disk, MB/s")
    parser.add_argument(
        "--cgroup", help="small-memory: a folder of control groups (v2) that you may write to"
    )
    parser.add_argument("--json", type=pathlib.Path, help="writes tables here; `all`: a folder for all files")
    return parser.parse_args(arguments)


@contextlib.contextmanager
def work_folder(given: argparse.Namespace) -> Iterator[None]:
    """`given.work`, a temporary folder where none was given."""
    if given.work is not None:
        given.work.mkdir(parents=True, exist_ok=True)
        given.work = given.work.resolve()
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        given.work = pathlib.Path(folder)
        yield


def run(given: argparse.Namespace) -> list[Table]:
    """Runs what was asked for, prints the tables and writes the files."""
    names = list(SUBCOMMANDS) if given.subcommand == "all" else [given.subcommand]
    made = []
    with work_folder(given):
        for name in names:
            start = time.perf_counter()
            tables = SUBCOMMANDS[name](given)
            for table in tables:
                print(table.markdown(), flush=True)
            print(f"`{name}` took {time.perf_counter() - start:.0f} s.\n", flush=True)
            if given.json is not None:
                target = given.json
                if given.subcommand == "all":
                    target.mkdir(parents=True, exist_ok=True)
                    target = target / f"epochs_{name}.json"
                save(os.fspath(target), f"epochs {name}", tables)
            made += tables
    return made


def main() -> None:
    given = parsed()
    print(f"{machine()}\n", flush=True)
    torch.set_num_threads(1)  # what the loop does with a batch must not count
    run(given)


if __name__ == "__main__":
    main()
