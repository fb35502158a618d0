# SPDX-License-Identifier: Apache-2.0
"""Samples for Python: handed over ahead of need, put into their slots, errors named or replaced."""

from __future__ import annotations

import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torch_dts.loader import _foreign_desk
from torch_dts.loader._foreign_desk import ForeignDesk, ForeignPool


class FakeWorkers:
    """Makes an image of the first byte of the data; b"bad" is an error."""

    made: list[FakeWorkers]
    num_views = 1

    def __init__(self, num_workers: int, plan: str, *, transforms: Any) -> None:
        self.arguments = (num_workers, plan, transforms)
        self.submitted: dict[Any, Any] = {}
        self.is_closed = False
        type(self).made.append(self)

    def submit(self, key: Any, data: bytes, index: int, occurrence: int, seed: int, epoch: int) -> None:
        self.submitted[key] = (data, index, occurrence, seed, epoch)

    def result(self, key: Any) -> list[torch.Tensor]:
        data = self.submitted.pop(key)[0]
        if data == b"bad":
            raise ValueError("cannot identify image file")
        return [torch.full((3, 2, 2), float(view + data[0])) for view in range(self.num_views)]

    def discard(self, key: Any) -> None:
        del self.submitted[key]

    def close(self) -> None:
        self.is_closed = True


def read_bytes(sample: int) -> bytes:
    if sample == 99:
        raise FileNotFoundError(2, "No such file or directory", "gone.jpg")
    return bytes([sample])


@pytest.fixture(autouse=True)
def _fake_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeWorkers.made = []
    monkeypatch.setattr(_foreign_desk, "ForeignWorkers", FakeWorkers)


def desk(pool: ForeignPool, on_error: Any = "raise", plan: str = "plan") -> ForeignDesk:
    recognised: Any = SimpleNamespace(
        read_bytes=read_bytes,
        describe=lambda sample: f"sample {sample} of x.dts",
        is_encoded=lambda sample: True,
    )
    return ForeignDesk(pool, recognised, plan, [len], 2, 11, 4, on_error)


def found(*rows: tuple[int, int, int, bytes | None]) -> Any:
    """An engine that found (batch, slot, sample, bytes); None: a missing file."""
    data = [content or b"" for _, _, _, content in rows]
    sizes = torch.tensor([len(content) for content in data], dtype=torch.int64)
    info = [
        [batch, slot, sample, sample + 100, 3, 1, int(content is None)]
        for batch, slot, sample, content in rows
    ]
    arena = torch.frombuffer(bytearray(b"".join(data) or b"\0"), dtype=torch.uint8)
    taken = torch.tensor(info, dtype=torch.int64).reshape(-1, 7), arena, sizes.cumsum(0) - sizes, sizes
    return SimpleNamespace(take_foreign=lambda: taken)


def test_samples_go_to_the_workers_and_into_their_slots() -> None:
    pool = ForeignPool()
    one = desk(pool)
    one.collect(found())
    assert FakeWorkers.made == []  # started with the first sample
    assert not one.has_any
    one.collect(found((0, 1, 7, b"\x05x"), (1, 0, 8, b"\x06")))
    one.collect(found((0, 2, 9, None)))
    assert one.has_any
    (workers,) = FakeWorkers.made
    assert workers.arguments == (2, "plan", [len])
    assert list(workers.submitted.values()) == [
        (b"\x05x", 107, 3, 11, 4),
        (b"\x06", 108, 3, 11, 4),
        (b"\x09", 109, 3, 11, 4),
    ]
    images = torch.zeros(3, 3, 2, 2)
    one.fill(0, [images], [1, 2])
    assert images[:, 0, 0, 0].tolist() == [0, 5, 9]
    one.fill(1, [images], [0])
    assert images[:, 0, 0, 0].tolist() == [6, 5, 9]


def test_epochs_at_once_share_the_workers() -> None:
    pool = ForeignPool()
    one, other = desk(pool), desk(pool)
    one.collect(found((0, 0, 1, b"\x01")))
    other.collect(found((0, 0, 2, b"\x02")))
    images = torch.zeros(1, 3, 2, 2)
    other.fill(0, [images], [0])
    assert images[0, 0, 0, 0] == 2
    one.fill(0, [images], [0])
    assert images[0, 0, 0, 0] == 1
    assert len(FakeWorkers.made) == 1
    desk(pool, plan="another").collect(found((0, 0, 1, b"\x01")))
    assert FakeWorkers.made[0].is_closed
    pool.close()
    assert FakeWorkers.made[1].is_closed


@pytest.mark.parametrize(
    ("sample", "content", "error", "text"),
    [
        (7, b"bad", ValueError, r"cannot identify image file \[sample 7 of x.dts\]"),
        (99, None, FileNotFoundError, r"No such file or directory \[sample 99 of x.dts\]: 'gone.jpg'"),
    ],
)
def test_errors_name_the_sample(sample: int, content: Any, error: type[Exception], text: str) -> None:
    one = desk(ForeignPool())
    one.collect(found((0, 0, sample, content), (0, 1, 5, b"\x05")))
    with pytest.raises(error, match=text):
        one.fill(0, [torch.zeros(2, 3, 2, 2)], [0, 1])
    assert FakeWorkers.made[0].submitted == {}  # nothing of the batch is left behind


def test_bad_samples_become_zeros_and_are_counted() -> None:
    pool = ForeignPool()
    images = torch.ones(3, 3, 2, 2)
    one = desk(pool, "replace")
    one.collect(found((0, 0, 7, b"bad"), (0, 1, 99, None), (0, 2, 5, b"\x05")))
    with pytest.warns(UserWarning, match=r"replaced by zeros: .*sample 7 of x.dts") as warned:
        one.fill(0, [images], [0, 1, 2])
    assert len(warned) == 1
    assert images[:, 0, 0, 0].tolist() == [0, 0, 5]
    assert pool.stats().num_replaced == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = desk(pool, "replace")
        one.collect(found((0, 0, 7, b"bad")))
        one.fill(0, [images], [0])
    assert pool.stats().num_replaced == 3


def test_all_views_of_a_sample_are_put_into_their_images_or_are_zeros(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FakeWorkers, "num_views", 3)
    views = [torch.ones(2, 3, 2, 2) for _ in range(3)]
    one = desk(ForeignPool(), "replace")
    one.collect(found((0, 0, 7, b"bad"), (0, 1, 5, b"\x05")))
    with pytest.warns(UserWarning, match="replaced by zeros"):
        one.fill(0, views, [0, 1])
    assert [images[:, 0, 0, 0].tolist() for images in views] == [[0, 5], [0, 6], [0, 7]]


def test_what_nobody_asks_for_is_forgotten() -> None:
    one = desk(ForeignPool())
    one.collect(found((0, 0, 7, b"\x01")))
    one.clear()
    assert FakeWorkers.made[0].submitted == {}
    with pytest.raises(KeyError, match=r"\(0, 0\)"):
        one.fill(0, [torch.zeros(1, 3, 2, 2)], [0])


def test_samples_of_an_earlier_plan_leave_the_workers_alone() -> None:
    pool = ForeignPool()
    one, other = desk(pool), desk(pool, plan="another")
    one.collect(found((0, 0, 7, b"\x01")))
    other.collect(found((0, 0, 8, b"\x02")))
    one.clear()
    assert [workers.is_closed for workers in FakeWorkers.made] == [True, False]
    images = torch.zeros(1, 3, 2, 2)
    other.fill(0, [images], [0])
    assert images[0, 0, 0, 0] == 2


def test_an_error_that_waits_holds_no_frames() -> None:
    one = desk(ForeignPool())
    one.collect(found((0, 0, 99, None)))
    ((_, error),) = one._waiting.values()
    assert isinstance(error, FileNotFoundError)
    assert error.__traceback__ is None


def test_pools_pickle_without_their_workers() -> None:
    pool = ForeignPool()
    desk(pool).collect(found((0, 0, 7, b"\x01")))
    pickle.loads(pickle.dumps(pool)).close()
    assert not FakeWorkers.made[0].is_closed
