# SPDX-License-Identifier: Apache-2.0
"""Samples that are ranges of archives."""

from __future__ import annotations

import pathlib

import torch
from tars import write_tar

from torch_dts.convert._archive_list import list_archives
from torch_dts.convert._archive_samples import ArchiveSamples


def test_reading(tmp_path: pathlib.Path) -> None:
    paths = [str(write_tar(tmp_path / f"{i}.tar", [("a", b"%d" % i), ("b", b"bb%d" % i)])) for i in range(3)]
    listing = list_archives(paths, None)
    samples = ArchiveSamples(paths, listing.identities, listing.place)
    assert [bytes(samples.read(i)) for i in range(6)] == [b"0", b"bb0", b"1", b"bb1", b"2", b"bb2"]
    assert samples.size(5) == 3
    arena = torch.zeros(16, dtype=torch.uint8)
    samples.read_into(torch.tensor([5, 0]), torch.tensor([4, 0]), arena)
    assert bytes(arena.numpy()) == b"0\0\0\0bb2".ljust(16, b"\0")
    assert samples.probe(3, 6).tolist() == [[0, 3, 0, 0, 0], [0, 1, 0, 0, 0], [0, 3, 0, 0, 0]]
