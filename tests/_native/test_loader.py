# SPDX-License-Identifier: Apache-2.0
"""The native loader through its ops: every batch is what run_plan makes of its samples."""

from __future__ import annotations

import os
import pathlib
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from torch_dts import CorruptFileError, _native
from torch_dts._native import _loader

TIMEOUT, BATCH, END = _loader.TIMEOUT, _loader.BATCH, _loader.END
SEED = -5
NONE = torch.empty(0, dtype=torch.int64)
PHOTO_PLAN = (
    "source channels=3 max_pixels=0 pass_order=2\n"
    "resized_crop op=0 height=24 width=20 scale=0.1,1 ratio=0.75,1.25 filter=2\n"
    "horizontal_flip op=1 p=0.5\n"
    "output height=24 width=20 channels=3 dtype=1 layout=0 scale=1 mean=0.5 std=0.25\n"
)
PIXEL_PLAN = (
    "source channels=3 max_pixels=0 pass_order=2\n"
    "random_crop op=0 height=8 width=8 padding=2,2,2,2\n"
    "horizontal_flip op=1 p=0.5\n"
    "output height=8 width=8 channels=3 dtype={dtype} layout={layout} scale=1\n"
)


@pytest.fixture
def photos(dts_file: Callable[..., pathlib.Path]) -> Iterator[int]:
    """A .dts file of 60 photos as a source."""
    file = _native.file_open(dts_file(classes={"a": 25, "b": 35}))
    source = _native.source_dts(file, 0)
    _native.file_close(file)
    yield source
    _native.source_close(source)


def append(
    loader: int, samples: Tensor, batch_size: int, unit_size: int, occurrences: Tensor = NONE, blocks: int = 0
) -> None:
    count = len(samples)
    _native.loader_append(
        loader,
        samples,
        occurrences,
        sizes_of(count, batch_size),
        sizes := sizes_of(count, unit_size),
        torch.full_like(sizes, blocks),
        torch.arange(blocks).repeat(len(sizes)),
    )


def sizes_of(count: int, size: int) -> Tensor:
    return torch.tensor([min(size, count - at) for at in range(0, count, size)], dtype=torch.int64)


def batches(loader: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    while True:
        state, *batch = _native.loader_next(loader, 10_000)
        assert state != TIMEOUT
        if state == END:
            return
        (images,) = batch[0]
        yield images, batch[1], batch[2], batch[3]


def expected(
    source: int, samples: Tensor, occurrences: Tensor, plan: str, epoch: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Images, labels, indices of the whole stream."""
    labels, indices = _native.source_samples(source, samples)
    arena, offsets, sizes, shapes = _native.source_read(source, samples)
    images, status = _native.run_plan(arena, offsets, sizes, shapes, plan, indices, occurrences, SEED, epoch)
    assert not status.any()
    return images, labels, indices


def check_stream(
    loader: int, source: int, samples: Tensor, occurrences: Tensor, plan: str, epoch: int, batch_size: int
) -> None:
    images, labels, indices = expected(source, samples, occurrences, plan, epoch)
    at = 0
    for got_images, got_labels, got_indices, foreign in batches(loader):
        end = min(at + batch_size, len(samples))
        assert got_images.shape == images[at:end].shape
        assert got_images.dtype == images.dtype
        assert torch.equal(got_images, images[at:end])
        assert got_images.stride() == images[at:end].stride()
        assert torch.equal(got_labels, labels[at:end])
        assert torch.equal(got_indices, indices[at:end])
        assert foreign.tolist() == []
        at = end
    assert at == len(samples)


@pytest.mark.parametrize("blocks", [0, 1], ids=["single", "blocks"])
@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_a_dts_file_gives_the_batches_of_run_plan(
    photos: int, open_loader: Callable[..., int], num_workers: int, blocks: int
) -> None:
    loader = open_loader(photos, PHOTO_PLAN, num_workers, reproducible=num_workers != 3)
    generator = torch.Generator().manual_seed(num_workers)
    for epoch in range(3):
        samples = torch.randint(0, 60, (150,), generator=generator)
        occurrences = torch.randint(0, 3, (150,), generator=generator)
        _native.loader_start(loader, "", SEED, epoch)
        append(loader, samples[:90], 30, 13, occurrences[:90], blocks)
        append(loader, samples[90:], 30, 60, occurrences[90:], blocks)
        _native.loader_finish(loader)
        check_stream(loader, photos, samples, occurrences, PHOTO_PLAN, epoch, 30)
    stats = _native.loader_stats(loader)
    assert (stats.num_samples, stats.num_batches, stats.num_foreign) == (450, 15, 0)
    assert min(stats.work_ns, stats.bytes_read, stats.read_ns) > 0
    assert (stats.blocks_read > 0) == bool(blocks)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("dtype", [0, 1, 2, 3])
def test_pixels_in_every_dtype_and_memory_order(
    pixels: int, open_loader: Callable[..., int], dtype: int, layout: int
) -> None:
    plan = PIXEL_PLAN.format(dtype=dtype, layout=layout)
    if dtype == 0:
        plan = plan.replace(" scale=1", " scale=0")
    loader = open_loader(pixels, plan, 2)
    samples = torch.arange(200).flip(0)
    _native.loader_start(loader, "", SEED, 0)
    append(loader, samples, 64, 50)
    _native.loader_finish(loader)
    check_stream(loader, pixels, samples, NONE, plan, 0, 64)


def test_another_plan_and_another_source_order(pixels: int, open_loader: Callable[..., int]) -> None:
    loader = open_loader(pixels, PIXEL_PLAN.format(dtype=1, layout=0), 2)
    for epoch, dtype in enumerate((2, 1, 3)):
        plan = PIXEL_PLAN.format(dtype=dtype, layout=1)
        samples = torch.randperm(200, generator=torch.Generator().manual_seed(epoch))
        _native.loader_start(loader, plan, SEED, epoch)
        append(loader, samples, 200, 7)
        _native.loader_finish(loader)
        check_stream(loader, pixels, samples, NONE, plan, epoch, 200)


def test_a_loader_keeps_its_source(open_loader: Callable[..., int]) -> None:
    images = torch.randint(0, 256, (50, 8, 8, 3), dtype=torch.uint8)
    source = _native.source_pixels(images.clone(), torch.arange(50))
    plan = (
        "source channels=3 max_pixels=0 pass_order=2\n"
        "output height=8 width=8 channels=3 dtype=0 layout=1 scale=0\n"
    )
    loader = open_loader(source, plan, 2)
    _native.source_close(source)
    _native.loader_start(loader, "", 0, 0)
    append(loader, torch.arange(50), 50, 50)
    _native.loader_finish(loader)
    ((got, labels, indices, _),) = batches(loader)
    assert torch.equal(got.permute(0, 2, 3, 1), images)
    assert torch.equal(labels, torch.arange(50))
    assert torch.equal(indices, torch.arange(50))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_only_python_can_do(
    tmp_path: pathlib.Path,
    image_folder: Callable[..., pathlib.Path],
    open_loader: Callable[..., int],
    num_workers: int,
) -> None:
    paths = sorted(image_folder(classes={"a": 6}).rglob("*.jpg"))
    (tmp_path / "x.png").write_bytes(b"not a picture")
    paths[2:2] = [tmp_path / "x.png", tmp_path / "missing.jpg"]
    source = _native.source_files(paths, torch.arange(8))
    loader = open_loader(source, PHOTO_PLAN, num_workers)
    _native.source_close(source)
    _native.loader_start(loader, "", SEED, 4)
    append(loader, torch.arange(8), 3, 4, torch.full((8,), 7))
    _native.loader_finish(loader)
    slots = [foreign.tolist() for _, _, _, foreign in batches(loader)]
    assert slots == [[2], [0], []]
    info, arena, offsets, sizes = _native.loader_take_foreign(loader)
    rows = sorted(zip(info.tolist(), offsets.tolist(), sizes.tolist(), strict=True))
    status = _native.DECODE_STATUS.index("no JPEG")
    assert rows[0][0] == [0, 2, 2, 2, 7, status, 0]
    assert rows[1][0][:5] == [1, 0, 3, 3, 7]
    assert rows[1][0][6] == 1
    assert rows[1][2] == 0
    start, size = rows[0][1:]
    assert bytes(arena[start : start + size].tolist()) == b"not a picture"
    assert len(_native.loader_take_foreign(loader)[0]) == 0
    assert _native.loader_stats(loader).num_foreign == 2


def test_kept_batches_stay_as_they_are(pixels: int) -> None:
    """Any one of a batch's tensors keeps its memory from being used again, and outlives the loader."""
    plan = PIXEL_PLAN.format(dtype=1, layout=0)
    loader = _native.loader_open(pixels, plan, 2)
    samples = torch.arange(2000) % 200
    images, labels, indices = expected(pixels, samples, NONE, plan, 0)
    _native.loader_start(loader, "", SEED, 0)
    append(loader, samples, 20, 33)
    _native.loader_finish(loader)
    chooser = random.Random(0)
    kept = [(n, which := chooser.randrange(3), batch[which]) for n, batch in enumerate(batches(loader))]
    _native.loader_close(loader)
    for n, which, tensor in kept:
        assert torch.equal(tensor, (images, labels, indices)[which][20 * n : 20 * n + 20])


def test_a_wait_without_end_comes_back(pixels: int, open_loader: Callable[..., int]) -> None:
    loader = open_loader(pixels, PIXEL_PLAN.format(dtype=1, layout=0), 1)
    _native.loader_start(loader, "", SEED, 0)
    state, *parts = _native.loader_next(loader, 5)
    assert state == TIMEOUT
    assert [len(empty) for empty in parts] == [0, 0, 0, 0, 0]
    append(loader, torch.arange(3), 3, 3)
    assert _native.loader_waiting(loader) in (0, 1)
    assert _native.loader_next(loader, 10_000)[0] == BATCH
    assert _native.loader_next(loader, 0)[0] == TIMEOUT
    _native.loader_finish(loader)
    assert _native.loader_next(loader, 0)[0] == END


def test_a_read_error_is_raised_in_its_turn(
    dts_file: Callable[..., pathlib.Path], open_loader: Callable[..., int]
) -> None:
    path = dts_file(classes={"a": 40})
    file = _native.file_open(path)
    source = _native.source_dts(file, 0)
    loader = open_loader(source, PHOTO_PLAN, 2)
    good = path.read_bytes()
    for damaged in (True, False):
        data = bytearray(good)
        if damaged:
            data[(16 << 20) + 5000] ^= 1
        status = path.stat()
        with path.open("r+b") as opened:
            opened.write(data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        _native.loader_start(loader, "", SEED, 0)
        append(loader, torch.arange(40), 20, 40, blocks=1)
        _native.loader_finish(loader)
        if damaged:
            for _ in range(2):
                with pytest.raises(CorruptFileError, match="CRC"):
                    _native.loader_next(loader, 10_000)
        else:
            assert len(list(batches(loader))) == 2
    _native.source_close(source)
    _native.file_close(file)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted as Linux shows them")
def test_loaders_come_and_go_without_a_trace(pixels: int) -> None:
    plan = PIXEL_PLAN.format(dtype=1, layout=0)
    cpus = _native.cpus_for_threads()
    assert sorted(cpus) == sorted(os.sched_getaffinity(0))
    before = len(os.listdir("/proc/self/task"))
    for i in range(200):
        loader = _native.loader_open(pixels, plan, i % 4, cpus=cpus[:1] * (i % 4 if i % 2 else 0))
        if i % 3:
            _native.loader_start(loader, "", i, 0)
            append(loader, torch.arange(200), 16, 50)
            if i % 3 == 2:
                assert _native.loader_next(loader, 10_000)[0] == BATCH
        _native.loader_close(loader)
    assert len(os.listdir("/proc/self/task")) == before


def test_the_threads_of_a_loader_stay_from_stream_to_stream(
    pixels: int, open_loader: Callable[..., int]
) -> None:
    loader = open_loader(pixels, PIXEL_PLAN.format(dtype=1, layout=0), 3)
    names = []
    for epoch in range(5):
        _native.loader_start(loader, "", SEED, epoch)
        append(loader, torch.arange(200), 16, 50)
        assert _native.loader_next(loader, 10_000)[0] == BATCH
        names.append(sorted(os.listdir("/proc/self/task")))
    assert names == names[:1] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_no_loader(pixels: int, open_loader: Callable[..., int]) -> None:
    plan = PIXEL_PLAN.format(dtype=1, layout=0)
    loader = open_loader(pixels, plan, 2)
    _native.loader_start(loader, "", SEED, 0)
    append(loader, torch.arange(200), 10, 50)
    _native.loader_finish(loader)
    batch = _native.loader_next(loader, 10_000)
    child = os.fork()
    if child == 0:  # only os._exit leaves from here
        try:
            with pytest.raises(ValueError, match="belongs to another process"):
                _native.loader_next(loader, 0)
            with pytest.raises(ValueError, match="belongs to another process"):
                _native.loader_start(loader, "", 0, 0)
            del batch
            _native.loader_close(loader)
            own = _native.loader_open(pixels, plan, 2)
            _native.loader_start(own, "", SEED, 0)
            append(own, torch.arange(30), 10, 10)
            _native.loader_finish(own)
            ok = len(list(batches(own))) == 3
            _native.loader_close(own)
            os._exit(0 if ok else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(batches(loader))) == 19


def test_the_gil_is_free_while_a_batch_is_waited_for(pixels: int, open_loader: Callable[..., int]) -> None:
    loader = open_loader(pixels, PIXEL_PLAN.format(dtype=1, layout=0), 1)
    _native.loader_start(loader, "", SEED, 0)
    done = threading.Event()

    def feed() -> None:
        time.sleep(0.02)
        append(loader, torch.arange(10), 10, 10)
        done.set()

    thread = threading.Thread(target=feed)
    thread.start()
    # Would time out if the other thread could not run meanwhile.
    assert _native.loader_next(loader, 60_000)[0] == BATCH
    assert done.wait(10)
    thread.join()


def test_wrong_arguments(pixels: int, open_loader: Callable[..., int]) -> None:
    plan = PIXEL_PLAN.format(dtype=1, layout=0)
    for how, message in (
        ({"num_workers": -1}, "num_workers is -1, expected 0 to"),
        ({"num_workers": 5000}, "num_workers is 5000, expected 0 to"),
        ({"prefetch_batches": 0}, "prefetch_batches is 0, expected at least 1"),
        ({"reader_threads": 0}, "reader_threads is 0"),
        ({"buffers": 10**6}, "closed or unknown read buffers handle"),
        ({"source": 10**6}, "closed or unknown source handle"),
        ({"plan": "nonsense"}, "plan"),
    ):
        arguments = {"source": pixels, "plan": plan, "num_workers": 1} | how
        with pytest.raises(ValueError, match=message):
            _native.loader_open(**arguments)
    loader = open_loader(pixels, plan, 1)
    with pytest.raises(ValueError, match="there is no stream"):
        _native.loader_next(loader, 0)
    with pytest.raises(ValueError, match="epoch is -1"):
        _native.loader_start(loader, "", 0, -1)
    _native.loader_start(loader, "", 0, 0)
    with pytest.raises(IndexError, match="sample 200 is not among the 200"):
        append(loader, torch.tensor([200]), 1, 1)
    ids, one, zero = torch.arange(3), torch.tensor([1]), torch.tensor([0])
    with pytest.raises(ValueError, match="the units ask for 4 samples where 3 are left"):
        _native.loader_append(loader, ids, NONE, NONE, torch.tensor([4]), zero, NONE)
    with pytest.raises(ValueError, match="the units hold 1 samples where 3 are given"):
        _native.loader_append(loader, ids, NONE, NONE, one, zero, NONE)
    with pytest.raises(ValueError, match="unit_sizes has 1 elements, unit_num_blocks has 0"):
        _native.loader_append(loader, ids, NONE, NONE, one, NONE, NONE)
    with pytest.raises(ValueError, match="occurrences"):
        _native.loader_append(loader, ids, one, NONE, torch.tensor([3]), zero, NONE)
    with pytest.raises(ValueError, match="a batch size is 0"):
        _native.loader_append(loader, NONE, NONE, zero, NONE, NONE, NONE)
    with pytest.raises(ValueError, match=r"samples must have dtype torch\.int64"):
        _native.loader_append(loader, ids.int(), NONE, NONE, NONE, NONE, NONE)
    append(loader, ids, 3, 3)
    _native.loader_finish(loader)
    with pytest.raises(ValueError, match="the stream is finished"):
        append(loader, ids, 3, 3)
    with pytest.raises(ValueError, match="closed or unknown loader handle"):
        _native.loader_next(10**6, 0)
