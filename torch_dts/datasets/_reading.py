# SPDX-License-Identifier: Apache-2.0
"""Reads chunks of a file, the next one in a thread while the present one is consumed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from torch_dts.datasets._chunks import Chunk
from torch_dts.file import DTSFile

Task = TypeVar("Task")
Result = TypeVar("Result")


class Sample(NamedTuple):
    """A sample as it is stored; `data` is good until the next chunk but one is read."""

    source_index: int
    data: memoryview
    label: int


class ChunkReader:
    """Reads chunks one after the other; one thread at a time.

    Blocks go into two pieces of memory in turn, so what the last `read` returned stays
    good during the next. They are as large as the largest group of blocks read.
    """

    def __init__(self, file: DTSFile) -> None:
        self._file = file
        # All tables are built now, in the caller's thread: a fork while another thread
        # builds one would leave the child waiting for it.
        self.block_sizes = file.block_table.num_samples
        self._first_of_block = self.block_sizes.cumsum(0) - self.block_sizes
        stored_index = file.stored_index
        # For one file this is source_index; in a volume, that counts in the whole set.
        self._source_index = torch.empty_like(stored_index)
        self._source_index[stored_index] = torch.arange(len(file), device="cpu")
        self.sample_bytes = file.sizes[self._source_index]  # by stored index
        self._labels = file.labels
        self._arenas = [torch.empty(0, dtype=torch.uint8, device="cpu")] * 2

    def read(self, chunk: Chunk) -> Iterator[Sample]:
        """The samples of a chunk, in its order; all are read when this returns.

        Raises:
            CorruptFileError: A block does not match its CRC-32 or index, or the file changed.
            OSError: The disk can't be read.
        """
        if chunk.checked_ids is not None:
            self._file.check_blocks(chunk.checked_ids)
        if chunk.block_ids is None or chunk.block_ids.numel() == 0:
            return self._read_singly(chunk.stored_ids)
        return self._read_blocks(chunk.stored_ids, chunk.block_ids)

    def _read_singly(self, stored_ids: Tensor) -> Iterator[Sample]:
        indices = self._source_index[stored_ids]
        data = self._file.read_many(indices)
        return map(Sample, indices.tolist(), data, self._labels[indices].tolist())

    def _read_blocks(self, stored_ids: Tensor, block_ids: Tensor) -> Iterator[Sample]:
        rows = self._rows_in_arena(stored_ids, block_ids)
        is_loose = rows < 0
        loose = self._read_singly(stored_ids[is_loose]) if bool(is_loose.any()) else iter(())
        arena = self._next_arena(block_ids.numel() * self._file.block_size)
        self._file.read_blocks(block_ids, out=arena)
        _, offsets, sizes, labels = self._file.index_samples(arena, block_ids)
        rows = rows[~is_loose]
        view = arena.numpy().data
        starts = offsets[rows]
        ends = starts + sizes[rows]
        data = map(view.__getitem__, map(slice, starts.tolist(), ends.tolist()))
        indices = self._source_index[stored_ids[~is_loose]].tolist()
        in_blocks = map(Sample, indices, data, labels[rows].tolist())
        return (next(loose) if loosely else next(in_blocks) for loosely in is_loose.tolist())

    def _rows_in_arena(self, stored_ids: Tensor, block_ids: Tensor) -> Tensor:
        """Where the samples stand in the index of the blocks `block_ids`, laid end to end; < 0: in none."""
        num_samples = self.block_sizes[block_ids]
        first_row = torch.full_like(self.block_sizes, -len(self._file))
        first_row[block_ids] = num_samples.cumsum(0) - num_samples
        block = self._file.block_of(stored_ids)
        return first_row[block] + stored_ids - self._first_of_block[block]

    def _next_arena(self, num_bytes: int) -> Tensor:
        self._arenas.reverse()
        if self._arenas[0].numel() < num_bytes:
            self._arenas[0] = torch.empty(num_bytes, dtype=torch.uint8, device="cpu")
        return self._arenas[0][:num_bytes]


def load_ahead(tasks: Iterable[Task], load: Callable[[Task], Result]) -> Generator[Result, None, None]:
    """Yields ``load(task)`` of each task in order, the next one loading in a thread meanwhile.

    At most two results are alive in here: the one yielded and the one loading. An error
    of `load` comes out in its place. The thread ends with this generator, however it ends.
    """
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="torch_dts_read")
    try:
        pending: Future[Result] | None = None
        for task in tasks:
            if pending is not None:
                loaded = pending.result()
                pending = _submit(pool, load, task)
                yield loaded
                del loaded
            else:
                pending = _submit(pool, load, task)
        if pending is not None:
            yield pending.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(pool: ThreadPoolExecutor, load: Callable[[Task], Result], task: Task) -> Future[Result]:
    try:
        return pool.submit(load, task)
    except RuntimeError:  # the main thread has ended, and Python starts no more: this one goes on alone
        done: Future[Result] = Future()
        done.set_result(load(task))
        return done
