# SPDX-License-Identifier: Apache-2.0
"""RandomCrop with every kind of border: torchvision's own code at the drawn place, or an error as its own."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.v2 as v2
from torchvision import transforms as v1

from torch_dts.transforms import compile
from torch_dts.transforms._values import PAD_MODES

SEED = 6
NUM_CASES = 150


def padded(side: int, before: int, after: int, wanted: int, if_needed: bool) -> int:
    """A side of the image with its borders."""
    side += before + after
    return side + 2 * max(wanted - side, 0) if if_needed else side


def drawn(monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, int]]) -> None:
    """torch.randint gives these, where it is asked for numbers below these bounds, in this order."""

    def randint(low: int, high: int, size: tuple[int, ...]) -> torch.Tensor:
        bound, answer = answers.pop(0)
        assert (low, high) == (0, bound)
        return torch.full(size, answer)

    monkeypatch.setattr(torch, "randint", randint)


def parameters(choices: random.Random) -> dict[str, Any]:
    low = -2 if choices.random() < 0.3 else 0
    sides = [choices.randint(low, 9) for _ in range(4)]
    padding = choices.choice([None, 0, sides[0], tuple(sides[:2]), tuple(sides)])
    size = choices.randint(1, 22), choices.randint(1, 22)
    mode = choices.choice(PAD_MODES)
    fill = choices.choice([0, 7, (1, 2, 3)])
    return {
        "size": size,
        "padding": padding,
        "pad_if_needed": choices.random() < 0.6,
        "fill": fill,
        "padding_mode": mode,
    }


def four(padding: Any) -> tuple[int, int, int, int]:
    """left, top, right, bottom."""
    if padding is None:
        return 0, 0, 0, 0
    sides = padding if isinstance(padding, tuple) else (padding,)
    return sides if len(sides) == 4 else (*sides, *sides, *sides, *sides)[:4]  # type: ignore[return-value]


@pytest.mark.parametrize("is_tensor", [False, True])
@pytest.mark.parametrize("library", [v1, v2])
def test_random_crops_are_torchvisions(
    library: Any,
    is_tensor: bool,
    pictures: Callable[..., list[bytes]],
    opened: Any,
    draws: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choices = random.Random(3)
    num_native = 0
    own_randint = torch.randint
    for case, data in enumerate(pictures(NUM_CASES, seed=7, low=1, high=20)):
        image = opened(data)
        how = parameters(choices)
        height, width = how["size"]
        left, top, right, bottom = four(how["padding"])
        whole = (
            padded(image.height, top, bottom, height, how["pad_if_needed"]),
            padded(image.width, left, right, width, how["pad_if_needed"]),
        )
        answers = []
        draw = draws([case], SEED)
        for i, (side, wanted) in enumerate(zip(whole, how["size"], strict=True)):
            # v1 draws both unless both sides fit; v2 only where there is a choice
            if whole != how["size"] if library is v1 else side > wanted:
                answers.append((side - wanted + 1, int(draw.below(0, max(side - wanted + 1, 1), i)[0])))
        before = [v1.Resize((image.height, image.width))] if choices.random() < 0.5 else []
        steps = [v1.PILToTensor(), library.RandomCrop(**how)]
        transform = v1.Compose([*before, *(steps if is_tensor else steps[::-1])])
        drawn(monkeypatch, answers)
        try:
            expected = transform(image)
        except (ValueError, RuntimeError, TypeError, IndexError):
            expected = None
        monkeypatch.setattr(torch, "randint", own_randint)
        compiled = compile(transform)
        num_native += compiled.plan is not None
        if compiled.plan is None:
            continue
        if expected is None:
            with pytest.raises(Exception, match=r"\(sample 0 of the batch\)"):
                compiled([data], seed=SEED, indices=[case])
        else:
            found = compiled([data], seed=SEED, indices=[case])[0]
            np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=f"{image.size} {how}")
    assert num_native > NUM_CASES // 4
