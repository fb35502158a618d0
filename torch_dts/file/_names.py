# SPDX-License-Identifier: Apache-2.0
"""Class names and sample paths: the CLSS and PATH sections (docs/format.md section 6).

Names are the file system's bytes, so they come out of `os.fsdecode` and may hold
surrogate escapes. Everything is bounded before it is used.
"""

from __future__ import annotations

import operator
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import overload

from torch import Tensor

from torch_dts._errors import CorruptFileError

PATHS_PER_CHUNK = 65536
MAX_CHUNK_BYTES = PATHS_PER_CHUNK * 4097  # a path is at most 4096 bytes and its NUL
_CHUNKS_KEPT = 4


def decode_classes(raw: bytes | memoryview, num_classes: int, path: str) -> list[str]:
    """The class names of a CLSS section.

    Args:
        raw: The section's bytes.
        num_classes: The header's count, which the section must repeat.
        path: The file, for messages.

    Raises:
        CorruptFileError: The section's lengths don't add up.
    """
    data = bytes(raw)
    if len(data) < 4:
        raise _corrupt(path, "CLSS", f"{len(data)} bytes, expected at least 4")
    (count,) = struct.unpack_from("<I", data)
    if count != num_classes:
        raise _corrupt(path, "CLSS", f"{count} classes, the header says {num_classes}")
    if 4 + 2 * count > len(data):
        raise _corrupt(path, "CLSS", f"{len(data)} bytes, too few for {count} names")
    names: list[str] = []
    at = 4
    for number in range(count):
        if at + 2 > len(data):
            raise _corrupt(path, "CLSS", f"it ends inside the length of class {number}")
        (length,) = struct.unpack_from("<H", data, at)
        at += 2
        if at + length > len(data):
            raise _corrupt(path, "CLSS", f"class {number} has {length} bytes, {len(data) - at} are left")
        names.append(os.fsdecode(data[at : at + length]))
        at += length
    if at != len(data):
        raise _corrupt(path, "CLSS", f"{len(data) - at} bytes behind the last name")
    return names


class StoredPaths(Sequence[str]):
    """The paths of a PATH section by source index, decoded chunk by chunk on first use.

    Reading one path inflates its chunk of 65 536; the chunks used last are kept.
    Iterating keeps one chunk at a time. Safe to use from several threads, and holds no
    lock, so that it survives a fork.

    Args:
        raw: The section's bytes.
        num_samples: How many paths it must hold.
        path: The file, for messages.

    Raises:
        CorruptFileError: The ends of the chunks are wrong (now), or a chunk's content
            is (when it is read).
    """

    def __init__(self, raw: bytes | memoryview, num_samples: int, path: str) -> None:
        self._data = memoryview(raw)
        self._num_samples = num_samples
        self._path = path
        num_chunks = -(-num_samples // PATHS_PER_CHUNK)
        self._first_stream = 4 * num_chunks
        if len(self._data) < self._first_stream:
            raise _corrupt(
                path, "PATH", f"{len(self._data)} bytes, too few for the ends of {num_chunks} chunks"
            )
        ends = struct.unpack_from(f"<{num_chunks}I", self._data)
        room = len(self._data) - self._first_stream
        previous = 0
        for number, end in enumerate(ends):
            if not previous < end <= room:
                raise _corrupt(
                    path,
                    "PATH",
                    f"chunk {number} ends at {end}, expected more than {previous} and at most {room}",
                )
            previous = end
        if previous != room:
            raise _corrupt(path, "PATH", f"the last chunk ends at {previous}, the section at {room}")
        self._starts = (0, *ends)
        # Replaced as a whole, never changed in place: threads see one state or the other.
        self._kept: tuple[tuple[int, list[bytes]], ...] = ()

    def __len__(self) -> int:
        return self._num_samples

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._num_samples))]
        position = check_position(index, self._num_samples)
        chunk, place = divmod(position, PATHS_PER_CHUNK)
        return os.fsdecode(self._chunk(chunk)[place])

    def __iter__(self) -> Iterator[str]:
        for chunk in range(len(self._starts) - 1):
            yield from map(os.fsdecode, self._inflate(chunk))

    def _chunk(self, number: int) -> list[bytes]:
        kept = self._kept
        for other, names in kept:
            if other == number:
                if kept[0][0] != number:
                    self._kept = ((number, names), *(entry for entry in kept if entry[0] != number))
                return names
        names = self._inflate(number)
        self._kept = ((number, names), *kept[: _CHUNKS_KEPT - 1])
        return names

    def _inflate(self, number: int) -> list[bytes]:
        first, last = self._starts[number], self._starts[number + 1]
        stream = self._data[self._first_stream + first : self._first_stream + last]
        inflater = zlib.decompressobj()
        try:
            # One byte more than allowed: a stream of exactly the limit then still ends.
            raw = inflater.decompress(stream, MAX_CHUNK_BYTES + 1)
        except zlib.error as error:
            raise _corrupt(self._path, "PATH", f"chunk {number} is no zlib stream ({error})") from error
        if len(raw) > MAX_CHUNK_BYTES:
            raise _corrupt(
                self._path, "PATH", f"chunk {number} inflates to more than {MAX_CHUNK_BYTES} bytes"
            )
        if not inflater.eof:
            raise _corrupt(self._path, "PATH", f"chunk {number} is cut off")
        if inflater.unused_data:
            raise _corrupt(
                self._path, "PATH", f"chunk {number} has {len(inflater.unused_data)} bytes behind its stream"
            )
        expected = min(PATHS_PER_CHUNK, self._num_samples - number * PATHS_PER_CHUNK)
        # Counted before the split, so that a chunk of nothing but NULs costs no list.
        found = raw.count(b"\0")
        if found != expected or not raw.endswith(b"\0"):
            problem = f"chunk {number} holds {found} paths, expected {expected}"
            if found == expected:
                problem += ", the last without its NUL"
            raise _corrupt(self._path, "PATH", problem)
        return raw[:-1].split(b"\0")


class NumberedPaths(Sequence[str]):
    """Made-up paths ``<class>/<source index>.jpeg`` for a file that stores none.

    Args:
        labels: int64 ``[num_samples]`` by source index.
        classes: The class names.
        ending: Of the paths.
    """

    def __init__(self, labels: Tensor, classes: Sequence[str], ending: str = ".jpeg") -> None:
        self._labels = labels
        self._classes = classes
        self._ending = ending

    def __len__(self) -> int:
        return self._labels.numel()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = check_position(index, len(self))
        return self._made_up(position, int(self._labels[position]))

    def __iter__(self) -> Iterator[str]:
        for position, label in enumerate(self._labels.tolist()):
            yield self._made_up(position, label)

    def _made_up(self, position: int, label: int) -> str:
        return f"{self._classes[label]}/{position:08d}{self._ending}"


def check_position(index: int, length: int, what: str = "sample") -> int:
    """`index` as a position in ``[0, length)``; negative ones count from the end.

    Raises:
        IndexError: It is outside of ``[-length, length)``.
    """
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"{what} {position} is out of range: there are {length}")
    return position + length if position < 0 else position


def _corrupt(path: str, tag: str, problem: str) -> CorruptFileError:
    return CorruptFileError(path, None, f"section {tag!r}: {problem}")
