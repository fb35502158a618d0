# SPDX-License-Identifier: Apache-2.0
"""The stage alone: what it asks of the device and in which order, and what it holds until when."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from cuda_double import CpuCalls
from torch import Tensor
from torch.nn.functional import pad

from torch_dts import _native
from torch_dts.loader._cuda_stage import MAX_IN_FLIGHT, Stage
from torch_dts.transforms._plan import DIVIDE
from torch_dts.transforms._split import Tail

NONE = torch.empty(0, dtype=torch.int64)


def tail(height: int = 4, width: int = 5, **changes: object) -> Tail:
    given: dict[str, object] = {
        "height": height,
        "width": width,
        "channels": 3,
        "dtype": torch.float32,
        "channels_last": False,
        "scale": DIVIDE,
        "mean": (0.5, 0.25, 0.125),
        "std": (0.5, 0.5, 0.25),
        "erase_values": None,
        **changes,
    }
    return Tail(**given)  # type: ignore[arg-type]


def zone(images: list[Tensor], labels: Tensor, boxes: Tensor | None = None) -> Tensor:
    """The memory of a batch, as csrc/core/pipeline/transfer_station.h lays it out."""
    numbers = [labels, torch.arange(labels.numel())]
    if boxes is not None:
        numbers.append(boxes.reshape(-1))
    parts = torch.cat(numbers).view(torch.uint8)
    memory = [parts, torch.full((-parts.numel() % 256,), 7, dtype=torch.uint8)]
    for number, view in enumerate(images):
        memory.append(view.reshape(-1))
        if number + 1 < len(images):
            memory.append(torch.full((-view.numel() % 256,), 9, dtype=torch.uint8))
    return torch.cat(memory)


def photos(count: int, height: int = 4, width: int = 5) -> Tensor:
    return torch.randint(0, 256, (count, height, width, 3), dtype=torch.uint8)


def values(images: Tensor, of: Tail) -> Tensor:
    return _native.fused_normalize(images, None, torch.tensor(of.mean), torch.tensor(of.std), of.dtype)


def test_a_batch_is_copied_once_and_its_values_are_made_of_the_copy() -> None:
    calls, of = CpuCalls(), tail()
    stage = Stage(calls)
    stage.begin([of])
    images, labels = photos(3), torch.tensor([5, -1, 9])
    views, on_device = stage.upload(zone([images], labels), 3, NONE, [])
    assert on_device.tolist() == [5, -1, 9]
    assert torch.equal(views[0], values(images, of))
    assert [entry for entry in calls.log if entry[0] == "copy"] == [("copy", "side")]


def test_views_and_boxes_lie_where_the_station_puts_them() -> None:
    calls = CpuCalls()
    tails = [tail(), tail(7, 3, dtype=torch.float16, erase_values=(1.5,), mean=(), std=())]
    stage = Stage(calls)
    stage.begin(tails)
    images = [photos(5), photos(5, 7, 3)]
    boxes = torch.zeros(2, 5, 4, dtype=torch.int64)
    boxes[1, 2] = torch.tensor([1, 0, 4, 2])
    views, _ = stage.upload(zone(images, torch.arange(5), boxes), 5, NONE, [])
    assert torch.equal(views[0], values(images[0], tails[0]))
    expected = values(images[1], tails[1])
    expected[2, :, 1:5, 0:2] = 1.5
    assert torch.equal(views[1], expected)


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_fourth_channel_is_added_to_late_samples_too(channels_last: bool) -> None:
    of = tail(channels_last=channels_last)
    stage = Stage(CpuCalls(), pad_channels=4)
    stage.begin([of])
    images = photos(4)
    late = stage.late_images(2)
    late[0].copy_(torch.randn(2, 3, 4, 5))
    views, _ = stage.upload(zone([images], torch.arange(4)), 4, torch.tensor([3, 1]), late)
    expected = values(images, of)
    expected[3], expected[1] = late[0][0], late[0][1]
    assert torch.equal(views[0], pad(expected, (0, 0, 0, 0, 0, 1)))


def test_the_consumer_waits_for_the_stage_and_not_the_other_way_round() -> None:
    calls = CpuCalls()
    stage = Stage(calls)
    stage.begin([tail()])
    for _ in range(2):
        stage.finish(list(stage.upload(zone([photos(2)], torch.arange(2)), 2, NONE, [])))
    waits = [entry for entry in calls.log if entry[0] == "wait"]
    assert {stream for _, stream, _ in waits} == {"consumer"}
    for wait in waits:
        recorded = calls.log.index(("record", "side", wait[2]))
        assert recorded < calls.log.index(wait)
        # Behind the copy of its batch, and nothing is copied between the two.
        assert ("copy", "side") in calls.log[:recorded]
        assert ("copy", "side") not in calls.log[recorded : calls.log.index(wait)]
    assert calls.log[-1] == ("use", "consumer")


def test_a_zone_is_held_until_its_copy_is_done() -> None:
    calls = CpuCalls()
    stage = Stage(calls)
    stage.begin([tail()])
    memory = zone([photos(2)], torch.arange(2))
    held = weakref.ref(memory)
    stage.finish(list(stage.upload(memory, 2, NONE, [])))
    del memory
    gc.collect()
    assert held() is not None
    calls.come_by()
    stage.finish(list(stage.upload(zone([photos(2)], torch.arange(2)), 2, NONE, [])))
    assert held() is None


def test_few_batches_are_in_flight() -> None:
    """The host is held up where the device is behind, by the oldest batch alone."""
    calls = CpuCalls()
    stage = Stage(calls)
    stage.begin([tail()])
    zones = []
    for number in range(10):
        memory = zone([photos(1)], torch.arange(1))
        zones.append(weakref.ref(memory))
        before = len([entry for entry in calls.log if entry[0] == "join"])
        stage.finish(list(stage.upload(memory, 1, NONE, [])))
        del memory
        assert sum(ref() is not None for ref in zones) <= MAX_IN_FLIGHT
        joins = [entry for entry in calls.log if entry[0] == "join"]
        assert (len(joins) > before) == (number >= MAX_IN_FLIGHT)
    consumed = [entry[2] for entry in calls.log if entry[:2] == ("record", "consumer")]
    joined = [entry[1] for entry in calls.log if entry[0] == "join"]
    assert [event for event in joined if event in consumed] == consumed[: 10 - MAX_IN_FLIGHT]
    stage.close()
    assert not any(ref() for ref in zones)


def test_what_comes_complete_is_copied_on_the_side() -> None:
    calls = CpuCalls()
    stage = Stage(calls)
    stage.begin([])
    assert not stage.splits
    batch = {"images": torch.randn(2, 3), "names": ["a", "b"], "pair": (torch.arange(2), None)}
    found = stage.finish(batch)
    assert torch.equal(found["images"], batch["images"])
    assert found["images"] is not batch["images"]
    assert found["names"] == ["a", "b"]
    assert torch.equal(found["pair"][0], torch.arange(2))
    kinds = [entry[:2] for entry in calls.log]
    assert kinds.count(("copy", "side")) == 2
    assert kinds.count(("use", "consumer")) == 2


def test_static_tensors_are_overwritten_behind_the_consumers_work() -> None:
    calls = CpuCalls()
    stage = Stage(calls, static=True)
    stage.begin([tail()])
    first = stage.finish(list(stage.upload(zone([photos(2)], torch.arange(2)), 2, NONE, [])))
    addresses = [first[0][0].data_ptr(), first[1].data_ptr()]
    calls.log.clear()
    images = photos(2)
    second = stage.finish(list(stage.upload(zone([images], torch.tensor([8, 9])), 2, NONE, [])))
    assert [second[0][0].data_ptr(), second[1].data_ptr()] == addresses
    assert torch.equal(second[0][0], values(images, tail()))
    assert second[1].tolist() == [8, 9]
    side = [entry for entry in calls.log if entry[0] == "wait" and entry[1] == "side"]
    assert len(side) == 1
    assert ("record", "consumer", side[0][2]) in calls.log
    short = stage.upload(zone([photos(1)], torch.arange(1)), 1, NONE, [])
    with pytest.raises(
        ValueError, match=r"static_buffers=True needs batches of one shape: found .*\[1, 3, 4, 5\]"
    ):
        stage.finish(list(short))
