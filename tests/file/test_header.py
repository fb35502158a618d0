# SPDX-License-Identifier: Apache-2.0
import dataclasses
import math

import pytest
from building import build, samples_of
from tampering import patch, resign_head

from torch_dts import DTSFile
from torch_dts.file import Header


def test_every_field_of_a_file(tmp_path):
    samples = samples_of({"a": 3, "b": 2})
    path = build(tmp_path / "a.dts", samples, [b"a", b"b"], level=2, block_header_size=16384)
    with DTSFile(path) as file:
        assert dataclasses.asdict(file.header) == {
            "version": (3, 0, 0, 0),
            "dataset_type": "IMAGENET",
            "is_training": 1,
            "compress_level": 2,
            "val_set_prep": 0,
            "num_classes": 2,
            "image_width": 0,
            "image_height": 0,
            "num_channels": 3,
            "color_type": "RGB",
            "num_samples": 5,
            "num_volumes": 1,
            "volume_id": 0,
            "total_blocks": 1,
            "num_blocks": 1,
            "total_bytes": 32 << 20,
            "header_bytes": 16 << 20,
            "block_bytes": 16 << 20,
            "block_size": 16 << 20,
            "block_header_size": 16384,
            "pic_alignment": 64,
            "max_pic_area": 32 * 24,
            "max_pic_per_block": 5,
            "compression_ratio": 1.0,
            "normalize_mean": (0.0, 0.0, 0.0),
            "normalize_std": (0.0, 0.0, 0.0),
            "crc_code": file.header.crc_code,
        }
        assert file.header.has_blocks


def test_it_is_frozen(tmp_path):
    with DTSFile(build(tmp_path / "a.dts", samples_of({"a": 1}), [b"a"])) as file:
        with pytest.raises(dataclasses.FrozenInstanceError, match="num_samples"):
            file.header.num_samples = 7
        assert hash(file.header) == hash(dataclasses.replace(file.header))


def test_numbers_that_are_none(tmp_path):
    path = build(tmp_path / "a.dts", samples_of({"a": 1}), [b"a"])
    patch(path, 112, b"\0\0\xc0\x7f" + b"\0\0\x80\x7f")  # NaN and infinity
    resign_head(path)
    with DTSFile(path) as file:
        assert math.isnan(file.header.compression_ratio)
        assert math.isnan(file.header.normalize_mean[0])
        assert file.header.normalize_mean[1:] == (0.0, 0.0)


def test_a_missing_field_is_an_error():
    with pytest.raises(KeyError, match="version"):
        Header.from_fields({})
