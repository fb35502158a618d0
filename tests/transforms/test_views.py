# SPDX-License-Identifier: Apache-2.0
"""Views: a plain transform, read view by view, compiled and explained."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1

from torch_dts import _native
from torch_dts._seeding import sample_seeds, seed_generators
from torch_dts.transforms import Views, compile, explain
from torch_dts.transforms._read import read
from torch_dts.transforms._views import encode_views, parts_of, read_views

LARGE = v1.Compose([v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), v1.ToTensor()])
SMALL = v1.Compose([v1.RandomResizedCrop(9, (0.05, 0.3)), v1.PILToTensor()])


def noisy(image: Any) -> Any:
    """Nothing that can be read."""
    return v1.functional.to_tensor(image.resize((8, 8))) + torch.rand(1)


def test_views_are_a_transform_that_gives_a_list() -> None:
    image = Image.new("RGB", (5, 4), (9, 8, 7))
    one, other = Views([v1.PILToTensor(), v1.ToTensor()])(image)
    assert torch.equal(one, v1.PILToTensor()(image))
    assert torch.equal(other, v1.ToTensor()(image))
    views = Views((LARGE, SMALL, SMALL))
    assert views.transforms == [LARGE, SMALL, SMALL]
    assert repr(views).startswith("Views([\n    Compose(\n        RandomResizedCrop(size=(24, 24)")
    assert len(pickle.loads(pickle.dumps(views)).transforms) == 3


@pytest.mark.parametrize("kind", [lambda image: image, np.array, v1.PILToTensor()])
def test_a_transform_that_changes_its_image_changes_its_own(kind: Callable[[Any], Any]) -> None:
    def blacken(image: Any) -> Any:
        if isinstance(image, Image.Image):
            image.paste((0, 0, 0), (0, 0, *image.size))
        else:
            image[:] = 0
        return np.asarray(image).max()

    image = kind(Image.new("RGB", (5, 4), (9, 8, 7)))
    assert Views([blacken, lambda image: np.asarray(image).max()])(image) == [0, 9]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="transforms has 0 entries, expected 1 to 256"):
        Views([])
    with pytest.raises(ValueError, match="transforms has 257 entries, expected 1 to 256"):
        Views([SMALL] * 257)
    with pytest.raises(TypeError, match=r"transforms\[1\] is 3, expected something to call"):
        Views([SMALL, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="views is 2, but the transform is a Views already: leave views out"):
        parts_of(Views([SMALL]), 2)
    plan = read(SMALL).plan
    assert plan is not None
    with pytest.raises(ValueError, match="2 views times repeat=129 are 258 augmentations of an image"):
        encode_views([plan, plan], repeat=129)


def test_each_view_is_read() -> None:
    reading = read_views(Views([LARGE, SMALL, LARGE]))
    assert reading.plans == (read(LARGE).plan, read(SMALL).plan, read(LARGE).plan)
    assert reading.is_list
    assert read_views(SMALL, 3).plans == (read(SMALL).plan,) * 3
    assert read_views(SMALL, 3).is_list
    assert not read_views(SMALL).is_list
    assert read_views(Views([SMALL])).is_list
    refused = read_views(Views([LARGE, noisy]))
    assert refused.plans is None
    assert refused.reason.startswith("view 1: ")
    assert "noisy" in refused.reason

    class Own(Views):
        pass

    assert read_views(Own([LARGE])).plans is None
    assert read_views(v1.Compose([Views([LARGE])])).plans is None


def test_explain_says_it_per_view() -> None:
    said = explain(Views([SMALL, noisy]))
    assert said.splitlines()[0] == "View 0:"
    assert re.search(r"RandomResizedCrop\(.*: native\n.*PILToTensor.*\nView 1:\n.*noisy: Python", said)
    assert "The transform runs in Python. view 1: " in said
    assert explain(Views([SMALL, LARGE])).endswith("The transform runs natively.")


def test_compiled_views_are_those_of_their_numbers(pictures: Callable[..., list[bytes]], opened: Any) -> None:
    datas = pictures(8, low=30)
    views = Views([LARGE, SMALL, LARGE])
    compiled = compile(views)
    assert isinstance(compiled.plan, tuple)
    found = compiled(datas, seed=5, epoch=3)
    assert [view.shape[2] for view in found] == [24, 9, 24]
    for number, (part, view) in enumerate(zip(views.transforms, found, strict=True)):
        plan = read(part).plan
        assert plan is not None
        for index, data in enumerate(datas):
            pixels = np.array(opened(data))
            expected, _ = _native.run_plan(
                torch.from_numpy(pixels.reshape(-1)),
                torch.tensor([0]),
                torch.tensor([pixels.size]),
                torch.tensor([pixels.shape]),
                plan.encode(),
                torch.tensor([index]),
                torch.empty(0, dtype=torch.int64),
                5,
                3,
                number,
            )
            assert torch.equal(view[index], expected[0])


def test_compiled_in_python_each_view_has_a_seed_of_its_own(
    pictures: Callable[..., list[bytes]], opened: Any
) -> None:
    datas = pictures(2)
    found = compile(Views([noisy, noisy]))(datas, seed=5, epoch=3)
    for number, view in enumerate(found):
        for index, data in enumerate(datas):
            seed_generators(sample_seeds([index], [], 5, 3, number)[0])
            assert torch.equal(view[index], noisy(opened(data)))
