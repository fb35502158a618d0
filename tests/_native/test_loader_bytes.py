# SPDX-License-Identifier: Apache-2.0
"""Batches of samples as they are stored, by the native loader."""

from __future__ import annotations

import gc
import pathlib
from typing import Any

import pytest
import torch

from torch_dts import _native
from torch_dts._native._loader import BATCH, END, TIMEOUT

NONE = torch.empty(0, dtype=torch.int64)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    """12 files of 0 to 11 times 300 bytes; the sixth is not there."""
    root = tmp_path_factory.mktemp("files")
    paths = [root / f"{number}.jpg" for number in range(12)]
    for number, path in enumerate(paths):
        if number != 5:
            path.write_bytes(bytes([number] * (300 * number)))
    return paths


def started(paths: list[Any], num_workers: int, form: int = _native.BYTES) -> int:
    """A loader of the files in batches of 4, read 8 at a time."""
    source = _native.source_files(paths, torch.arange(12) * 3)
    plan = "" if form == _native.BYTES else PLAN
    loader = _native.loader_open(source, plan, num_workers, form=form)
    _native.source_close(source)
    for _ in range(2):  # the first stream is given up
        _native.loader_start(loader, "", 7, 2)
        sizes, units = torch.tensor([4, 4, 4]), torch.tensor([8, 4])
        none = torch.zeros(2, dtype=torch.int64)
        _native.loader_append(loader, torch.arange(12), NONE, sizes, units, none, NONE)
        _native.loader_finish(loader)
    return loader


PLAN = (
    "source channels=3 max_pixels=0 pass_order=2\n"
    "output height=2 width=2 channels=3 dtype=0 layout=0 scale=0\n"
)


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_samples_come_as_they_are(files: list[pathlib.Path], num_workers: int) -> None:
    loader = started(files, num_workers)
    kept = []
    for first in (0, 4, 8):
        state, samples, labels, indices, slots = _native.loader_next_bytes(loader, 60_000)
        assert state == BATCH
        assert labels.tolist() == [3 * number for number in range(first, first + 4)]
        assert indices.tolist() == list(range(first, first + 4))
        assert slots.tolist() == ([1] if first == 4 else [])
        kept += samples
    assert _native.loader_next_bytes(loader, 0)[0] == END
    assert _native.loader_take_foreign(loader)[0].tolist()[0][:3] == [1, 1, 5]
    _native.loader_close(loader)
    del samples, labels, indices
    gc.collect()
    for number, sample in enumerate(kept):
        assert sample.dtype == torch.uint8
        assert sample.tolist() == [number] * (0 if number == 5 else 300 * number)


def test_one_sample_keeps_the_batch(files: list[pathlib.Path]) -> None:
    """Memory is used again when the last tensor of a batch is gone, and not before."""
    loader = started(files, 1)
    last = _native.loader_next_bytes(loader, 60_000)[1][3]
    addresses = set()
    for _ in range(12):
        _native.loader_start(loader, "", 7, 2)
        _native.loader_append(
            loader, torch.arange(4), NONE, torch.tensor([4]), torch.tensor([4]), torch.tensor([0]), NONE
        )
        _native.loader_finish(loader)
        samples = _native.loader_next_bytes(loader, 60_000)[1]
        addresses |= {sample.data_ptr() for sample in samples}
        del samples
    assert last.tolist() == [3] * 900
    assert last.data_ptr() not in addresses
    _native.loader_close(loader)


def test_a_wait_comes_back(files: list[pathlib.Path]) -> None:
    loader = started(files, 1)
    _native.loader_start(loader, "", 0, 0)
    state, samples, *parts = _native.loader_next_bytes(loader, 5)
    assert (state, samples) == (TIMEOUT, [])
    assert [part.numel() for part in parts] == [0, 0, 0]
    _native.loader_close(loader)


def test_what_a_loader_was_not_opened_for(files: list[pathlib.Path]) -> None:
    loader = started(files, 0, _native.OUTLINES)
    with pytest.raises(ValueError, match="the loader was not opened for bytes"):
        _native.loader_next_bytes(loader, 60_000)
    _native.loader_close(loader)
    source = _native.source_files(files, torch.arange(12))
    with pytest.raises(ValueError, match="form is 3, expected 0 to 2"):
        _native.loader_open(source, "", 0, form=3)
    _native.source_close(source)
