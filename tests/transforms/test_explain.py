# SPDX-License-Identifier: Apache-2.0
"""What a user is told."""

import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

from torch_dts.transforms import explain


def test_a_native_transform() -> None:
    operations = [
        v2.ToImage(),
        v2.Resize((8, 9)),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
    ]
    assert explain(v2.Compose(operations)) == (
        "v2.ToImage(): native\n"
        "v2.Resize(size=[8, 9], interpolation='bilinear', max_size=None, antialias=True): native, "
        "within 1 level of torchvision's resize of uint8 tensors (2 in fewer than one of a million values)\n"
        "v2.RandomHorizontalFlip(p=0.5): native\n"
        "v2.ToDtype(dtype=torch.float32, scale=True): native\n"
        "The transform runs natively."
    )


def test_a_transform_for_python() -> None:
    operations = [v1.CenterCrop(8), v1.RandomApply([v1.ColorJitter()]), v1.ToTensor()]
    assert explain(v1.Compose(operations)) == (
        "CenterCrop(size=(8, 8)): native\n"
        "RandomApply(transforms=[ColorJitter], p=0.5): Python (it is not run natively)\n"
        "ToTensor(): Python (what reaches it is not known)\n"
        "The transform runs in Python. RandomApply(transforms=[ColorJitter], p=0.5): it is not run natively"
    )


def test_reasons_that_are_no_operations() -> None:
    assert explain(None).startswith("The transform runs in Python. without a transform")
    lines = explain(v1.ToTensor()).splitlines()
    assert lines[0] == "ToTensor(): native"
    assert lines[1].startswith("The transform runs in Python. the size of the result depends on the image")
