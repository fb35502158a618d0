# SPDX-License-Identifier: Apache-2.0
import pytest

from torch_dts.file._volume_names import parse_volume_path, set_pattern, volume_path


@pytest.mark.parametrize(
    ("path", "volume", "num_volumes", "expected"),
    [
        ("train.dts", 0, 4, "train-00000-of-00004.dts"),
        ("/x.y/train", 3, 4, "/x.y/train-00003-of-00004"),
        ("a.b.dts", 99998, 99999, "a.b-99998-of-99999.dts"),
        ("a\nb-1.dts", 1, 2, "a\nb-1-00001-of-00002.dts"),
    ],
)
def test_names_and_back(path, volume, num_volumes, expected):
    assert volume_path(path, volume, num_volumes) == expected
    assert parse_volume_path(expected) == (path, volume, num_volumes)


@pytest.mark.parametrize(
    "path",
    ["train.dts", "-00000-of-00004.dts", "a-0-of-4.dts", "a-00000-of-00004/b.dts", "a-00000-of-000040.dts"],
)
def test_other_names(path):
    assert parse_volume_path(path) is None
    assert set_pattern(path) == path


def test_set_pattern():
    assert set_pattern("x/train-00001-of-00004.dts") == "x/train-*-of-00004.dts"
