# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, Sample, build, samples_of
from tampering import cut, entries, flip, patch

from torch_dts.cli import main


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"a": 13, "b": 2}), [b"a", b"b"])


def run(capsys, code, *arguments):
    assert main(["verify", *map(str, arguments)]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def test_a_good_file(capsys, path):
    out = run(capsys, 0, path, "--num-workers", 2)
    assert re.fullmatch(rf"{path}: 15 samples in 1 block, all right \(\d+\.\d s\)\n", out)


def test_a_damaged_block(capsys, path):
    flip(path, HEADER_BYTES + 4096)  # the sample stored first: the last one of the source
    lines = run(capsys, 1, path).splitlines()
    assert lines[0] == f"{path}: 15 samples in 1 block, 1 problem"
    assert lines[1].startswith("block 0 (stored samples 0..14): CRC-32 is 0x")
    assert lines[2] == "  15 samples in doubt, 1 of them looks damaged:"
    assert lines[3] == "    sample 14  b/1.jpg  (looks damaged)"
    assert lines[4] == "    sample 0  a/0.jpg"
    assert lines[12] == "    sample 8  a/8.jpg"
    assert lines[13:] == ["    and 5 more (--all lists them)"]
    assert len(run(capsys, 1, path, "--all").splitlines()) == 3 + 15


def test_notes_and_names(capsys, tmp_path):
    samples = [Sample(b"a/\xff\n.jpg", 0, b"text")]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    flip(path, HEADER_BYTES + BLOCK_SIZE - 1)
    assert "    sample 0  a/\\xff\\n.jpg  (looks damaged)\n" in run(capsys, 1, path)
    flip(path, entries(path)["PATH"].offset)
    lines = run(capsys, 1, path).splitlines()
    assert lines[0].endswith("2 problems")
    assert lines[-1] == "    sample 0  (path not known)  (looks damaged)"
    patch(path, 4096, b"oops")
    out = run(capsys, 1, path)
    assert "\nnote: no section can be read, so the CRCs of the blocks are not known\n" in out


def test_a_file_that_does_not_open(capsys, path):
    cut(path, 1000)
    assert main(["verify", str(path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the file is cut off" in shown.err


def test_progress(capsys, path):
    assert main(["verify", str(path), "--progress"]) == 0
    assert "verifying: 100%" in capsys.readouterr().err
