# SPDX-License-Identifier: Apache-2.0
"""What flows from one operation to the next."""

import pytest
import torch

from torch_dts.transforms import _steps as steps
from torch_dts.transforms._plan import Plan
from torch_dts.transforms._state import Kind, State
from torch_dts.transforms._values import Refusal


def test_random_operations_are_counted() -> None:
    state = State()
    assert [state.take_op(), state.take_op(), state.num_random_ops] == [0, 1, 2]


def test_bytes_are_needed() -> None:
    State().need_pil()
    tensor = State(kind=Kind.TENSOR)
    tensor.need_bytes()
    with pytest.raises(Refusal, match="on tensors torchvision computes it otherwise"):
        tensor.need_pil()
    with pytest.raises(Refusal, match=r"on torch.float32 tensors"):
        State(kind=Kind.TENSOR, dtype=torch.float32).need_bytes()
    erased = State(kind=Kind.TENSOR, erasing=steps.RandomErasing(0, 1.0, (0.1, 0.2), (1.0, 1.0), (0.0,)))
    with pytest.raises(Refusal, match="put RandomErasing last"):
        erased.need_bytes()


def test_the_plan() -> None:
    state = State(1, (5, 6), Kind.IMAGE, channels=1, steps=[steps.Grayscale(1)], scale=2, num_random_ops=4)
    assert state.finish() == Plan(
        (steps.Grayscale(1),), (1, 5, 6), torch.uint8, 2, num_random_ops=4, source_channels=1
    )
    with pytest.raises(Refusal, match="the result is a PIL image"):
        State(size=(5, 6)).finish()
    with pytest.raises(Refusal, match="the result has 5 x 65536 pixels, more than 65535 on a side"):
        State(size=(5, 65536), kind=Kind.IMAGE).finish()
    with pytest.raises(Refusal, match="it has 65 operations on pixels, more than 64"):
        State(size=(5, 6), kind=Kind.IMAGE, steps=[steps.Grayscale(3)] * 65).finish()
    with pytest.raises(Refusal, match="the size of the result depends on the image"):
        State(kind=Kind.TENSOR).finish()
