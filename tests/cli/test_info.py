# SPDX-License-Identifier: Apache-2.0
import json
import re
import struct

import pytest
from building import BLOCK_SIZE, HEADER_BYTES, build, build_pixels, samples_of
from tampering import flip, patch, replace_section, resign_head, set_header

import torch_dts
from torch_dts import DTSFile
from torch_dts.cli import main


@pytest.fixture
def samples():
    return samples_of({"a": 3, "b": 2})


@pytest.fixture
def path(tmp_path, samples):
    return build(tmp_path / "a.dts", samples, [b"a", b"b"], blocks=[[4, 0], [2, 1, 3]])


def run(capsys, *arguments):
    assert main(["info", *map(str, arguments)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def as_rows(text):
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


def test_table(capsys, path, samples):
    rows = as_rows(run(capsys, path))
    mean = sum(len(sample.data) for sample in samples) / 5
    assert rows == {
        "file": str(path),
        "size": "48.0 MiB (50331648 bytes)",
        "type": "IMAGENET, format version 3.0.0.0",
        "export level": "0 (original files, byte for byte)",
        "split": "train",
        "samples": f"5, {mean:.0f} bytes on average",
        "classes": "2: a, b",
        "blocks": "2 of 16.0 MiB, 4.0 KiB of it for the index",
        "free room": rows["free room"],
        "sections": "HEAD INFO CLSS BIDX SIZE LABL ORDR PATH",
        "made by": "by hand",
        "CRC-32": rows["CRC-32"],
        "fingerprint": rows["fingerprint"],
    }
    padded = sum(-(-len(sample.data) // 64) * 64 for sample in samples)
    free = 2 * (BLOCK_SIZE - 4096) - padded
    assert rows["free room"] == f"{100 * free / (2 * BLOCK_SIZE):.2f} % of the blocks (32.0 MiB)"
    with DTSFile(path) as file:
        assert rows["CRC-32"] == f"{file.header.crc_code:#010x}"
        assert rows["fingerprint"] == file.fingerprint


def test_json(capsys, path, samples):
    facts = json.loads(run(capsys, path, "--json"))
    assert facts["path"] == str(path)
    assert facts["file_bytes"] == HEADER_BYTES + 2 * BLOCK_SIZE
    assert facts["type"] == "IMAGENET"
    assert facts["version"] == "3.0.0.0"
    assert facts["level"] == 0
    assert facts["num_samples"] == 5
    assert facts["classes"] == ["a", "b"]
    assert facts["num_classes"] == 2
    assert facts["num_blocks"] == 2
    assert facts["block_size"] == BLOCK_SIZE
    assert facts["mean_sample_bytes"] == sum(len(sample.data) for sample in samples) / 5
    assert facts["free_fraction"] == facts["free_bytes"] / (2 * BLOCK_SIZE)
    assert facts["info"] == {"writer": "by hand", "level": 0}
    assert [section["tag"] for section in facts["sections"]][-1] == "PATH"
    assert facts["header"]["max_pic_area"] == 32 * 24
    assert facts["header"]["version"] == [3, 0, 0, 0]


def test_many_classes_and_odd_names(capsys, tmp_path, samples):
    names = [b"a", b"\xff\n", "猫".encode(), b"d", b"e", b"f"]
    path = build(tmp_path / "a.dts", samples, names)
    assert as_rows(run(capsys, path))["classes"] == "6: a, \\xff\\n, 猫, d, e, ..."
    assert json.loads(run(capsys, path, "--json"))["classes"][1] == "\udcff\n"


def test_an_old_file(capsys, tmp_path, samples):
    path = build(tmp_path / "a.dts", samples, [b"a"] * 2, tags=(), num_classes=1000)
    rows = as_rows(run(capsys, path))
    assert rows["sections"] == "none (an old file)"
    assert rows["classes"] == "1000: 0, 1, 2, 3, 4, ..."
    assert not {"made by", "settings"} & rows.keys()
    facts = json.loads(run(capsys, path, "--json"))
    assert facts["sections"] == []
    assert facts["info"] == {}


def test_a_pixel_file(capsys, tmp_path):
    path = build_pixels(tmp_path / "a.dts", 3)
    rows = as_rows(run(capsys, path))
    assert rows["type"] == "CIFAR10, format version 3.0.0.0"
    assert rows["samples"] == "3"
    assert rows["images"] == "32 x 32 x 3 (height, width, channels), raw"
    assert not {"free room", "blocks", "export level"} & rows.keys()
    facts = json.loads(run(capsys, path, "--json"))
    assert facts["mean_sample_bytes"] is None
    assert facts["image_shape"] == [32, 32, 3]


def test_numbers_json_does_not_know(capsys, path):
    patch(path, 112, b"\0\0\xc0\x7f")
    resign_head(path)
    assert json.loads(run(capsys, path, "--json"))["header"]["compression_ratio"] is None


def test_a_volume(capsys, path):
    set_header(path, num_volumes=4, volume_id=2)
    assert as_rows(run(capsys, path))["volume"] == "2 of 4 (counted from 0)"


def test_a_set(capsys, tmp_path, image_folder):
    report = torch_dts.convert(image_folder(), tmp_path / "x.dts", num_volumes=2, progress=False)
    rows = as_rows(run(capsys, tmp_path))
    assert rows["volumes"] == "2, x-00000-of-00002.dts to x-00001-of-00002.dts, 2 to 3 samples each"
    assert rows["size"] == f"64.0 MiB ({4 << 24} bytes)"
    assert rows["samples"].startswith("5, ")
    assert "CRC-32" not in rows
    facts = json.loads(run(capsys, tmp_path / "x-*", "--json"))
    assert [volume["path"] for volume in facts["volumes"]] == list(report.paths)
    assert [volume["num_samples"] for volume in facts["volumes"]] == [2, 3]
    assert facts["volume"] == [0, 2]


def test_a_val_set_at_level_2(capsys, tmp_path, samples):
    path = build(tmp_path / "a.dts", samples, [b"a", b"b"], level=2, block_header_size=16384)
    patch(path, 16, bytes(4))
    resign_head(path)
    rows = as_rows(run(capsys, path))
    assert rows["split"] == "val"
    assert rows["export level"] == "2 (images made smaller and encoded anew)"
    assert rows["blocks"] == "1 of 16.0 MiB, 16.0 KiB of it for the index"


def test_damaged_sections(capsys, path):
    flip(path, 4096)
    assert main(["info", str(path)]) == 1
    assert "section table: magic is" in capsys.readouterr().err
    assert as_rows(run(capsys, path, "--ignore-sections"))["classes"] == "2: 0, 1"


def test_settings(capsys, path):
    replace_section(
        path, "INFO", b'{"writer": "x\\n", "n": [1, null], "source": {"kind": "folder"}, "a\\n": "b"}'
    )
    rows = as_rows(run(capsys, path))
    assert rows["made by"] == "x\\n"
    assert rows["settings"] == 'n [1, null], source {"kind": "folder"}, a\\n b'


def test_a_set_without_samples(capsys, tmp_path):
    path = build(tmp_path / "a.dts", [], [], blocks=[])
    rows = as_rows(run(capsys, path))
    assert rows["samples"] == "0, 0 bytes on average"
    assert rows["classes"] == "0"
    assert rows["free room"] == "0.00 % of the blocks (0 bytes)"


def test_plot(capsys, path, samples):
    text = run(capsys, path, "--plot")
    plots = text.split("\n\n")[1:]
    assert [plot.split(":")[0].split(" (")[0] for plot in plots] == [
        "block fill",
        "sample sizes",
        "width in pixels",
        "height in pixels",
        "width / height",
    ]
    assert "width in pixels: min 32, median 32, mean 32, max 32" in text
    facts = json.loads(run(capsys, path, "--plot", "--json"))
    assert facts["num_probed"] == 5
    assert facts["plots"]["height"]["min"] == facts["plots"]["height"]["max"] == 24
    assert facts["plots"]["sample_bytes"]["max"] == max(len(sample.data) for sample in samples)
    assert sum(facts["plots"]["block_fill"]["counts"]) == 2
    assert "plots" not in json.loads(run(capsys, path, "--json"))


def test_a_pixel_file_has_nothing_to_plot(capsys, tmp_path):
    path = build_pixels(tmp_path / "a.dts", 3)
    assert "nothing to plot: all samples of a pixel file have one size" in run(capsys, path, "--plot")
    assert json.loads(run(capsys, path, "--plot", "--json"))["plots"] is None


def test_mean_and_std(capsys, path):
    patch(path, 116, struct.pack("<6f", 0.485, 0.456, 0.406, 0.229, 0.224, 0.225))
    resign_head(path)
    assert as_rows(run(capsys, path))["pixels"] == (
        "mean 0.4850 0.4560 0.4060, std 0.2290 0.2240 0.2250 (R, G, B of 0 to 1)"
    )
