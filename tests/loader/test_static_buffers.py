# SPDX-License-Identifier: Apache-2.0
"""One set of tensors for all batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from torch_dts.loader._static_buffers import StaticBuffers


def batch(seed: int, size: int = 3, **changes: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(size, 3, 4, 4, generator=generator).contiguous(memory_format=torch.channels_last)
    return {"images": images, "names": [str(seed)], "labels": torch.full((size,), seed), **changes}


def test_each_batch_is_written_into_the_same_tensors() -> None:
    buffers = StaticBuffers()
    given = batch(1)
    first = buffers.write(given)
    assert first["images"].data_ptr() != given["images"].data_ptr()
    assert torch.equal(first["images"], given["images"])
    assert first["images"].is_contiguous(memory_format=torch.channels_last)
    second = buffers.write(batch(2))
    assert second["images"] is first["images"]
    assert second["labels"] is first["labels"]
    assert second["names"] == ["2"]
    assert torch.equal(first["images"], batch(2)["images"])
    assert first["labels"].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "other", [batch(2, size=2), batch(2, labels=torch.zeros(3)), batch(2, more=torch.zeros(1))]
)
def test_a_batch_of_another_kind_is_refused(other: dict[str, Any]) -> None:
    buffers = StaticBuffers()
    first = buffers.write(batch(1))
    with pytest.raises(ValueError, match=r"found \[.*\], expected \[.*drop_last=True"):
        buffers.write(other)
    assert torch.equal(first["images"], batch(1)["images"])
