# SPDX-License-Identifier: Apache-2.0
"""Every tensor op passes torch's own checks of schema and fake kernel."""

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torch_dts import _native

SIZES = torch.tensor([5, 2, 6, 9])
ARENA = torch.zeros(64, dtype=torch.uint8)
PLAN = (
    "source channels=1 max_pixels=0 pass_order=2\n"
    "horizontal_flip op=0 p=0.5\n"
    "output height=4 width=8 channels=1 dtype=2 layout=1 scale=1\n"
)
SAMPLES: dict[str, tuple[Any, ...]] = {
    "block_order": (7, 3, 1),
    "sample_order": (SIZES, 3, 1, 2, 1, 0),
    "rank_runs": (SIZES, 3, 1, 2, 3, 1),
    "scan_samples": (ARENA, torch.tensor([0, 32]), torch.tensor([32, 32])),
    "pixel_sums": (
        ARENA,
        torch.tensor([0, 32]),
        torch.tensor([32, 24]),
        torch.tensor([[0, 0, 0], [2, 4, 3]]),
        -1,
    ),
    "decode_crop_resize": (
        ARENA,
        torch.tensor([0, 32]),
        torch.tensor([32, 32]),
        torch.tensor([[0, 0, 4, 4, 2, 2, 0, 0]] * 2),
        2,
        2,
        "bilinear",
        3,
    ),
    "fused_normalize": (
        torch.zeros(2, 4, 5, 3, dtype=torch.uint8),
        torch.tensor([True, False]),
        torch.tensor([0.5]),
        torch.tensor([0.25]),
        torch.float16,
        True,
        torch.tensor([[0, 1, 2, 3], [0, 0, 0, 0]]),
        torch.tensor([-1.0]),
        2,
        4,
    ),
    "run_plan": (
        ARENA,
        torch.tensor([0, 32]),
        torch.tensor([32, 32]),
        torch.tensor([[4, 8, 1]] * 2),
        PLAN,
        torch.tensor([0, 1]),
        torch.tensor([0, 0]),
        3,
        1,
        0,
    ),
    "export_jpegs": (ARENA, torch.tensor([0, 32]), torch.tensor([32, 32]), 3, 0, 2, -1, 1),
    "transcode_jpegs": (ARENA, torch.tensor([0, 32]), torch.tensor([32, 32]), 0, False, 2),
    "run_views": (
        ARENA,
        torch.tensor([0, 32]),
        torch.tensor([32, 32]),
        torch.tensor([[4, 8, 1]] * 2),
        PLAN + "view\n" + PLAN,
        torch.tensor([0, 1]),
        torch.tensor([0, 0]),
        3,
        1,
    ),
    "choose_seed": (torch.tensor([0, 1]), torch.tensor([0, 0]), 3, 1, 0),
}


def test_every_tensor_op_has_a_case() -> None:
    assert set(SAMPLES) == set(_native.TENSOR_OPS)


@pytest.mark.parametrize("name", _native.TENSOR_OPS)
def test_opcheck(name: str) -> None:
    op = getattr(torch.ops.torch_dts, name).default
    torch.library.opcheck(op, SAMPLES[name])


def test_fake_shapes() -> None:
    with FakeTensorMode() as mode:
        ops = torch.ops.torch_dts
        assert ops.block_order(7, 0, 0).shape == (7,)
        found = ops.scan_samples(
            mode.from_tensor(ARENA),
            mode.from_tensor(torch.zeros(3).long()),
            mode.from_tensor(torch.zeros(3).long()),
        )
        assert found.shape == (3, 4)
        assert found.dtype == torch.int64
