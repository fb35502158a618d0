# SPDX-License-Identifier: Apache-2.0
import pytest
from building import HEADER_BYTES
from tampering import flip, replace_section, section
from volume_sets import link_set

import torch_dts
from torch_dts import CorruptFileError, DTSFile
from torch_dts.file._verify_set import verify


def test_a_set_that_is_all_right(volumes):
    for path in (volumes[0], volumes[0].parent, volumes[0].parent / "train-*"):
        report = verify(path, progress=False)
        assert report.ok, report
        assert (report.path, report.num_blocks, report.num_samples) == (str(path), 3, 30)
        assert report.notes == ()
        assert str(report).endswith("30 samples in 3 blocks, all right")


def test_one_volume_by_itself(volumes):
    report = verify(volumes[1], progress=False)
    assert report.ok
    assert (report.num_blocks, report.num_samples) == (1, 10)


def test_damage_is_told_in_the_sets_numbers(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1,))
    flip(paths[1], HEADER_BYTES + 4096)  # the first byte of the block's first picture
    report = verify(tmp_path / "set", progress=False)
    (problem,) = report.problems
    assert problem.kind == "block"
    assert problem.message.startswith(f"{paths[1]}: block 0 (stored samples 0..9): CRC-32 is")
    assert problem.block == 1
    with DTSFile(paths[0]) as file:
        assert problem.samples == tuple(sorted(file.source_index[10:20].tolist()))
        assert problem.paths == tuple(file.paths[i] for i in problem.samples)
        assert problem.likely == tuple(file.source_index[10:11].tolist())


def test_a_missing_volume(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes)
    paths[1].unlink()
    for path in (paths[0], tmp_path / "set"):
        report = verify(path, progress=False)
        (problem,) = report.problems
        assert problem.kind == "set"
        assert problem.message == (
            f"{paths[1]}: volume 1 of 3 is missing; a set is read when all its volumes are there"
        )
        assert (report.num_blocks, report.num_samples) == (2, 20)


def test_a_volume_that_does_not_open(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(2,))
    with open(paths[2], "r+b") as file:
        file.truncate(HEADER_BYTES)
    report = verify(tmp_path / "set", progress=False)
    (problem,) = report.problems
    assert problem.kind == "file"
    assert problem.message.startswith(f"{paths[2]}: the file is cut off")


def test_volumes_that_do_not_belong_together(volumes, tmp_path):
    paths = link_set(tmp_path / "set", volumes, copied=(1, 2))
    replace_section(paths[1], "INFO", b"{}")
    report = verify(paths[0], progress=False)
    assert [problem.kind for problem in report.problems if problem.kind != "padding"] == ["set"]
    assert "its set is None, but" in str(report)
    replace_section(paths[1], "INFO", section(paths[0], "INFO"))
    order = section(paths[2], "ORDR")
    replace_section(paths[2], "ORDR", section(paths[1], "ORDR")[:4] + order[4:])
    report = verify(paths[0], progress=False)
    assert "which a sample of another volume has too" in str(report)


def test_several_sets(volumes, tmp_path, dts_file):
    paths = link_set(tmp_path / "set", volumes)
    paths[0].with_name("other.dts").hardlink_to(dts_file())
    with pytest.raises(ValueError, match="has 2 data sets"):
        torch_dts.verify(tmp_path / "set")
    with pytest.raises(ValueError, match="num_workers"):
        verify(paths[0], num_workers=-1)
    (tmp_path / "bad.dts").write_bytes(b"nothing of the kind" * 10)
    with pytest.raises(CorruptFileError, match=r"not a \.dts file"):
        verify(tmp_path / "bad.dts")
