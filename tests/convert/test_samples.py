# SPDX-License-Identifier: Apache-2.0
"""The list of samples."""

from __future__ import annotations

import pathlib

import pytest
import torch

from torch_dts.convert._samples import Samples
from torch_dts.convert._spool import Spool


def test_files_and_spooled_samples(tmp_path: pathlib.Path) -> None:
    spool = Spool(str(tmp_path))
    place = spool.append(b"bytes")
    spool.finish()
    samples = Samples(
        kind="X",
        files=["/d/a.jpg", ""],
        labels=torch.tensor([0, 0]),
        classes=["c"],
        names=["c/a.jpg", "c/00000001.jpg"],
        spool=spool,
        spooled=torch.tensor([[0, 0], place]),
    )
    assert len(samples) == 2
    assert samples.path_of(0) == "/d/a.jpg"
    assert samples.path_of(1) == "c/00000001.jpg"
    assert samples.read(1) == b"bytes"
    samples.close()
    samples.close()


def test_a_file_has_no_spooled_bytes() -> None:
    samples = Samples(kind="X", files=["a"], labels=torch.tensor([0]), classes=["c"], names=["a"])
    with pytest.raises(ValueError, match="sample 0 is not spooled"):
        samples.read(0)
    samples.close()
