# SPDX-License-Identifier: Apache-2.0
"""`extract`: the stored samples back into files of a folder."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_dts._errors import CorruptFileError
from torch_dts._parallel import check_num_workers, map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts._raw import as_image_file
from torch_dts._words import num_of
from torch_dts.file._arguments import check_bool
from torch_dts.file._contents import byte_view
from torch_dts.file._file import DTSFile
from torch_dts.file._given_path import expand_home
from torch_dts.file._ids import sample_ids_tensor
from torch_dts.file._tree import Tree, find_clash, path_fault


@dataclass(frozen=True)
class ExtractReport:
    """What `extract` wrote. An `os.PathLike` of the directory.

    Attributes:
        directory: Where the files are.
        num_files: Files written.
        num_bytes: Their bytes.
        seconds: How long it took.
        bytes_kept: The bytes are those of the files that were converted, as far as is known.
    """

    directory: str
    num_files: int
    num_bytes: int
    seconds: float
    bytes_kept: bool = True

    def __fspath__(self) -> str:
        return self.directory

    def __str__(self) -> str:
        files, size = num_of(self.num_files, "file"), num_of(self.num_bytes, "byte")
        note = "" if self.bytes_kept else "; images as they are stored, not the bytes of the original files"
        return f"{files}, {size} in {display(self.directory)}{note}"


def extract(
    path: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    indices: Iterable[int] | Tensor | None = None,
    num_workers: int | None = None,
    progress: bool | None = None,
) -> ExtractReport:
    """Writes the samples of a file as ``<directory>/<relative path>``, as they are stored.

    At level 0 that is the folder the file was made from, byte for byte; empty class
    folders come back too. Where bytes were encoded anew (levels 1 to 3, restart markers), the
    report's `bytes_kept` is False: the files are JPEGs, whatever their names end in.
    A file whose paths are not stored gives ``<label>/<number>.jpeg``.

    Each file appears under its name only when it is complete, so an error (or Ctrl-C)
    leaves none half-written; those written before it stay. Each block is read whole and
    checked against its CRC-32 before its files are written. Samples of a damaged block can
    still be read one by one, unchecked: ``torch_dts.open(path).read(index)``.

    Args:
        path: The ``.dts`` file, or a set as `DTSFile` takes it. It is only read. ``~`` is the home
            directory, here and there.
        directory: Made when missing. Other files in it are left alone.
        overwrite: Replace files that exist.
        indices: Source indices of the samples wanted; None: all.
        num_workers: Blocks at a time, each with a buffer of one block; None: by the
            CPUs, 8 at most.
        progress: Show a bar on stderr; None: when that is a terminal.

    Returns:
        A report, usable as the path of the directory.

    Raises:
        FileExistsError: A file to be written exists, and `overwrite` is False. Nothing
            was written.
        CorruptFileError: A stored path leads out of the directory or two clash (nothing
            was written), or a block is damaged.
        OSError: The disk is full or refuses; names the file.
        IndexError: A sample in `indices` does not exist.
        ValueError: It is a pixel file (CIFAR, MNIST), or `num_workers` is below 0.
        TypeError: `overwrite` is no bool.
    """
    start = time.perf_counter()
    workers = check_num_workers(num_workers)
    check_bool("overwrite", overwrite)
    target = expand_home(directory)
    with DTSFile(path) as file:
        wanted = None if indices is None else torch.unique(sample_ids_tensor(indices, len(file)))
        if not file.header.has_blocks:
            raise ValueError(
                f"{display(file.path)} is a pixel file ({file.header.dataset_type}): it holds no image "
                "files to extract; torch_dts.DTSDataset(path)[i] gives its images"
            )
        paths = list(file.paths)
        chosen = range(len(file)) if wanted is None else wanted.tolist()
        _check_paths(file, [(sample, paths[sample]) for sample in chosen])
        _check_target(file, target, [paths[sample] for sample in chosen], overwrite)
        tree = Tree(target, overwrite)
        try:
            if wanted is None:
                for folder in _empty_classes(file):
                    tree.make_folder(folder)
            num_bytes = _write_samples(file, tree, paths, wanted, workers, progress)
        finally:
            tree.close()
        bytes_kept = file.header.compress_level == 0 and file.info.get("bytes_kept", True) is not False
    return ExtractReport(target, len(chosen), num_bytes, time.perf_counter() - start, bytes_kept)


def _check_paths(file: DTSFile, chosen: list[tuple[int, str]]) -> None:
    for sample, path in chosen:
        fault = path_fault(path)
        if fault is not None:
            problem = f"the path {display(path)!r} of sample {sample} {fault}; nothing was extracted"
            raise CorruptFileError(file.path, None, problem)
    clash = find_clash(path for _, path in chosen)
    if clash is not None:
        problem = (
            f"the path {display(clash)!r} is there twice, or as a file and a folder; nothing was extracted"
        )
        raise CorruptFileError(file.path, None, problem)


def _check_target(file: DTSFile, directory: str, paths: list[str], overwrite: bool) -> None:
    """Finds what is in the way before anything is written."""
    if not os.path.isdir(directory):
        return
    own = [os.stat(volume.absolute_path) for volume in file.volumes]
    for path in paths:
        target = os.path.join(directory, path)
        try:
            state = os.lstat(target)
        except OSError:
            continue  # not there; anything worse shows when it is written
        if not overwrite:
            raise FileExistsError(errno.EEXIST, "exists already; overwrite=True replaces it", display(target))
        if any(os.path.samestat(state, each) for each in own):
            raise ValueError(f"extracting would overwrite {display(file.path)} itself")


def _empty_classes(file: DTSFile) -> list[str]:
    """The folders of classes without samples.

    Names that are made up, or that can't be a folder's name, never were folders.
    """
    if not any(section.tag == "CLSS" for section in file.sections):
        return []
    counts = torch.bincount(file.labels, minlength=len(file.classes)).tolist()
    return [
        name
        for name, count in zip(file.classes, counts, strict=True)
        if count == 0 and "/" not in name and path_fault(name) is None
    ]


def _write_samples(
    file: DTSFile,
    tree: Tree,
    paths: list[str],
    wanted: Tensor | None,
    workers: int,
    progress: bool | None,
) -> int:
    local = threading.local()
    has_raw = file.header.may_hold_raw_samples

    def write_block(block_id: int) -> int:
        if not hasattr(local, "arena"):
            local.arena = torch.empty(file.block_size, dtype=torch.uint8, device="cpu")
        file.read_blocks([block_id], out=local.arena)
        _, offsets, sizes, _ = file.index_samples(local.arena, [block_id])
        arena = byte_view(local.arena)
        stored = stored_of[block_id]
        rows = stored - first_of_block[block_id]
        positions = file.positions_of(stored).tolist()
        for position, start, size in zip(
            positions, offsets[rows].tolist(), sizes[rows].tolist(), strict=True
        ):
            stored_bytes = arena[start : start + size]
            tree.write_file(paths[position], as_image_file(stored_bytes) if has_raw else stored_bytes)
        return int(sizes[rows].sum())

    num_samples = file.block_table.num_samples
    first_of_block = num_samples.cumsum(0) - num_samples
    stored_of = _by_block(
        file, torch.arange(len(file), device="cpu") if wanted is None else file.stored_index[wanted]
    )
    total = int(file.sizes.sum() if wanted is None else file.sizes[wanted].sum())
    num_bytes = 0
    with Progress("extracting", total, progress, is_bytes=True) as bar:
        for _, written in map_in_order(write_block, sorted(stored_of), workers):
            num_bytes += written
            bar.add(written)
    return num_bytes


def _by_block(file: DTSFile, stored: Tensor) -> dict[int, Tensor]:
    """The stored indices wanted, in rising order, by their block."""
    stored = stored.sort().values
    blocks, counts = torch.unique_consecutive(file.block_of(stored), return_counts=True)
    return dict(zip(blocks.tolist(), torch.split(stored, counts.tolist()), strict=True))
