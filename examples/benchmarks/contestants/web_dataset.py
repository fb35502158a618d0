# SPDX-License-Identifier: Apache-2.0
"""WebDataset: tar shards, one sample after the other, batched by the workers."""

from __future__ import annotations

import pathlib

import webdataset as wds

from contestants.work import Epoch, Work, make_transform

NUM_SHARDS = 16  # several for each worker, so that shuffling them means something


def make(key: str, work: Work) -> None:
    samples = work.samples()
    each = max(1, -(-len(samples) // NUM_SHARDS))
    order = range(len(samples))
    with wds.ShardWriter(work.file("%06d.tar"), maxcount=each, verbose=0) as writer:
        # shards hold images of all classes, as the docs advise: every NUM_SHARDS-th goes to one shard
        for i in sorted(order, key=lambda number: number % max(1, len(samples) // each)):
            path, label = samples[i]
            writer.write({"__key__": f"{i:08d}", "jpg": pathlib.Path(path).read_bytes(), "cls": label})


def same(value: int) -> int:
    return value


def start(key: str, work: Work) -> Epoch:
    shards = sorted(str(path) for path in pathlib.Path(work.place).glob("*.tar"))
    dataset = (
        wds.WebDataset(shards, shardshuffle=100, empty_check=False)
        .shuffle(1000)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map_tuple(make_transform(work.image_size, work.is_float()), same)
        .batched(work.batch_size)
    )
    loader = wds.WebLoader(
        dataset,
        batch_size=None,
        num_workers=work.num_workers,
        persistent_workers=work.num_workers > 0,
    )
    return lambda: iter(loader)
