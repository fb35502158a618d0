# SPDX-License-Identifier: Apache-2.0
"""Which samples go into the file."""

from __future__ import annotations

import pytest
import torch

from torch_dts.convert import BadSamplesError
from torch_dts.convert._check import Checked
from torch_dts.convert._kept import Kept, choose
from torch_dts.convert._report import BadSample
from torch_dts.convert._samples import Samples


def samples_of(count: int) -> Samples:
    names = [f"c/{i}.jpg" for i in range(count)]
    return Samples(kind="X", files=names, labels=torch.arange(count), classes=names, names=names)


def checked_of(sizes: list[int], bad: list[int]) -> Checked:
    found = [BadSample(f"c/{i}.jpg", i, "bad") for i in bad]
    return Checked(torch.tensor(sizes), bad=found)


def test_skip_leaves_bad_samples_out() -> None:
    choice = choose(samples_of(4), checked_of([10, -1, 12, 13], [1, 2]), "skip")
    assert choice.kept.numbers.tolist() == [0, 3]
    assert choice.kept.sizes.tolist() == [10, 13]
    assert choice.kept.labels.tolist() == [0, 3]
    assert [each.index for each in choice.left_out] == [1, 2]
    assert choice.kept_bad == []


def test_keep_needs_bytes() -> None:
    choice = choose(samples_of(3), checked_of([10, 11, 12], [1]), "keep")
    assert choice.kept.numbers.tolist() == [0, 1, 2]
    assert [each.index for each in choice.kept_bad] == [1]
    with pytest.raises(
        BadSamplesError, match=r"1 of 3 samples can't be used. Nothing was written. It has no"
    ):
        choose(samples_of(3), checked_of([10, -1, 12], [1]), "keep")


def test_raise_lists_all() -> None:
    with pytest.raises(BadSamplesError, match="2 of 3 samples can't be used"):
        choose(samples_of(3), checked_of([10, 11, 12], [0, 1]), "raise")
    with pytest.raises(
        ValueError,
        match=r"all 2 of the source are bad\n  c/0\.jpg \(sample 0\): bad\n  c/1",
    ):
        choose(samples_of(2), checked_of([10, 11], [0, 1]), "skip")


def test_select_and_bytes_from_elsewhere() -> None:
    class Recoded:
        def read_into(
            self, numbers: torch.Tensor, offsets: torch.Tensor, sizes: torch.Tensor, arena: torch.Tensor
        ) -> None:
            for number, offset, size in zip(numbers.tolist(), offsets.tolist(), sizes.tolist(), strict=True):
                arena[offset : offset + size] = number

    kept = Kept(
        samples_of(5), torch.tensor([0, 2, 4]), torch.tensor([1, 2, 3]), torch.tensor([0, 2, 4]), Recoded()
    )
    some = kept.select(torch.tensor([2, 1]))
    assert len(some) == 2
    assert (some.numbers.tolist(), some.sizes.tolist(), some.labels.tolist()) == ([4, 2], [3, 2], [4, 2])
    arena = torch.zeros(8, dtype=torch.uint8)
    some.read_into(torch.tensor([1, 0]), torch.tensor([0, 4]), torch.tensor([2, 3]), arena)
    assert arena.tolist() == [2, 2, 0, 0, 4, 4, 4, 0]


def test_num_encoded_counts_what_is_kept() -> None:
    samples = samples_of(4)
    samples.encoded = [0, 3]
    assert choose(samples, checked_of([1, 1, 1, 1], [3]), "skip").kept.num_encoded == 1
