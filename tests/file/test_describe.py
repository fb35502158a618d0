# SPDX-License-Identifier: Apache-2.0
"""Lines about files and samples; test_file.py has those of files of blocks."""

import pytest
from building import build, samples_of
from building_pixels import build_pixel_file
from tampering import cut

from torch_dts import DTSFile
from torch_dts.file._describe import describe_file, describe_sample


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.dts"


def test_a_file_of_blocks(path):
    with DTSFile(build(path, samples_of({"a": 1, "b": 2}), [b"a", b"b"])) as file:
        assert describe_file(file) == f"DTSFile({path}: 3 samples, 2 classes, level 0, 1 block)"
        assert describe_sample(file, -1) == f"sample 2 (b/1.jpg, block 0) of {path}"
        assert describe_sample(file, 3) == f"sample 3 of {path}"
    assert describe_file(file).endswith("1 block, closed)")
    with DTSFile(path) as file:
        pass
    assert describe_sample(file, 0) == f"sample 0 of {path}"


def test_a_pixel_file(path):
    built = build_pixel_file(path, 4, (28, 28, 1), b"   MNIST")
    with DTSFile(path) as file:
        assert describe_file(file) == f"DTSFile({path}: 4 samples, 10 classes, pixels 28 x 28 x 1)"
        assert describe_sample(file, 1) == f"sample 1 (class{built.labels[1]}/00000001.png) of {path}"
    with DTSFile(path) as file:
        cut(path, 300)
        assert describe_sample(file, 1) == f"sample 1 of {path}"
