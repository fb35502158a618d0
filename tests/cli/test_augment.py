# SPDX-License-Identifier: Apache-2.0
"""What is shown of a transform is what training draws."""

import sys

import numpy as np
import pytest
import torch
from building import Sample, build, jpeg, samples_of
from PIL import Image
from torchvision.transforms import v2

import torch_dts
from torch_dts.cli._augment import PRESETS, Shown, load_transform, variants
from torch_dts.datasets import DTSDataset
from torch_dts.transforms import compile

NORMALIZE = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


@pytest.fixture
def path(tmp_path):
    return build(tmp_path / "a.dts", samples_of({"cat": 4, "dog": 2}), [b"cat", b"dog"])


def python_only(image):
    return v2.functional.pil_to_tensor(v2.RandomResizedCrop(16)(image))


@pytest.mark.filterwarnings("ignore:this DataLoader works as torch")
@pytest.mark.parametrize("transform", [PRESETS["imagenet"](), python_only], ids=["native", "python"])
def test_the_same_as_training_draws(path, transform):
    dataset = DTSDataset(path, transform)
    for epoch in (0, 3):
        loader = torch_dts.DataLoader(
            dataset, batch_size=6, num_workers=0, seed=7, shuffle=True, return_index=True
        )
        loader.set_epoch(epoch)
        trained = {
            int(i): image for images, _, indices in loader for i, image in zip(indices, images, strict=True)
        }
        assert sorted(trained) == [0, 1, 2, 3, 4, 5]
        found = list(variants(dataset, [4, 1, 2], 7, epoch))
        assert [index for index, _ in found] == [4, 1, 2]
        for index, sample in found:
            assert torch.equal(sample, trained[index])


def test_the_same_as_compile_gives(path):
    transform = PRESETS["imagenet"]()
    dataset = DTSDataset(path, transform)
    (found,) = variants(dataset, [3], 5, 2)
    expected = compile(transform)([jpeg(3)], seed=5, epoch=2, indices=[3])[0]
    assert torch.equal(found[1], expected)
    assert not torch.equal(found[1], next(variants(dataset, [3], 5, 1))[1])


@pytest.mark.parametrize("how", ["native", "python"])
def test_an_error_ends_nothing(tmp_path, how):
    datas = [jpeg(0, (60, 60)), jpeg(1, (10, 10)), jpeg(2, (60, 60)), b"bad", jpeg(4, (60, 60))]
    samples = [Sample(b"a/%d.jpg" % i, 0, data) for i, data in enumerate(datas)]
    path = build(tmp_path / "a.dts", samples, [b"a"])
    crop = v2.Compose([v2.RandomCrop(40), v2.PILToTensor()])
    dataset = DTSDataset(path, crop if how == "native" else lambda image: crop(image))
    found = list(variants(dataset, [0, 1, 2, 3, 4], 0, 0))
    assert [index for index, _ in found] == [0, 1, 2, 3, 4]
    assert [isinstance(sample, Exception) for _, sample in found] == [False, True, False, True, False]


def test_names(tmp_path, monkeypatch):
    assert isinstance(load_transform("imagenet-val"), v2.Compose)
    assert load_transform("torchvision.transforms.v2.functional:hflip") is v2.functional.hflip
    assert isinstance(load_transform("torchvision.transforms.v2:ToImage"), v2.ToImage)
    assert load_transform("torchvision.models:ResNet18_Weights.DEFAULT.transforms").crop_size == [224]
    (tmp_path / "mine.py").write_text(
        "from torchvision.transforms import v2\n"
        "flip = v2.RandomHorizontalFlip(p=1)\n"
        "def make(size=7):\n    return v2.CenterCrop(size)\n"
        "number = 5\n"
    )
    assert load_transform(f"{tmp_path / 'mine.py'}:flip").p == 1
    assert load_transform(f"{tmp_path / 'mine.py'}:make").size == (7, 7)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert load_transform("mine:flip").p == 1
    monkeypatch.delitem(sys.modules, "mine")
    for name, problem in {
        "RandomResizedCrop(224)": "is no transform, expected one of imagenet, ",
        "mine.py:number": "'mine.py:number' is int, expected a transform",
        "mine.py:nothing": "mine.py has no 'nothing'",
        "gone.py:x": "gone.py is no file",
        "gone_module:x": "module 'gone_module' can't be imported",
        ":x": "is no transform",
        "mine.py:": "is no transform",
    }.items():
        with pytest.raises(ValueError, match=problem.replace("(", r"\(").replace(".", r"\.")):
            load_transform(name)


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: v2.Compose([v2.RandomEqualize(p=0), *t.transforms])])
def test_normalised_values_are_taken_back(wrap):
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8))
    transform = wrap(
        v2.Compose(
            [
                v2.CenterCrop((6, 5)),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(*NORMALIZE),
            ]
        )
    )
    assert (np.asarray(Shown(transform)(transform(image))) == np.asarray(image)).all()


def test_what_can_be_shown():
    shown = Shown(None)
    image = Image.new("L", (3, 2), 7)
    assert shown(image) is image
    assert shown(torch.full((1, 2, 3), 9, dtype=torch.uint8)).getpixel((2, 1)) == 9
    assert shown(torch.full((2, 3), 300)).getpixel((0, 0)) == 255
    assert shown(np.full((2, 5, 3), 8, dtype=np.uint8)).size == (5, 2)
    assert shown(torch.tensor([[[float("nan"), 0.5]]])).getpixel((1, 0)) == 128
    for sample, problem in (
        ("text", "str, which can't be shown"),
        (torch.zeros(4, 2, 2), r"shape \(4, 2, 2\)"),
    ):
        with pytest.raises(ValueError, match=problem):
            shown(sample)
