# SPDX-License-Identifier: Apache-2.0
import os
import pickle

import pytest
from torch.utils.data import DataLoader, Dataset

from torch_dts import CorruptFileError


def test_message_and_fields() -> None:
    error = CorruptFileError("train.dts", 4096, "found X, expected Y")
    assert str(error) == "train.dts at byte 4096: found X, expected Y"
    assert (error.path, error.offset, error.problem) == ("train.dts", 4096, "found X, expected Y")


def test_without_offset() -> None:
    assert str(CorruptFileError("a.dts", None, "changed")) == "a.dts: changed"


def test_message_is_printable_for_any_path() -> None:
    error = CorruptFileError(os.fsdecode(b"\xff.dts"), None, "bad")
    assert str(error) == "\\xff.dts: bad"


def test_pickles() -> None:
    """Worker processes send their errors to the parent."""
    error = pickle.loads(pickle.dumps(CorruptFileError("a.dts", 7, "bad")))
    assert isinstance(error, CorruptFileError)
    assert str(error) == "a.dts at byte 7: bad"


class _Hurt(Dataset[int]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        raise CorruptFileError("a.dts", 7, "bad")


def test_keeps_its_type_across_worker_processes() -> None:
    with pytest.raises(CorruptFileError, match=r"(?s)worker process 0.*a\.dts at byte 7: bad"):
        next(iter(DataLoader(_Hurt(), num_workers=1)))
