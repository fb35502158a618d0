# SPDX-License-Identifier: Apache-2.0
"""A .dts file as a source: its stored bytes and paths, not its decoded images."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts.file import DTSFile
from torch_dts.file._volume_names import parse_volume_path
from torch_dts.file._volumes import volume_of_block

_BLOCKS_AT_A_TIME = 16


@dataclass(frozen=True)
class StoredSamples:
    """Samples that lie in .dts files. The files belong to the caller; reading is thread-safe."""

    files: list[DTSFile]
    place: Tensor
    """int64 [n, 2] number of the file (-1: not in a file of these) and source index in it."""

    def holds(self, i: int) -> bool:
        """True when sample i is one of these."""
        return int(self.place[i, 0]) >= 0

    def size(self, i: int) -> int:
        """Bytes of sample i."""
        number, item = self.place[i].tolist()
        return int(self.files[number].sizes[item])

    def read(self, i: int) -> memoryview:
        """The stored bytes of sample i."""
        number, item = self.place[i].tolist()
        data: memoryview = self.files[number].read(item)
        return data

    def read_into(self, samples: Tensor, offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
        """Copies samples to `offsets` in `arena` (uint8), each file's in one go.

        Raises:
            CorruptFileError: A sample has another size than `sizes` says.
        """
        view = arena.numpy().data
        numbers, items = self.place[samples].unbind(1)
        for number in sorted(set(numbers.tolist())):
            at = (numbers == number).nonzero().flatten()
            found = self.files[number].read_many(items[at])
            for data, offset, size in zip(found, offsets[at].tolist(), sizes[at].tolist(), strict=True):
                if data.nbytes != size:
                    problem = f"a sample has {data.nbytes} bytes, {size} when it was listed"
                    raise CorruptFileError(self.files[number].path, None, problem)
                view[offset : offset + size] = data

    def check_blocks(self) -> None:
        """Compares the CRC-32 of every block that holds a sample: damage must not be copied.

        Raises:
            CorruptFileError: A block is damaged.
        """
        for number, file in enumerate(self.files):
            items = self.place[self.place[:, 0] == number, 1]
            blocks = torch.tensor(sorted(set(file.block_of(file.stored_index[items]).tolist())))
            for start in range(0, blocks.numel(), _BLOCKS_AT_A_TIME):
                ids = blocks[start : start + _BLOCKS_AT_A_TIME]
                problems = _native.check_blocks(file.block_handle(), ids)[1]
                for block, problem in zip(ids.tolist(), problems, strict=True):
                    if problem:
                        path = volume_of_block(file.volumes, block).path
                        raise CorruptFileError(path, None, problem)


class PixelItems:
    """The items of a pixel file, as a DTSDataset over it gives them."""

    def __init__(self, file: DTSFile) -> None:
        from torch_dts.datasets._decode import default_loader

        self._file = file
        self._load = default_loader(file)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self._load(self._file.read(index)), int(self._file.labels[index])


def plain_file(dataset: Any) -> DTSFile | None:
    """The file that holds a data set's samples: of a DTSFile, or of a DTSDataset without items of its own."""
    from torch_dts.datasets import DTSDataset

    if isinstance(dataset, DTSFile):
        return dataset
    if not isinstance(dataset, DTSDataset) or type(dataset).__getitem__ is not DTSDataset.__getitem__:
        return None
    return dataset.file if len(dataset) <= len(dataset.file) else None


def nested_files(source: Any) -> Iterator[DTSFile]:
    """Every .dts file that is seen to be open in a source: itself, its `file`, and data sets inside."""
    todo, seen = [source], set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, DTSFile):
            yield each
            continue
        todo += [getattr(each, name, None) for name in ("file", "dataset")]
        parts = getattr(each, "datasets", None)
        if isinstance(parts, (list, tuple)):
            todo += parts


def file_place(file: DTSFile) -> str:
    """Where a file lies, or the first of a set; the same for two objects of one file."""
    return os.path.realpath(file.volumes[0].absolute_path)


def file_prefixes(files: Sequence[DTSFile]) -> list[str]:
    """One folder name for each file, to tell equal paths in several files apart."""
    places = list(dict.fromkeys(file_place(file) for file in files))
    stems = [_set_stem(place) for place in places]
    names = stems if len(set(stems)) == len(stems) else [f"{stem}_{i}" for i, stem in enumerate(stems)]
    return [names[places.index(file_place(file))] for file in files]


def _set_stem(place: str) -> str:
    volume = parse_volume_path(place)
    return os.path.splitext(os.path.basename(place if volume is None else volume.path))[0]


def as_place(numbers: list[int], items: list[int]) -> Tensor:
    """`StoredSamples.place` of two columns."""
    return torch.stack([torch.tensor(numbers), torch.tensor(items)], 1)
