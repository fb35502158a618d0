# SPDX-License-Identifier: Apache-2.0
"""Packing and block writing."""

from __future__ import annotations

import io
import os
import pathlib
from collections.abc import Callable

import pytest
import torch
from PIL import Image

from torch_dts import CorruptFileError, _native
from torch_dts._progress import Progress
from torch_dts.convert._kept import Kept
from torch_dts.convert._pack_write import plan_blocks, write_blocks
from torch_dts.convert._samples import Samples
from torch_dts.convert._spool import Spool

MIB = 1 << 20
BLOCK = 16 * MIB

Make = Callable[..., pathlib.Path]


def kept_of(sizes: list[int], numbers: list[int] | None = None) -> Kept:
    count = len(sizes)
    names = [f"c/{i}.jpg" for i in range(count if numbers is None else max(numbers) + 1)]
    labels = torch.zeros(len(names), dtype=torch.int64)
    samples = Samples(kind="X", files=names, labels=labels, classes=["c"], names=names)
    numbered = torch.arange(count) if numbers is None else torch.tensor(numbers)
    return Kept(samples, numbered, torch.tensor(sizes), labels[numbered])


def test_source_order_is_next_fit() -> None:
    sizes = [6 * MIB, 6 * MIB, 6 * MIB, 1, 100, 12 * MIB]
    plan = plan_blocks(kept_of(sizes), BLOCK, "source", 42)
    assert plan.order.tolist() == [0, 1, 2, 3, 4, 5]
    assert plan.first == [0, 2, 5, 6]
    assert plan.num_blocks == 3
    assert plan.block_header_size == 4096
    padded = 30 * MIB + 64 + 128
    assert plan.room_bytes(torch.tensor(sizes)) == 3 * (BLOCK - 4096) - padded


def test_shuffled_is_by_seed() -> None:
    kept = kept_of([50_000 + i for i in range(600)])
    plan = plan_blocks(kept, BLOCK, "shuffled", 42)
    assert sorted(plan.order.tolist()) == list(range(600))
    assert plan.order.tolist() != list(range(600))
    assert plan.order.equal(plan_blocks(kept, BLOCK, "shuffled", 42).order)
    assert not plan.order.equal(plan_blocks(kept, BLOCK, "shuffled", 43).order)
    assert plan.num_blocks == 2


def test_a_sample_larger_than_a_block() -> None:
    kept = kept_of([100, BLOCK - 4096 + 1], numbers=[3, 7])
    with pytest.raises(
        ValueError,
        match=r"c/7\.jpg \(sample 7\): 16,773,121 bytes, but a block of 16777216 bytes holds at most "
        r"16773120; block_size=32 \* 2\*\*20 or more",
    ):
        plan_blocks(kept, BLOCK, "shuffled", 42)
    assert plan_blocks(kept, 2 * BLOCK, "shuffled", 42).num_blocks == 1


def test_a_sample_that_just_fits() -> None:
    assert plan_blocks(kept_of([BLOCK - 4096]), BLOCK, "shuffled", 42).num_blocks == 1


def test_a_sample_that_no_block_holds() -> None:
    with pytest.raises(ValueError, match=r"no block_size .under 4 GiB. can hold it"):
        plan_blocks(kept_of([4 << 30]), BLOCK, "source", 42)


def open_writer(path: pathlib.Path, num_blocks: int) -> int:
    return _native.writer_open(
        path,
        overwrite=False,
        level=0,
        is_training=1,
        num_classes=2,
        num_blocks=num_blocks,
        block_size=BLOCK,
        block_header_size=4096,
    )


def test_files_and_spooled_samples_in_one_block(tmp_path: pathlib.Path, image_folder: Make) -> None:
    root = image_folder(classes={"a": 2}, size=(50, 20))
    files = [str(root / "a" / f"{i}.jpg") for i in range(2)]
    without_end = pathlib.Path(files[1]).read_bytes()[:-2]
    png = io.BytesIO()
    Image.new("RGB", (500, 500)).save(png, "PNG")
    spool = Spool(str(tmp_path))
    spooled = torch.zeros((4, 2), dtype=torch.int64)
    spooled[1] = torch.tensor(spool.append(without_end))
    spooled[3] = torch.tensor(spool.append(png.getvalue()))
    spool.finish()
    names = ["a/0.jpg", "a/s.jpg", "a/1.jpg", "a/s.png"]
    labels = torch.tensor([0, 1, 0, 1])
    samples = Samples(
        kind="X",
        files=[files[0], "", files[1], ""],
        labels=labels,
        classes=["a", "b"],
        names=names,
        spool=spool,
        spooled=spooled,
    )
    expected = [
        pathlib.Path(files[0]).read_bytes(),
        without_end,
        pathlib.Path(files[1]).read_bytes(),
        png.getvalue(),
    ]
    kept = Kept(samples, torch.arange(4), torch.tensor([len(data) for data in expected]), labels)
    plan = plan_blocks(kept, BLOCK, "shuffled", 1)
    target = tmp_path / "x.dts"
    writer = open_writer(target, 1)
    with Progress("writing", 1, False) as bar:
        totals = write_blocks(writer, plan, kept, 2, bar)
    _native.writer_seal(writer, totals.max_area, int(kept.sizes.sum()))
    _native.writer_publish(writer)
    samples.close()
    # The PNG's area is known from the check, not from the copied bytes.
    assert (totals.max_area, totals.num_missing_eoi) == (1000, 1)
    block = target.read_bytes()[BLOCK : 2 * BLOCK]
    index = torch.frombuffer(bytearray(block[12 : 12 + 12 * 4]), dtype=torch.int32).view(3, 4)
    for stored, number in enumerate(plan.order.tolist()):
        offset, size, label = index[:, stored].tolist()
        assert block[offset : offset + size] == expected[number]
        assert label == labels[number]


def test_a_source_that_changed(tmp_path: pathlib.Path, image_folder: Make) -> None:
    path = image_folder(classes={"a": 1}) / "a" / "0.jpg"
    kept = kept_of([path.stat().st_size])
    kept.samples.files[0] = str(path)
    with path.open("ab") as file:
        file.write(b"more")
    plan = plan_blocks(kept, BLOCK, "source", 42)
    writer = open_writer(tmp_path / "x.dts", 1)
    changed = pytest.raises(CorruptFileError, match=r"a/0\.jpg.*changed")
    with Progress("writing", 1, False) as bar, changed:
        write_blocks(writer, plan, kept, 1, bar)
    _native.writer_abort(writer)
    assert [name for name in os.listdir(tmp_path) if "x.dts" in name] == []
