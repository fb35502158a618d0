# SPDX-License-Identifier: Apache-2.0
"""An open data set without its samples: where it is, its headers, and its lifetime."""

from __future__ import annotations

import os
import weakref
from typing import Any, TypeVar

from torch_dts import _native
from torch_dts._exit import the_exit
from torch_dts._paths import display
from torch_dts.file._given_path import GivenPath
from torch_dts.file._header import Header, Section
from torch_dts.file._volumes import Volume, check_one_set, list_volumes
from torch_dts.file._whole_file import require_kind

Self = TypeVar("Self", bound="OpenFile")


class OpenFile:
    """One ``.dts`` file, or all volumes of a set, behind one native handle.

    Args:
        path: The file or the set.
        ignore_sections: Read nothing but headers and blocks.
    """

    def __init__(self, path: str | os.PathLike[str], ignore_sections: bool) -> None:
        # A later change of directory must not send a read, or a pickled copy, to another file.
        self._name = GivenPath(path)
        with self._name:
            self._handle = _native.file_open(self._name.find(ignore_sections), ignore_sections)
        self._finalizer = weakref.finalize(self, _native.file_close, self._handle)
        described = _native.file_describe(self._handle)
        self._header = Header.from_fields(described["header"])
        self._volumes = list_volumes(described["volumes"], self._name.shown)
        if len(self._volumes) > 1 and not ignore_sections:
            try:
                check_one_set(self._handle, self._volumes)
            except BaseException:
                self._finalizer()
                raise

    @property
    def path(self) -> str:
        """The path as it was given."""
        return self._name.given

    @property
    def absolute_path(self) -> str:
        """Where the file was when it was opened, whatever the current directory is now."""
        return self._name.absolute

    @property
    def handle(self) -> int:
        """The number of the open file for `torch_dts._native`; ValueError once closed."""
        if not self.closed:
            return self._handle
        the_exit.leave_thread()  # it was closed because the interpreter ends
        raise ValueError(f"{display(self.path)} is closed")

    def block_handle(self) -> int:
        """`handle`, for a file of blocks.

        Raises:
            ValueError: It is a pixel file (CIFAR, MNIST), or closed.
        """
        require_kind(self._header, self.path, has_blocks=True)
        return self.handle

    @property
    def header(self) -> Header:
        """The fields of the header; of a set: sums of counts, largest limits, crc_code 0."""
        return self._header

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """The open files in the order of their volume numbers; one, but for a set."""
        return self._volumes

    @property
    def is_lone_volume(self) -> bool:
        """True for one volume of a set that was opened by itself."""
        return self._header.num_volumes != len(self._volumes)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The named sections beside the blocks (of a set: those of its first volume); none in old files."""
        return self._volumes[0].sections

    @property
    def file_bytes(self) -> int:
        """The size of the file in bytes; of a set: of all its volumes."""
        return sum(volume.file_bytes for volume in self._volumes)

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return self._header.num_blocks

    @property
    def block_size(self) -> int:
        """The size of a block in bytes."""
        return self._header.block_size

    def __len__(self) -> int:
        return self._header.num_samples

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return not self._finalizer.alive

    def close(self) -> None:
        """Closes the file; later reads raise ValueError. Closing twice is fine."""
        self._finalizer()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
