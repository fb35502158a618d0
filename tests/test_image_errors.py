# SPDX-License-Identifier: Apache-2.0
"""Messages of Pillow without places in memory."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from torch.utils.data import Dataset

import torch_dts
from torch_dts._image_errors import image_reason, without_addresses
from torch_dts.convert import BadSamplesError


def raised(data: bytes) -> Exception:
    try:
        Image.open(io.BytesIO(data)).convert("RGB")
    except Exception as error:
        return error
    raise AssertionError("it is an image")


def test_reasons() -> None:
    assert image_reason(raised(b""), b"") == "empty (0 bytes)"
    data = b"no image at all"
    assert image_reason(raised(data), data) == "not an image that PIL knows; starts with b'no image at '"
    assert image_reason(OSError(), b"x") == "OSError"
    assert image_reason(ValueError("odd"), b"x") == "odd"
    assert image_reason(KeyError(3), b"x") == "KeyError: 3"
    assert without_addresses("a <_io.BytesIO object at 0x7f00DEAD> b") == "a <_io.BytesIO> b"
    assert without_addresses("<PIL.Image.Image image mode=RGB size=1x1 at 0x7f>") != ""
    assert without_addresses(str(raised(data))) == "cannot identify image file <_io.BytesIO>"


class _Odd(Dataset[Any]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return Image.open(io.BytesIO(b"no image")), 0


@pytest.mark.parametrize("options", [{"level": 3}, {"encoding": "raw"}, {}])
def test_an_empty_file_that_is_not_checked(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path, options: Any
) -> None:
    root = image_folder(classes={"a": 2})
    (root / "a" / "1.jpg").write_bytes(b"")
    if not options:
        root = _Odd()
        options = {"level": 1}
    for workers in (1, 2):
        with pytest.raises(BadSamplesError, match=r"1 of \d sample") as caught:
            torch_dts.convert(root, tmp_path / "x.dts", check="none", num_workers=workers, **options)
        (bad,) = caught.value.bad
        assert "0x" not in bad.reason
        assert "empty (0 bytes)" in bad.reason or "cannot identify image file <_io.BytesIO>" in bad.reason


def test_a_stored_sample_that_is_no_image(
    image_folder: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    root = image_folder(classes={"a": 1})
    (root / "a" / "0.jpg").write_bytes(b"no image")
    dataset = torch_dts.DTSDataset(torch_dts.convert(root, tmp_path / "x.dts", check="none"))
    with pytest.raises(OSError, match=r"^cannot identify image file <_io\.BytesIO> \[.*a/0\.jpg"):
        dataset[0]
