# SPDX-License-Identifier: Apache-2.0
"""Tar archives, and samples that are ranges of files."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from torch_dts._native._call import Path, call, tensor
from torch_dts._paths import escape, join_paths

STATEFUL_OPS = (
    "list_tar",
    "probe_ranges",
    "read_ranges_into",
)


def list_tar(
    path: Path, begin: int, end: int, position: int, max_members: int
) -> tuple[bytes, bytes, Tensor, int]:
    """Members of the archive in bytes [begin, end) of a file, from `position` on.

    Returns:
        The members' names and the links' targets, each ended by NUL; int64 [n, 3] kind (0 file,
        1 folder, 2 hard link, 3 symlink), offset in the file and size; where the next member
        starts, -1 after the last.
    """
    names, targets, members, following = call("list_tar", escape(path), begin, end, position, max_members)
    return bytes(names.numpy()), bytes(targets.numpy()), members.view(-1, 3), int(following)


def probe_ranges(paths: Sequence[Path], identities: Tensor, ranges: Tensor) -> Tensor:
    """As probe_files, of ranges of files.

    Args:
        paths: The files.
        identities: int64 [k, 2] size and mtime in ns that each must still have.
        ranges: int64 [n, 3] number of the file, offset and size; best sorted.
    """
    return tensor(call("probe_ranges", join_paths(paths), identities, ranges))


def read_ranges_into(
    paths: Sequence[Path], identities: Tensor, ranges: Tensor, offsets: Tensor, arena: Tensor
) -> None:
    """Reads ranges of files (as in `probe_ranges`, in any order) to their places in `arena`."""
    call("read_ranges_into", join_paths(paths), identities, ranges, offsets, arena)
