# SPDX-License-Identifier: Apache-2.0
"""What Pillow and Python do in place of native code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torchvision import transforms as v1

from torch_dts import _native
from torch_dts.transforms._pillow import naming, open_rgb, run_in_python, transform_one

NEVER = torch.empty(0, dtype=torch.int64)


def test_opening(pictures: Callable[..., list[bytes]], opened: Any) -> None:
    [data] = pictures(1)
    image = open_rgb(3, memoryview(data))
    np.testing.assert_array_equal(np.asarray(image), np.asarray(opened(data)))
    assert image.mode == "RGB"
    with pytest.raises(OSError, match=r"cannot identify image file .* \(sample 3 of the batch\)"):
        open_rgb(3, memoryview(b"nothing"))


def test_errors_keep_their_type_and_other_arguments() -> None:
    def fail(*args: Any) -> None:
        with naming(7):
            raise OSError(*args)

    with pytest.raises(OSError, match=r"^text \(sample 7 of the batch\)$"):
        fail("text")
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        fail(2, "No such file")
    assert caught.value.errno == 2


def test_seeds_are_those_of_the_native_op(pictures: Callable[..., list[bytes]], opened: Any) -> None:
    datas = pictures(2)

    def draw(image: Any) -> Tensor:
        return torch.randint(1 << 40, ())

    indices = torch.tensor([3, 1 << 39])
    found = run_in_python([draw], [memoryview(data) for data in datas], -1, 7, indices)
    for i, seed in enumerate(_native.choose_seed(indices, NEVER, -1, 7).tolist()):
        generator = torch.Generator().manual_seed(seed)
        assert found[0][i] == torch.randint(1 << 40, (), generator=generator)
        assert [found[0][i]] == transform_one([draw], opened(datas[i]), i, int(indices[i]), -1, 7)


def test_one_image(pictures: Callable[..., list[bytes]], opened: Any) -> None:
    image = opened(pictures(1)[0])
    assert torch.equal(transform_one([v1.PILToTensor()], image, 0, 0, 0, 0)[0], v1.PILToTensor()(image))
    with pytest.raises(TypeError, match="the transform gives Image for sample 4, expected a tensor"):
        transform_one([v1.CenterCrop(3)], image, 4, 0, 0, 0)
    with pytest.raises(ValueError, match=r"Required crop size .* \(sample 4 of the batch\)"):
        transform_one([v1.RandomCrop(1000)], image, 4, 0, 0, 0)
