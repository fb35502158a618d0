# SPDX-License-Identifier: Apache-2.0
"""A small file written through the ops alone; pixels as a source, and loaders over it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from torch_dts import _native

BLOCK = 16 << 20
HEAD = 4096


@dataclass
class Written:
    """The file and what was put into it, by stored index."""

    path: pathlib.Path
    samples: list[bytes]
    labels: list[int]
    source_index: list[int]
    block_counts: list[int]


def places(sizes: list[int]) -> list[int]:
    """Where samples lie in a block: 64-byte aligned, behind the index."""
    result, at = [], HEAD
    for size in sizes:
        result.append(at)
        at = (at + size + 63) // 64 * 64
    return result


def build_block(block_id: int, samples: list[bytes], labels: list[int]) -> tuple[Tensor, int]:
    arena = torch.full((BLOCK,), 0xAA, dtype=torch.uint8)
    for at, data in zip(places([len(s) for s in samples]), samples, strict=True):
        arena.numpy()[at : at + len(data)] = bytearray(data)
    sizes = torch.tensor([len(s) for s in samples])
    return arena, _native.finish_block(arena, 0, block_id, HEAD, sizes, torch.tensor(labels))


def write_file(path: pathlib.Path, blocks: list[list[tuple[bytes, int]]], source_index: list[int]) -> Written:
    """Blocks of (bytes, label), with LABL and ORDR sections; written in reverse order on purpose."""
    writer = _native.writer_open(
        path,
        overwrite=False,
        level=0,
        is_training=1,
        num_classes=10,
        num_blocks=len(blocks),
        block_size=BLOCK,
        block_header_size=HEAD,
    )
    for b in reversed(range(len(blocks))):
        arena, crc = build_block(b, [s for s, _ in blocks[b]], [label for _, label in blocks[b]])
        _native.writer_write_block(writer, b, arena, crc, torch.tensor([len(s) for s, _ in blocks[b]]))
    flat = [sample for block in blocks for sample in block]
    by_source = [0] * len(flat)
    for stored, source in enumerate(source_index):
        by_source[source] = flat[stored][1]
    _native.writer_add_section(writer, "LABL", torch.tensor(by_source, dtype=torch.int32).view(torch.uint8))
    _native.writer_add_section(
        writer, "ORDR", torch.tensor(source_index, dtype=torch.int32).view(torch.uint8)
    )
    _native.writer_seal(writer, 1234, sum(len(s) for s, _ in flat))
    _native.writer_publish(writer)
    return Written(
        path, [s for s, _ in flat], [label for _, label in flat], source_index, [len(b) for b in blocks]
    )


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Three blocks with 3, 1 and 2 samples, one of them empty, one 5 MiB long."""
    blocks = [
        [(b"first", 3), (b"", 0), (b"x" * 64, 9)],
        [(bytes(range(256)) * (20 << 10), 1)],
        [(b"y" * 65, 2), (b"last", 3)],
    ]
    return write_file(tmp_path_factory.mktemp("ops") / "small.dts", blocks, [5, 0, 3, 1, 4, 2])


@pytest.fixture
def handle(written: Written) -> Iterator[int]:
    opened = _native.file_open(written.path)
    yield opened
    _native.file_close(opened)


@pytest.fixture
def pixels() -> Iterator[int]:
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (200, 8, 8, 3), dtype=torch.uint8, generator=generator)
    source = _native.source_pixels(images, torch.arange(200) % 10)
    yield source
    _native.source_close(source)


@pytest.fixture
def open_loader() -> Iterator[Callable[..., int]]:
    """loader_open whose loaders are closed at the end."""
    opened = []

    def open_one(source: int, plan: str, num_workers: int, **how: int) -> int:
        opened.append(_native.loader_open(source, plan, num_workers, **how))
        return opened[-1]

    yield open_one
    for loader in opened:
        _native.loader_close(loader)
