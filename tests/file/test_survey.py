# SPDX-License-Identifier: Apache-2.0
import io

import pytest
import torch
from building import BLOCK_SIZE, Sample, build, build_pixels, jpeg, samples_of
from PIL import Image

from torch_dts import DTSFile
from torch_dts._raw import raw_sample
from torch_dts.file import _survey
from torch_dts.file._survey import survey


def png(size):
    out = io.BytesIO()
    Image.new("L", size).save(out, "PNG")
    return out.getvalue()


def padded(data):
    return -(-len(data) // 64) * 64


def test_numbers(tmp_path):
    datas = [jpeg(0, (30, 20)), png((7, 5)), b"no picture", raw_sample(Image.new("RGB", (4, 3)))]
    samples = [Sample(b"a/%d.jpg" % i, 0, data) for i, data in enumerate(datas)]
    path = build(tmp_path / "a.dts", samples, [b"a"], blocks=[[3, 0], [2, 1]])
    with DTSFile(path) as file:
        found = survey(file, False)
    assert found.sample_bytes.tolist() == [len(data) for data in datas]
    assert found.block_fill.tolist() == [
        (4096 + sum(padded(datas[i]) for i in block)) / BLOCK_SIZE for block in ([3, 0], [2, 1])
    ]
    assert found.num_probed == 4
    assert found.dimensions.tolist() == [
        [4, 3],
        [30, 20],
        [7, 5],
    ]  # in stored order, what is no picture left out


def test_few_samples_are_looked_into(tmp_path, monkeypatch):
    samples = [Sample(b"a/%d.jpg" % i, 0, jpeg(0, (8 + i, 8))) for i in range(10)]
    path = build(tmp_path / "a.dts", samples, [b"a"], blocks=[list(range(10))])
    monkeypatch.setattr(_survey, "MOST_PROBED", 4)
    monkeypatch.setattr(_survey, "_READ_TOGETHER_BYTES", 1)
    with DTSFile(path) as file:
        found = survey(file, False)
        assert found.num_probed == 4
        assert found.dimensions[:, 0].tolist() == [8, 10, 13, 15]
        monkeypatch.setattr(_survey, "_MOST_READ_BYTES", int(file.sizes.sum()) * 3 // 10 + 1)
        assert survey(file, False).num_probed == 3


def test_no_samples(tmp_path):
    with DTSFile(build(tmp_path / "a.dts", [], [], blocks=[])) as file:
        found = survey(file, False)
    assert found.dimensions.shape == (0, 2)
    assert found.block_fill.numel() == 0


def test_pixel_files_are_refused(tmp_path):
    with (
        DTSFile(build_pixels(tmp_path / "a.dts", 3)) as file,
        pytest.raises(ValueError, match="is a pixel file"),
    ):
        survey(file, False)


def test_an_old_file(tmp_path):
    path = build(tmp_path / "a.dts", samples_of({"a": 3}), [b"a"], tags=())
    with DTSFile(path) as file:
        assert torch.equal(survey(file, False).dimensions, torch.tensor([[32, 24]] * 3))
