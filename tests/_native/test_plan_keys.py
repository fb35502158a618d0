# SPDX-License-Identifier: Apache-2.0
"""Keys of random choices, Python's seeds, statuses and arguments of plans."""

import pathlib
import sys
from typing import Any

import pytest
import torch

from torch_dts import _native

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from plan_reference import Draws, PlanCase, u

KEYS: list[dict[str, int]] = [
    {"seed": 0, "epoch": 0, "index": 0, "occurrence": 0, "view": 0},
    {"seed": 2**64 - 1, "epoch": 2**32 - 1, "index": 2**40 - 1, "occurrence": 65535, "view": 255},
    {"seed": 0x8000000000000001, "epoch": 7, "index": 0xAB00000005, "occurrence": 3, "view": 2},
    {"seed": 5, "epoch": 7, "index": 9, "occurrence": 65536 + 3, "view": 0},
]
# 1 x 16 pixels 0, 1, ... 15: shows whether it was flipped.
ROW = torch.arange(16, dtype=torch.uint8)


def run_rows(
    count: int, text: str, indices: list[int], occurrences: list[int], seed: int, epoch: int, view: int
) -> tuple[torch.Tensor, torch.Tensor]:
    return _native.run_plan(
        ROW.repeat(count),
        torch.arange(count) * 16,
        torch.full((count,), 16),
        torch.tensor([[1, 16, 1]] * count),
        text,
        torch.tensor(indices),
        torch.tensor(occurrences, dtype=torch.int64),
        seed,
        epoch,
        view,
    )


@pytest.mark.parametrize("key", KEYS)
def test_flips_go_by_the_whole_key(key: dict[str, int]) -> None:
    count = 40
    indices = [max(0, key["index"] - i) for i in range(count)]
    for op in (0, 1, 32766):
        flip = {"name": "horizontal_flip", "op": op, "p": 0.5}
        text = PlanCase([flip], channels=1, source_channels=1).text(1, 16)
        images, status = run_rows(
            count, text, indices, [key["occurrence"]] * count, key["seed"], key["epoch"], key["view"]
        )
        assert not status.any()
        for index, image in zip(indices, images, strict=True):
            draws = Draws(**(key | {"index": index}))
            assert bool(image[0, 0, 0] == 15) == (u(draws(op, 0)[0]) < 0.5)


@pytest.mark.parametrize("key", KEYS)
def test_choose_seed(key: dict[str, int]) -> None:
    indices = [max(0, key["index"] - i) for i in range(5)]
    seeds = _native.choose_seed(
        torch.tensor(indices), torch.tensor([key["occurrence"]] * 5), key["seed"], key["epoch"], key["view"]
    )
    for index, seed in zip(indices, seeds.tolist(), strict=True):
        r = Draws(**(key | {"index": index}))(32767, 0)
        assert seed == (r[0] | r[1] << 32) & 2**63 - 1


def test_no_occurrences_are_zeros_and_seeds_wrap() -> None:
    indices, none = torch.arange(9), torch.zeros(0, dtype=torch.int64)
    expected = _native.choose_seed(indices, torch.zeros(9, dtype=torch.int64), 3, 1)
    assert torch.equal(_native.choose_seed(indices, none, 3, 1), expected)
    assert torch.equal(_native.choose_seed(indices, none, 3 + 2**64, 1), expected)
    assert torch.equal(_native.choose_seed(indices, none, 3 - 2**64, 1), expected)
    assert len(set(expected.tolist())) == 9
    assert _native.choose_seed(none, none, 0, 0).shape == (0,)


def test_no_samples() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    text = PlanCase([], dtype=2, layout=1).text(4, 5)
    images, status = _native.run_plan(
        torch.zeros(0, dtype=torch.uint8), none, none, none.reshape(0, 3), text, none, none, 0, 0
    )
    assert images.shape == (0, 3, 4, 5)
    assert images.dtype == torch.float16
    assert status.shape == (0,)


GOOD: dict[str, Any] = {
    "arena": ROW,
    "offsets": torch.tensor([0]),
    "sizes": torch.tensor([16]),
    "shapes": torch.tensor([[1, 16, 1]]),
    "plan": PlanCase([], channels=1, source_channels=1).text(1, 16),
    "indices": torch.tensor([0]),
    "occurrences": torch.zeros(0, dtype=torch.int64),
    "seed": 0,
    "epoch": 0,
    "view": 0,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": "resize height=1"}, r"plan, line 1 \(resize\): expected the line 'source' first"),
        ({"plan": ""}, "plan: found no line 'output'"),
        ({"arena": ROW.float()}, "arena must have dtype torch.uint8"),
        ({"sizes": torch.tensor([16, 16])}, "offsets has 1 elements, sizes has 2"),
        ({"shapes": torch.tensor([1, 16])}, r"shapes has 2 elements, 3 \* offsets has 3"),
        ({"shapes": torch.tensor([[1, 15, 1]])}, "sample 0 has shape 1 x 15 x 1, .* 16 bytes"),
        ({"shapes": torch.tensor([[1, 16, 0]])}, "sample 0 has shape"),
        ({"shapes": torch.tensor([[0, 16, 1]])}, "sample 0 has shape"),
        ({"shapes": torch.tensor([[2**62, 2**62, 16]])}, "sample 0 has shape"),
        ({"shapes": torch.tensor([[-1, -16, 1]])}, "sample 0 has shape"),
        ({"indices": torch.tensor([0, 1])}, "indices has 2 elements, offsets has 1"),
        ({"indices": torch.tensor([-1])}, "an index is -1, expected 0 to 1099511627775"),
        ({"indices": torch.tensor([2**40])}, "an index is 1099511627776"),
        ({"occurrences": torch.tensor([1, 2])}, "occurrences has 2 elements, indices has 1"),
        ({"epoch": -1}, "epoch is -1, expected 0 to 4294967295"),
        ({"epoch": 2**32}, "epoch is 4294967296"),
        ({"view": 256}, "view is 256, expected 0 to 255"),
    ],
)
def test_wrong_arguments(changes: dict[str, Any], message: str) -> None:
    _native.run_plan(**GOOD)
    with pytest.raises(ValueError, match=message):
        _native.run_plan(**(GOOD | changes))


@pytest.mark.parametrize(("offset", "size"), [(-1, 1), (0, -1), (1, 16), (17, 0), (2**62, 2**62)])
def test_samples_outside_of_the_arena(offset: int, size: int) -> None:
    with pytest.raises(IndexError, match=r"sample 0 \(offset .*outside of the arena of 16 bytes"):
        _native.run_plan(**(GOOD | {"offsets": torch.tensor([offset]), "sizes": torch.tensor([size])}))


def test_bad_samples_are_zeros_beside_good_ones() -> None:
    text = PlanCase([], channels=1, source_channels=1, dtype=1).text(1, 16)
    images, status = _native.run_plan(
        **(
            GOOD
            | {
                "plan": text,
                "offsets": torch.tensor([0, 0, 3]),
                "sizes": torch.tensor([16, 16, 0]),
                "shapes": torch.tensor([[0, 0, 0], [1, 16, 1], [0, 0, 0]]),
                "indices": torch.arange(3),
            }
        )
    )
    assert [_native.DECODE_STATUS[s] for s in status.tolist()] == ["no JPEG", "ok", "no JPEG"]
    assert not images[0].any()
    assert torch.equal(images[1, 0, 0], ROW.float())
    assert not images[2].any()


def test_opcheck() -> None:
    arguments = (*GOOD.values(),)
    torch.library.opcheck(torch.ops.torch_dts.run_plan.default, arguments)
    last = PlanCase([], channels=1, source_channels=1, dtype=3, layout=1).text(1, 16)
    torch.library.opcheck(torch.ops.torch_dts.run_plan.default, (*arguments[:4], last, *arguments[5:]))
    torch.library.opcheck(torch.ops.torch_dts.choose_seed.default, (*arguments[5:],))
