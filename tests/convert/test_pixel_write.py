# SPDX-License-Identifier: Apache-2.0
"""INFO of a pixel file; test_convert_pixels.py has its bytes."""

from __future__ import annotations

import pathlib

from array_sets import array_set
from torchvision.datasets import KMNIST

import torch_dts
from torch_dts.convert._pixel_sets import find_pixel_set
from torch_dts.convert._pixel_write import encode_info, write_pixel_set


def test_info_is_the_same_every_time() -> None:
    version = torch_dts.__version__
    assert encode_info("KMNIST", "Subset", 7).decode() == (
        '{"bytes_kept":true,"encoder":null,"encoding":"pixels","level":0,"name":"KMNIST","order":"source",'
        '"restart_interval":null,"source":{"kind":"Subset","num_encoded":0,"num_samples":7,"num_skipped":0},'
        f'"writer":"torch_dts {version}"}}'
    )


def test_what_is_written(tmp_path: pathlib.Path) -> None:
    pixels = find_pixel_set(array_set(KMNIST, 5), is_asked=False, class_to_idx=None, progress=False)
    assert pixels is not None
    target = str(tmp_path / "a.dts")
    write_pixel_set(target, pixels, kind="KMNIST", is_val=True, overwrite=False, progress=False)
    with torch_dts.open(target) as file:
        assert file.header.is_training == 0
        assert file.labels.tolist() == pixels.labels.tolist()
        assert file.classes == KMNIST.classes
