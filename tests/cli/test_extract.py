# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from building import build, samples_of

from torch_dts.cli import main


@pytest.fixture
def samples():
    return samples_of({"a": 2, "b": 1})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, [b"a", b"b"])


def test_extract(capsys, path, samples, tmp_path):
    arguments = ["extract", str(path), str(tmp_path / "out"), "--num-workers", "2"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(rf"3 files, \d+\.\d KiB, written to {tmp_path}/out in \d+\.\d s\n", shown.out)
    assert shown.err == ""
    for sample in samples:
        assert (tmp_path / "out" / sample.path.decode()).read_bytes() == sample.data

    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        f"torch-dts: error: {tmp_path}/out/a/0.jpg: exists already; --overwrite replaces it\n"
    )
    (tmp_path / "out" / "a" / "0.jpg").write_bytes(b"")
    assert main([*arguments, "--overwrite"]) == 0
    assert (tmp_path / "out" / "a" / "0.jpg").read_bytes() == samples[0].data
