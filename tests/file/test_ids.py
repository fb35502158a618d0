# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch

from torch_dts.file._ids import block_ids_tensor, sample_ids_tensor


@pytest.mark.parametrize(
    "ids",
    [
        [0, -1, 4, -5, 0],
        (0, -1, 4, -5, 0),
        iter([0, -1, 4, -5, 0]),
        np.array([0, -1, 4, -5, 0], dtype=np.int16),
        torch.tensor([0, -1, 4, -5, 0], dtype=torch.int32),
        torch.tensor([[0, 9], [-1, 9], [4, 9], [-5, 9], [0, 9]])[:, 0],
    ],
)
def test_samples(ids):
    found = sample_ids_tensor(ids, 5)
    assert found.dtype == torch.int64
    assert found.tolist() == [0, 4, 4, 0, 0]
    assert found.is_contiguous()


def test_blocks():
    assert block_ids_tensor(range(3), 3).tolist() == [0, 1, 2]
    assert block_ids_tensor([], 0).tolist() == []
    with pytest.raises(IndexError, match="block -1 is out of range: there are 3"):
        block_ids_tensor([0, -1], 3)
    with pytest.raises(IndexError, match="block 3 is out of range: there are 3"):
        block_ids_tensor(torch.tensor([3]), 3)


@pytest.mark.parametrize("index", [5, -6, 2**62])
def test_out_of_range(index):
    with pytest.raises(IndexError, match=f"sample {index} is out of range: there are 5"):
        sample_ids_tensor([0, index], 5)


def test_no_sample_in_an_empty_set():
    assert sample_ids_tensor([], 0).numel() == 0
    with pytest.raises(IndexError, match="sample 0 is out of range: there are 0"):
        sample_ids_tensor([0], 0)


@pytest.mark.parametrize("ids", [[1.0], ["1"], [None], torch.tensor([1.0]), torch.tensor([True])])
def test_no_integers(ids):
    with pytest.raises(TypeError, match="integer"):
        sample_ids_tensor(ids, 5)


@pytest.mark.parametrize("ids", [torch.tensor(1), torch.tensor([[1]])])
def test_other_shapes(ids):
    with pytest.raises(ValueError, match="expected one dimension"):
        sample_ids_tensor(ids, 5)


def test_numbers_beyond_64_bits():
    for far in (2**70, -(2**70), 2**63):
        with pytest.raises(IndexError, match=f"sample {far} is out of range: there are 3"):
            sample_ids_tensor([far], 3)
    with pytest.raises(IndexError, match=f"sample {2**64 - 1} is out of range: there are 3"):
        sample_ids_tensor(torch.tensor([2**64 - 1], dtype=torch.uint64), 3)


@pytest.mark.parametrize(("ids", "shown"), [(5, "5"), ("ab", "'ab'"), ([1, 2.5], r"\[1, 2\.5\]")])
def test_what_is_no_list_of_numbers(ids, shown):
    text = f"sample numbers come as a list, range or tensor of integers, such as .0, 7., not {shown}$"
    with pytest.raises(TypeError, match=text):
        sample_ids_tensor(ids, 9)
