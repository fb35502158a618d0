# SPDX-License-Identifier: Apache-2.0
"""The arguments beyond torch's: what is accepted, and what each error says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torch_dts.loader._arguments import Options, check_options, ranks_of, refuse_for_iterable, refuse_ranks


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"seed": -(2**70), "mode": "fully", "shuffle_window": "all", "reproducible": False},
        {"dtype": torch.bfloat16, "memory_format": torch.channels_last, "on_error": "replace"},
        {"verify": False, "num_replicas": 3, "rank": 2, "reader_threads": 1, "pin_threads": True},
        {"distributed": True, "return_index": True, "verify": "file", "transform": len},
        {"decoder": "libjpeg"},
    ],
)
def test_right_ones(kwargs: dict[str, Any]) -> None:
    check_options(Options(**kwargs))


@pytest.mark.parametrize(
    ("kwargs", "error", "text"),
    [
        ({"transform": 3}, TypeError, r"transform is 3, expected a callable or None"),
        ({"seed": 1.5}, TypeError, r"seed is 1.5, expected an int or None"),
        ({"seed": True}, TypeError, r"seed is True, expected an int or None"),
        ({"mode": "full"}, ValueError, r"mode is 'full', expected 'auto', 'fully' or 'partial'"),
        ({"mode": 1}, ValueError, r"mode is 1, expected 'auto', 'fully' or 'partial'"),
        (
            {"shuffle_window": 0},
            ValueError,
            r"shuffle_window is 0, expected at least 1 \(in blocks\) or 'all'",
        ),
        ({"shuffle_window": "some"}, TypeError, r"shuffle_window is 'some', expected a number of blocks or"),
        ({"reproducible": 1}, TypeError, r"reproducible is 1, expected True or False"),
        ({"return_index": None}, TypeError, r"return_index is None, expected True or False"),
        (
            {"dtype": torch.float64},
            ValueError,
            r"dtype is torch.float64, expected None, torch.uint8, torch.flo",
        ),
        ({"dtype": "float32"}, ValueError, r"dtype is 'float32', expected None, torch.uint8"),
        (
            {"memory_format": torch.preserve_format},
            ValueError,
            r"memory_format is torch.preserve_format, expected None, torch.contiguous_format or torch.chann",
        ),
        ({"on_error": "skip"}, ValueError, r"on_error is 'skip', expected 'raise' or 'replace'"),
        ({"verify": True}, ValueError, r"verify is True, expected 'blocks', 'file' or False"),
        ({"num_replicas": 2}, ValueError, r"num_replicas is 2 and rank is None: give both"),
        (
            {"num_replicas": 2, "rank": 2},
            ValueError,
            r"Invalid rank 2, rank should be in the interval \[0, 1\]",
        ),
        (
            {"num_replicas": 2, "rank": 0, "distributed": True},
            ValueError,
            r"distributed=True takes the ranks",
        ),
        ({"reader_threads": 0}, ValueError, r"reader_threads is 0, expected at least 1 or None"),
        ({"reader_threads": "2"}, TypeError, r"reader_threads is '2', expected an int or None"),
        ({"decoder": "ours"}, ValueError, r"decoder is 'ours', expected 'auto' or 'libjpeg'"),
        ({"pin_threads": "yes"}, TypeError, r"pin_threads is 'yes', expected True or False"),
    ],
)
def test_wrong_ones(kwargs: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        check_options(Options(**kwargs))


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({}, 16),
        ({"mode": "fully"}, 0),
        ({"mode": "partial"}, 16),
        ({"mode": "fully", "shuffle_window": 3}, 3),
    ],
)
def test_the_window_and_its_default(kwargs: dict[str, Any], expected: int) -> None:
    assert Options(**kwargs).window == expected
    assert Options(shuffle_window="all").window == 0


def test_ranks() -> None:
    assert ranks_of(Options()) is None
    assert ranks_of(Options(num_replicas=3, rank=1)) == (3, 1)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        ranks_of(Options(distributed=True))


def test_ranks_of_torch_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 5)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 4)
    assert ranks_of(Options(distributed=True)) == (5, 4)
    monkeypatch.setattr(torch.distributed, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="Requires distributed package to be available"):
        ranks_of(Options(distributed=True))


def test_a_sampler_is_not_cut_again() -> None:
    options = Options(num_replicas=3, rank=1)
    with pytest.raises(ValueError, match=r"rank 1 of 3 can't be taken of what a list delivers: leave out"):
        refuse_ranks(options, [1, 2])
    with pytest.raises(ValueError, match=r"rank 1 of 3 can't be taken of what a SimpleNamespace delivers"):
        refuse_ranks(options, SimpleNamespace(num_replicas=3, rank=2))
    refuse_ranks(options, SimpleNamespace(num_replicas=3, rank=1))
    refuse_ranks(options, SimpleNamespace(sampler=SimpleNamespace(num_replicas=3, rank=1)))
    refuse_ranks(Options(), [1, 2])


@pytest.mark.parametrize(
    "kwargs",
    [{"seed": 0}, {"shuffle_window": 16}, {"num_replicas": 1, "rank": 0}, {"distributed": True}],
)
def test_what_an_iterable_dataset_decides(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"but a DTSIterableDataset decides it: give .* to the dataset"):
        refuse_for_iterable(Options(**kwargs))
    refuse_for_iterable(Options(mode="fully", verify=False))
