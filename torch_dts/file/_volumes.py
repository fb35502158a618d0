# SPDX-License-Identifier: Apache-2.0
"""The files of an open data set, and what the volumes of a set must have in common."""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts.file._contents import byte_view, load_info
from torch_dts.file._header import Header, Section
from torch_dts.file._names import check_position


@dataclass(frozen=True)
class Volume:
    """One file of a data set: a whole one has one, a set one for each volume.

    Attributes:
        number: Its place among the open files, from 0.
        path: The file, as the caller's path leads to it.
        absolute_path: The file from the root directory.
        header: Its own header; counts and block ids are of this file.
        sections: Its named sections.
        file_bytes: Its size.
        first_block: Number, among all blocks, of its first one.
        first_sample: Stored index of its first sample.
    """

    number: int
    path: str
    absolute_path: str
    header: Header
    sections: tuple[Section, ...]
    file_bytes: int
    first_block: int
    first_sample: int

    def block_offset(self, block: int) -> int:
        """Where in this file a block begins that is one of its own; `block` counts in the whole set."""
        return self.header.header_bytes + (block - self.first_block) * self.header.block_size


def list_volumes(described: Sequence[Mapping[str, Any]], shown: Callable[[str], str]) -> tuple[Volume, ...]:
    """The volumes of an open handle, from what `_native.file_describe` says."""
    volumes: list[Volume] = []
    first_block = first_sample = 0
    for number, each in enumerate(described):
        header = Header.from_fields(each["header"])
        volumes.append(
            Volume(
                number=number,
                path=shown(each["path"]),
                absolute_path=each["path"],
                header=header,
                sections=tuple(Section(**entry) for entry in each["sections"]),
                file_bytes=int(each["file_bytes"]),
                first_block=first_block,
                first_sample=first_sample,
            )
        )
        first_block += header.num_blocks
        first_sample += header.num_samples
    return tuple(volumes)


def volume_of_block(volumes: Sequence[Volume], block: int) -> Volume:
    """The volume that holds a block of the set."""
    return volumes[bisect.bisect_right(volumes, block, key=lambda volume: volume.first_block) - 1]


def check_one_set(handle: int, volumes: Sequence[Volume]) -> None:
    """Refuses volumes that were not made together.

    Raises:
        CorruptFileError: The INFO of one names another set than that of the first.
    """
    first, *others = (load_info(handle, volume.path, volume.number).get("set") for volume in volumes)
    for volume, found in zip(volumes[1:], others, strict=True):
        if found != first:
            problem = (
                f"section 'INFO': its set is {_short(found)}, but {_short(first)} in "
                f"{display(volumes[0].path)}: they are volumes of different sets (another source, or other "
                "arguments of convert)"
            )
            raise CorruptFileError(volume.path, None, problem)


def info_of(handle: int, volumes: Sequence[Volume]) -> dict[str, Any]:
    """Section INFO; of a set that of its first volume, with what each says of its own samples put together.

    Raises:
        CorruptFileError: The INFO of one is damaged.
    """
    infos = [load_info(handle, volume.path, volume.number) for volume in volumes]
    joined = dict(infos[0])
    if any(info.get("bytes_kept") is False for info in infos):
        joined["bytes_kept"] = False
    reasons: dict[str, int] = {}
    for info in infos:
        counts = info.get("kept_original")
        for reason, count in counts.items() if isinstance(counts, dict) else ():
            if type(count) is int:  # whatever else a foreign writer puts there
                reasons[reason] = reasons.get(reason, 0) + count
    if len(infos) > 1 and reasons:
        joined["kept_original"] = reasons
    return joined


def fingerprint_of(handle: int, volumes: Sequence[Volume]) -> str:
    """SHA-256, in hex: of one file its header and section table, of a set its volumes' in order."""
    digests = [
        hashlib.sha256(byte_view(_native.file_head(handle, volume.number))).hexdigest() for volume in volumes
    ]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class VolumePaths(Sequence[str]):
    """The paths of a set by source index, out of the lists of its volumes.

    Args:
        parts: The paths of each volume, in rising order of source index.
        source_index: int64 ``[num_samples]``: source index by stored index, volume after volume.
    """

    def __init__(self, parts: Sequence[Sequence[str]], source_index: Tensor) -> None:
        self._parts = parts
        # By source index: which volume, and which of its paths.
        self._volume = torch.empty(source_index.numel(), dtype=torch.int32)
        self._place = torch.empty(source_index.numel(), dtype=torch.int32)
        start = 0
        for number, part in enumerate(parts):
            own = source_index[start : start + len(part)].sort().values
            self._volume[own] = number
            self._place[own] = torch.arange(len(part), dtype=torch.int32)
            start += len(part)

    def __len__(self) -> int:
        return self._volume.numel()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = check_position(index, len(self))
        return self._parts[int(self._volume[position])][int(self._place[position])]

    def __iter__(self) -> Iterator[str]:
        # Each volume's paths come in their own order, so that no chunk is unpacked twice.
        parts = [iter(part) for part in self._parts]
        for volume in self._volume.tolist():
            yield next(parts[volume])


def _short(identity: object) -> str:
    text = str(identity)
    return text if len(text) <= 12 else text[:12] + "..."
