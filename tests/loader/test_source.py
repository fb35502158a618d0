# SPDX-License-Identifier: Apache-2.0
"""Where bytes are kept, and when a source is opened anew."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import pytest
from loader_sets import FIXED
from torch.utils.data import Subset
from torchvision.datasets import ImageFolder

import torch_dts
from torch_dts import _native
from torch_dts.loader import _memory, _source
from torch_dts.loader._source import LoaderSource, SourceCache


def opened(dataset: Any, mode: Any = "auto") -> LoaderSource:
    source = SourceCache().get(dataset, mode)
    assert isinstance(source, LoaderSource)
    return source


@pytest.fixture
def available(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the memory that is available, in bytes."""
    return lambda num_bytes: monkeypatch.setattr(_memory, "available_bytes", lambda root="/": num_bytes)


def test_the_mode_says_where_bytes_are_kept(blocks_file: pathlib.Path, available: Any) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    size = blocks_file.stat().st_size
    available(1.9 * size)
    assert not opened(dataset).keeps_bytes
    assert opened(dataset, "fully").keeps_bytes
    available(2.1 * size)
    assert opened(dataset).keeps_bytes
    assert not opened(dataset, "partial").keeps_bytes


def test_what_another_process_holds_needs_no_more_memory(blocks_file: pathlib.Path, available: Any) -> None:
    dataset = torch_dts.DTSDataset(blocks_file, FIXED)
    holder = opened(dataset, "fully")
    info = _native.source_info(holder.recognised.source)
    assert info.is_shared
    assert not info.is_complete
    _native.source_keep(holder.recognised.source)
    available(1000)
    assert not opened(dataset).keeps_bytes
    available(80 << 20)
    assert opened(torch_dts.DTSDataset(blocks_file, FIXED)).keeps_bytes


def test_each_process_of_a_machine_keeps_a_folder_for_itself(
    photos: pathlib.Path, available: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ImageFolder(photos, FIXED)
    size = sum(path.stat().st_size for path in photos.glob("*/*.jpg"))
    available(2.5 * size)
    assert opened(folder).keeps_bytes
    monkeypatch.setattr(_source, "num_local_ranks", lambda: 2)
    assert not opened(folder).keeps_bytes


def test_samples_have_a_mean_size(photos: pathlib.Path, blocks_file: pathlib.Path) -> None:
    sizes = [path.stat().st_size for path in photos.glob("*/*.jpg")]
    assert opened(ImageFolder(photos, FIXED)).mean_bytes == pytest.approx(sum(sizes) / len(sizes), abs=1)
    assert 1 << 20 < opened(torch_dts.DTSDataset(blocks_file, FIXED)).mean_bytes < 8 << 20


def test_a_source_is_opened_once(photos: pathlib.Path) -> None:
    cache = SourceCache()
    subset = Subset(ImageFolder(photos, FIXED), [1, 2])
    first = cache.get(subset, "auto")
    assert cache.get(subset, "auto") is first
    subset.indices = [1, 2]
    assert cache.get(subset, "auto") is first  # equal ones change nothing
    subset.indices = [1, 3]
    assert cache.get(subset, "auto") is not first
    kept = cache.get(subset, "auto")
    cache.clear()
    assert cache.get(subset, "auto") is not kept


def test_a_source_of_another_process_is_not_used(
    photos: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = SourceCache()
    folder = ImageFolder(photos, FIXED)
    first = cache.get(folder, "auto")
    monkeypatch.setattr(_source.os, "getpid", lambda: -5)
    assert cache.get(folder, "auto") is not first


def test_what_is_not_read_natively_says_why(photos: pathlib.Path) -> None:
    reason = SourceCache().get([1, 2], "auto")
    assert isinstance(reason, str)
    assert "list" in reason


def test_pickles_carry_no_source(photos: pathlib.Path) -> None:
    cache = SourceCache()
    cache.get(ImageFolder(photos, FIXED), "auto")
    assert pickle.loads(pickle.dumps(cache))._kept is None
