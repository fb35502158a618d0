# SPDX-License-Identifier: Apache-2.0
"""A ``.dts`` file, or the volumes of a set, open for reading."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from torch_dts import _native
from torch_dts._errors import CorruptFileError
from torch_dts._paths import display
from torch_dts._progress import told_when_slow
from torch_dts.file._arguments import Verify, check_bool, check_verify
from torch_dts.file._contents import byte_view, load_classes, load_paths
from torch_dts.file._describe import describe_file, describe_sample
from torch_dts.file._find_files import ExactFiles
from torch_dts.file._header import BlockTable
from torch_dts.file._ids import block_ids_tensor, output_arena, sample_ids_tensor
from torch_dts.file._names import NumberedPaths, check_position
from torch_dts.file._open_file import OpenFile
from torch_dts.file._volumes import VolumePaths, fingerprint_of, info_of
from torch_dts.file._whole_file import check_whole_file, files_identity, require_blocks, require_kind

Value = TypeVar("Value")


class DTSFile(OpenFile):
    """A ``.dts`` file: its header, names and labels, and the bytes of its samples.

    Opening reads the header and the table of sections; all else is read when it is
    first asked for. Samples are counted by *source index*, the order of the folder
    they came from (in one volume of a set: the volume's own samples in that order).
    The *stored index* is their order in the file. Files without sections open too:
    there both are the same, class names are ``"0"``, ``"1"``, ... and paths made up.
    The samples of a pixel file (MNIST, CIFAR) are raw pixels; `pixels` has all at once.

    A set that was cut into volumes opens as one file, by its first volume, its folder or a
    glob: blocks and stored samples are numbered volume after volume, and `volumes` has the
    files. Any other volume opens by itself.

    Objects may be shared by threads, survive a fork, and pickle by path: the other
    process opens the file anew and refuses one with another fingerprint.

    Args:
        path: The file, or a set of volumes: its first volume's file, a glob of all of them, or
            the folder they are in when no other data set is. ``~`` is the home directory.
        verify: ``"blocks"`` checks the CRC-32 of each block that is read whole, and that of
            `pixels` (`read` and `read_many` check bounds only), ``"file"`` checks the whole
            file once, before the first read, ``False`` checks bounds only.
        ignore_sections: Read nothing but header and blocks, as for a file whose
            sections are damaged. A first volume without its others then opens by itself.

    Raises:
        OSError: The file can't be opened or is no regular file; FileNotFoundError: a volume
            is missing, or the folder or glob has no file.
        CorruptFileError: It is no ``.dts`` file, or its header or section table is damaged;
            or the volumes are not of one set.
        ValueError: `verify` is none of the above, or the folder or glob has several data sets.
        TypeError: `ignore_sections` is no bool.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, verify: Verify = "blocks", ignore_sections: bool = False
    ) -> None:
        self._verify = check_verify(verify)
        self._ignore_sections = check_bool("ignore_sections", ignore_sections)
        super().__init__(path, self._ignore_sections)
        # Filled by setdefault only, so that threads may race without a lock.
        self._cache: dict[str, Any] = {}
        self._verified: tuple[int, ...] | None = None
        self._verify_locks: dict[int, threading.Lock] = {}

    # ---- what the file says about itself ----

    @property
    def info(self) -> dict[str, Any]:
        """How the file was made (section INFO, of a set joined); empty where that is not known."""
        return self._once("info", lambda: info_of(self.handle, self._volumes))

    @property
    def classes(self) -> list[str]:
        """The class names; a label is a position in this list."""
        return self._once("classes", lambda: load_classes(self.handle, self._header, self._volumes[0].path))

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class name."""
        return self._once("class_to_idx", lambda: {name: i for i, name in enumerate(self.classes)})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the header and the section table, in hex: it tells two files apart.

        Of a set: SHA-256 of its volumes' fingerprints in order.
        """
        return self._once("fingerprint", lambda: fingerprint_of(self.handle, self._volumes))

    # ---- samples and blocks as tables ----

    @property
    def labels(self) -> Tensor:
        """int64 ``[len(self)]``: the label of each sample by source index."""
        return self._once("labels", lambda: _native.file_labels(self.handle))

    @property
    def paths(self) -> Sequence[str]:
        """The relative path of each sample by source index, decoded as it is read."""
        return self._once("paths", self._load_paths)

    @property
    def sizes(self) -> Tensor:
        """int64 ``[len(self)]``: the bytes of each sample by source index."""
        return self._once("sizes", lambda: self._sample_table()[1][self.stored_index])

    @property
    def source_index(self) -> Tensor:
        """int64 ``[len(self)]``: the source index of each sample by stored index.

        In one volume opened by itself these are indices into the whole set.
        """
        return self._sample_table()[2]

    @property
    def stored_index(self) -> Tensor:
        """int64 ``[len(self)]``: the stored index of each sample by source index."""
        return self._once("stored_index", self._invert_source_index)

    @property
    def block_table(self) -> BlockTable:
        """The number of samples and the CRC-32 of each block."""
        return self._once("blocks", lambda: BlockTable(*_native.file_block_table(self.block_handle())))

    def block_of(self, stored_ids: Tensor) -> Tensor:
        """int64, as `stored_ids`: the block that holds each sample, given by stored index."""
        ends = self._once("block_ends", lambda: self.block_table.num_samples.cumsum(0))
        return torch.bucketize(stored_ids, ends, right=True)

    def positions_of(self, stored_ids: Tensor) -> Tensor:
        """int64, as `stored_ids`: the index that `read` takes for each sample, given by stored index."""
        if not self.is_lone_volume:
            return self.source_index[stored_ids]
        return self._once("positions", lambda: torch.argsort(self.stored_index))[stored_ids]

    # ---- reading ----

    def read(self, index: int) -> memoryview:
        """The stored bytes of a sample.

        Args:
            index: Source index; negative ones count from the end.

        Returns:
            A view of memory that lives as long as the view.

        Raises:
            IndexError: There is no such sample.
            CorruptFileError: The file changed while open, or its tables are damaged.
            OSError: The disk can't be read.
        """
        position = check_position(index, len(self))
        arena, offsets, sizes = self._read_stored(self.stored_index[position : position + 1])
        start = int(offsets[0])
        return byte_view(arena)[start : start + int(sizes[0])]

    def read_many(self, indices: Iterable[int] | Tensor) -> list[memoryview]:
        """The stored bytes of several samples, in the order asked for.

        They are read in the order of the file, neighbours together, into one piece of
        memory that lives as long as any of the views.

        Args:
            indices: Source indices, a sequence or an integer tensor ``[n]``; negative
                ones count from the end, repeated ones are fine.

        Raises: as `read`.
        """
        positions = sample_ids_tensor(indices, len(self))
        arena, offsets, sizes = self._read_stored(self.stored_index[positions])
        view = byte_view(arena)
        return [
            view[start : start + size] for start, size in zip(offsets.tolist(), sizes.tolist(), strict=True)
        ]

    @property
    def pixels(self) -> Tensor:
        """uint8 ``[len(self), height, width, channels]``: all samples of a pixel file.

        Read when first asked for and kept; with `verify` the file's CRC-32 is checked.

        Raises:
            ValueError: It is a file of blocks, or closed.
            CorruptFileError: The CRC-32 is wrong, or the file changed.
        """
        return self._once("pixels", self._load_pixels)

    def read_blocks(self, block_ids: Iterable[int] | Tensor, out: Tensor | None = None) -> Tensor:
        """Whole blocks, one behind the other.

        Args:
            block_ids: Block numbers ``[k]``.
            out: uint8 ``[k * block_size]`` on the CPU to read into (it may be pinned);
                None allocates it.

        Returns:
            `out`.

        Raises:
            IndexError: There is no such block.
            ValueError: `out` has another type, size or layout.
            CorruptFileError: A block's CRC-32 (with `verify`) or its index is wrong.
            OSError: The disk can't be read.
        """
        handle = self._handle_to_read(for_blocks=True)
        ids = block_ids_tensor(block_ids, self.num_blocks)
        out = output_arena(out, ids.numel() * self.block_size)
        with self._name:
            _native.read_blocks(handle, ids, out, self._verify is not False)
        return out

    def check_blocks(self, block_ids: Iterable[int] | Tensor) -> None:
        """With ``verify="blocks"``: reads blocks ``[k]`` to check them. Raises as `read_blocks`."""
        handle = self._handle_to_read(for_blocks=True)
        ids = block_ids_tensor(block_ids, self.num_blocks)
        if self._verify == "blocks":
            known = ids[self.block_table.crc32[ids] >= 0]
            with self._name:
                require_blocks(handle, self._volumes, known)

    def index_samples(
        self, arena: Tensor, block_ids: Iterable[int] | Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Where the samples of blocks lie in memory.

        Args:
            arena: What `read_blocks` returned for the same `block_ids`.
            block_ids: Block numbers ``[k]``.

        Returns:
            Four int64 tensors with an entry per sample, block after block: its block,
            its offset in `arena`, its size in bytes, its label.
        """
        ids = block_ids_tensor(block_ids, self.num_blocks)
        with self._name:
            return _native.index_samples(self.block_handle(), arena, ids)

    def ensure_verified(self) -> None:
        """With ``verify="file"``: checks the whole file unless that was done, as the first read does.

        Processes that get this object later, by fork or pickle, then need not do it again.

        Raises:
            CorruptFileError: A block or the file does not match its CRC-32.
        """
        if self._verify != "file" or self._verified is not None:
            return
        # One lock per process: a fork may happen while another thread holds it.
        with self._verify_locks.setdefault(os.getpid(), threading.Lock()):
            if self._verified is None:
                identity = files_identity(self._volumes)
                with self._name:
                    check_whole_file(self.handle, self._volumes)
                self._verified = identity

    def describe_sample(self, index: int) -> str:
        """For messages: ``sample 5 (cat/x.jpg, block 3) of train.dts``, in one line. Never raises."""
        return describe_sample(self, index)

    # ---- lifetime ----

    def __reduce__(self) -> tuple[Callable[..., DTSFile], tuple[Any, ...]]:
        state = (self._verify, self._ignore_sections, self.fingerprint, self._verified)
        files = tuple(volume.absolute_path for volume in self._volumes)
        return _reopen, (self.absolute_path, *state, files)

    def __repr__(self) -> str:
        return describe_file(self)

    # ---- inside ----

    def _once(self, key: str, build: Callable[[], Value]) -> Value:
        if key not in self._cache:
            with self._name, told_when_slow(f"reading the tables of {display(self.path)}"):
                self._cache.setdefault(key, build())
        return cast(Value, self._cache[key])

    def _handle_to_read(self, for_blocks: bool = False) -> int:
        # Whether the file changed since it was opened is seen by every native read.
        handle = self.block_handle() if for_blocks else self.handle
        self.ensure_verified()
        return handle

    def _read_stored(self, stored_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        handle = self._handle_to_read()
        with self._name:
            return _native.read_samples(handle, stored_ids)

    def _sample_table(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._once("samples", lambda: _native.file_sample_table(self.handle))

    def _invert_source_index(self) -> Tensor:
        source = self.source_index
        if self.is_lone_volume:
            return torch.argsort(source)
        return torch.empty_like(source).scatter_(0, source, torch.arange(len(self), device="cpu"))

    def _load_pixels(self) -> Tensor:
        require_kind(self._header, self.path, has_blocks=False)
        return _native.read_pixels(self._handle_to_read(), self._verify == "blocks")[1]

    def _load_paths(self) -> Sequence[str]:
        parts = [load_paths(self.handle, volume) for volume in self._volumes]
        stored = [part for part in parts if part is not None]
        if len(stored) == len(parts):
            return stored[0] if len(stored) == 1 else VolumePaths(stored, self.source_index)
        ending = ".jpeg" if self._header.has_blocks else ".png"
        return NumberedPaths(self.labels, self.classes, ending)


def _reopen(
    path: str,
    verify: Verify,
    ignore_sections: bool,
    fingerprint: str,
    verified: tuple[int, ...] | None,
    files: tuple[str, ...],
) -> DTSFile:
    # The very files: a folder may have got another data set meanwhile.
    file = DTSFile(ExactFiles(files, path), verify=verify, ignore_sections=ignore_sections)
    if file.fingerprint != fingerprint:
        found = file.fingerprint
        file.close()
        problem = f"not the file that was pickled: its fingerprint is {found}, expected {fingerprint}"
        raise CorruptFileError(path, None, problem)
    if verified is not None and verified == files_identity(file.volumes):
        file._verified = verified
    return file
