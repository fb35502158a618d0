# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the middle of a step: the state is before it, and the batch comes after going on."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from torch.utils.data import default_collate
from torchvision import transforms

import torch_dts


class Collate:
    """Raises once, at the call of this number."""

    def __init__(self, error: type[BaseException], number: int) -> None:
        self.error = error
        self.number = number

    def __call__(self, samples: list[Any]) -> Any:
        self.number -= 1
        if self.number == 0:
            raise self.error("now")
        return default_collate(samples)


def loader(file: pathlib.Path, collate_fn: Any, **options: Any) -> torch_dts.DataLoader:
    transform = transforms.Compose([transforms.Resize((4, 4)), transforms.ToTensor()])
    dataset = torch_dts.DTSDataset(file, transform)
    return torch_dts.DataLoader(
        dataset, 4, shuffle=True, seed=5, num_workers=0, return_index=True, collate_fn=collate_fn, **options
    )


def indices(batches: Any, num_devices: int) -> list[Any]:
    if num_devices:
        return [[batch[2].tolist() for batch in step] for step in batches]
    return [batch[2].tolist() for batch in batches]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("num_devices", [0, 2])
@pytest.mark.parametrize("number", [1, 3, 4])
def test_what_the_state_counts(
    blocks_file: pathlib.Path, error: type[BaseException], repeat: int, num_devices: int, number: int
) -> None:
    options: dict[str, Any] = {"repeat": repeat}
    if num_devices:
        options["devices"] = ["cpu"] * num_devices
    expected = indices(loader(blocks_file, default_collate, **options), num_devices)
    first = loader(blocks_file, Collate(error, number), **options)
    taken = (number - 1) // max(1, num_devices)
    iterator = iter(first)
    for _ in range(taken):
        next(iterator)
    with pytest.raises(error, match="now"):
        next(iterator)
    other = loader(blocks_file, default_collate, **options)
    other.load_state_dict(first.state_dict())
    # An error of the caller's own code takes the step with it; an interrupt doesn't.
    assert indices(other, num_devices) == expected[taken + (error is ValueError) :]
    left = indices(iterator, num_devices)
    assert left == ([] if error is KeyboardInterrupt else expected[taken + 1 :])
