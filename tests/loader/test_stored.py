# SPDX-License-Identifier: Apache-2.0
"""What samples that are not decoded are made of, and those that native code could not read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from recognise_sets import cifar, mnist, opened
from torch.utils.data import ConcatDataset

from torch_dts import _native
from torch_dts.loader._foreign_desk import ForeignPool
from torch_dts.loader._stored import StoredDesk, stored_form


def engine(*rows: tuple[int, int, int]) -> Any:
    """Found samples that can't be read: batch, slot, sample."""
    info = torch.tensor([[*row, 0, 0, 0, 1] for row in rows], dtype=torch.int64).reshape(-1, 7)
    return SimpleNamespace(take_foreign=lambda: (info, *[torch.empty(0)] * 3))


def read(sample: int) -> bytes:
    if sample > 9:
        raise FileNotFoundError(2, "No such file or directory", f"{sample}.jpg")
    return bytes([sample] * sample)


RECOGNISED: Any = SimpleNamespace(read_bytes=read, describe=lambda sample: f"sample {sample}")


def empty(count: int) -> list[torch.Tensor]:
    return [torch.empty(0, dtype=torch.uint8) for _ in range(count)]


def test_files_that_came_to_be_meanwhile() -> None:
    desk = StoredDesk(ForeignPool(), RECOGNISED, "raise")
    desk.collect(engine((0, 1, 3), (1, 0, 0)))
    desk.collect(engine())
    views = empty(2)
    desk.fill(0, views, [1])
    assert [view.tolist() for view in views] == [[], [3, 3, 3]]
    assert views[1].dtype == torch.uint8
    desk.fill(1, views, [0])
    assert [view.tolist() for view in views] == [[], [3, 3, 3]]


def test_the_first_error_is_raised_when_all_are_taken() -> None:
    desk = StoredDesk(ForeignPool(), RECOGNISED, "raise")
    desk.collect(engine((4, 0, 11), (4, 2, 5), (4, 3, 12)))
    views = empty(4)
    with pytest.raises(FileNotFoundError, match=r"No such file or directory.*sample 11"):
        desk.fill(4, views, [0, 2, 3])
    assert views[2].tolist() == [5] * 5
    desk.collect(engine((5, 0, 13)))
    desk.clear()
    with pytest.raises(KeyError, match="5"):
        desk.fill(5, views, [0])


def test_replacing() -> None:
    pool = ForeignPool()
    desk = StoredDesk(pool, RECOGNISED, "replace")
    desk.collect(engine((0, 0, 10), (0, 1, 11)))
    views = empty(2)
    with pytest.warns(UserWarning, match=r"was replaced by an empty tensor: .*sample 10"):
        desk.fill(0, views, [0, 1])
    assert [view.numel() for view in views] == [0, 0]
    assert pool.stats().num_replaced == 2


def test_pixels_have_their_channels_last() -> None:
    values = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 4, 5, 3)
    for dataset, shape in ((cifar(), (2, 4, 5, 3)), (mnist(), (2, 4, 5))):
        form, plan, unite = stored_form(opened(dataset))
        assert form == _native.IMAGES
        assert "layout=1" in plan
        pixels = values if len(shape) == 4 else values[..., :1].contiguous()
        united = unite([pixels.permute(0, 3, 1, 2)])
        assert united.shape == shape
        assert united.data_ptr() == pixels.data_ptr()
        assert torch.equal(united, pixels.reshape(shape))


def test_samples_of_several_sizes_are_apart() -> None:
    other = mnist()
    other.data = torch.zeros((6, 3, 3), dtype=torch.uint8)
    form, plan, unite = stored_form(opened(ConcatDataset([mnist(), other])))
    assert (form, plan) == (_native.BYTES, "")
    views = empty(3)
    assert unite(views) == views
