# SPDX-License-Identifier: Apache-2.0
"""Chunks come as the file has them; the reading thread never outlives its generator."""

from __future__ import annotations

import pathlib
import shutil
import threading
from collections.abc import Iterator

import pytest
import torch

import torch_dts
from torch_dts.datasets._chunks import Chunk, EpochOrder, Share
from torch_dts.datasets._reading import ChunkReader, load_ahead
from torch_dts.datasets._stream import stream_items


@pytest.fixture
def file(many_blocks: pathlib.Path) -> Iterator[torch_dts.DTSFile]:
    with torch_dts.open(many_blocks) as opened:
        yield opened


def reading_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("torch_dts_read")]


def check_chunk(file: torch_dts.DTSFile, chunk: Chunk, reader: ChunkReader) -> None:
    samples = list(reader.read(chunk))
    assert [sample.source_index for sample in samples] == file.source_index[chunk.stored_ids].tolist()
    for sample in samples:
        assert sample.data == file.read(sample.source_index)
        assert sample.label == int(file.labels[sample.source_index])
        assert type(sample.label) is int


def test_singly_and_by_blocks_give_the_same(file: torch_dts.DTSFile) -> None:
    reader = ChunkReader(file)
    check_chunk(file, Chunk(torch.tensor([4, 0, 9]), None), reader)
    starts = file.block_table.num_samples.cumsum(0) - file.block_table.num_samples
    first, second, third = (int(starts[block]) for block in (4, 1, 5))
    chunk = Chunk(torch.tensor([second, third + 1, first, second + 1]), torch.tensor([4, 1, 5]))
    check_chunk(file, chunk, reader)
    assert torch.equal(reader.sample_bytes, file.sizes[file.source_index])
    assert torch.equal(reader.block_sizes, file.block_table.num_samples)


def test_samples_beside_the_blocks_are_read_singly(
    file: torch_dts.DTSFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ChunkReader(file)
    starts = (file.block_table.num_samples.cumsum(0) - file.block_table.num_samples).tolist()
    chunk = Chunk(
        torch.tensor([starts[2], starts[4] + 1, starts[4], starts[2] + 1, starts[5]]), torch.tensor([4])
    )
    check_chunk(file, chunk, reader)
    nothing = Chunk(chunk.stored_ids, torch.empty(0, dtype=torch.int64))
    monkeypatch.setattr(file, "read_blocks", None)
    check_chunk(file, nothing, reader)


def test_the_chunk_before_stays_good_while_one_is_read(file: torch_dts.DTSFile) -> None:
    reader = ChunkReader(file)
    counts = file.block_table.num_samples.tolist()
    first_of = [sum(counts[:block]) for block in range(3)]
    chunks = [
        Chunk(torch.arange(first, first + count), torch.tensor([block]))
        for block, (first, count) in enumerate(zip(first_of, counts, strict=False))
    ]
    before = list(reader.read(chunks[0]))
    for chunk in chunks[1:]:
        after = list(reader.read(chunk))
        assert all(sample.data == file.read(sample.source_index) for sample in before)
        before = after
    assert len({arena.data_ptr() for arena in reader._arenas}) == 2


def test_blocks_are_checked_and_single_samples_are_not(
    many_blocks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    hurt = tmp_path / "hurt.dts"
    shutil.copyfile(many_blocks, hurt)
    with torch_dts.open(hurt) as file:
        position = file.header.header_bytes + 2 * file.block_size + file.header.block_header_size + 1000
    with hurt.open("r+b") as stream:
        stream.seek(position)
        stream.write(b"\x55")
    with torch_dts.open(hurt) as file:
        first = int(file.block_table.num_samples[:2].sum())
        whole = Chunk(torch.tensor([first]), torch.tensor([2]))
        with pytest.raises(torch_dts.CorruptFileError, match="block 2"):
            ChunkReader(file).read(whole)
        assert next(ChunkReader(file).read(Chunk(torch.tensor([first]), None))).data[1000] == 0x55
    with torch_dts.open(hurt, verify=False) as file:
        assert next(ChunkReader(file).read(whole)).data[1000] == 0x55


def test_load_ahead_keeps_order_and_is_one_ahead() -> None:
    begun: list[int] = []
    next_begun = [threading.Event() for _ in range(6)]

    def load(task: int) -> int:
        begun.append(task)
        next_begun[task].set()
        return task * 10

    for position, result in enumerate(load_ahead(range(5), load)):
        assert result == position * 10
        if position < 4:
            assert next_begun[position + 1].wait(60)
        assert max(begun) <= position + 1
    assert begun == [0, 1, 2, 3, 4]
    assert list(load_ahead([], load)) == []
    assert list(load_ahead([5], load)) == [50]
    assert reading_threads() == []


def test_load_ahead_passes_errors_on_in_their_place() -> None:
    def load(task: int) -> int:
        if task == 2:
            raise OSError("the disk is gone")
        return task

    results = load_ahead(range(5), load)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)
    assert reading_threads() == []
    assert list(results) == []


@pytest.mark.parametrize("num_taken", [0, 1, 3, 4])
def test_load_ahead_ends_its_thread_when_left(num_taken: int) -> None:
    results = load_ahead(range(4), lambda task: task)
    taken = [next(results) for _ in range(num_taken)]
    assert taken == list(range(num_taken))
    if num_taken == 1:
        assert reading_threads() == ["torch_dts_read_0"]
    results.close()
    assert reading_threads() == []


def test_load_ahead_ends_its_thread_when_dropped_or_when_planning_fails() -> None:
    results = load_ahead(range(4), lambda task: task)
    next(results)
    del results
    assert reading_threads() == []

    def tasks() -> Iterator[int]:
        yield 0
        yield 1
        raise ValueError("no plan")

    with pytest.raises(ValueError, match="no plan"):
        list(load_ahead(tasks(), lambda task: task))
    assert reading_threads() == []


@pytest.mark.parametrize("num_workers", [1, 2, 3])
@pytest.mark.parametrize("block", [0, 3])
def test_a_damaged_block_ends_the_epoch_whatever_the_number_of_workers(
    many_blocks: pathlib.Path, tmp_path: pathlib.Path, num_workers: int, block: int
) -> None:
    path = tmp_path / "damaged.dts"
    shutil.copyfile(many_blocks, path)
    with open(path, "r+b") as stream:  # in the zeros at the block's end: no picture shows it
        stream.seek((2 + block << 24) - 1)
        stream.write(b"\x01")
    errors = 0
    with torch_dts.open(path) as file, torch_dts.open(path, verify=False) as unchecked:
        for worker in range(num_workers):
            share = Share(worker, num_workers)
            try:
                for _ in stream_items(file, EpochOrder(seed=1), share, None, None):
                    pass
            except torch_dts.CorruptFileError as error:
                assert f"block {block}" in str(error)  # noqa: PT017  (which worker it is, is no matter)
                errors += 1
        assert errors == 1
        assert len(list(stream_items(unchecked, EpochOrder(seed=1), Share(0, 2), None, None))) == 12
