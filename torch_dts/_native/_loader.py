# SPDX-License-Identifier: Apache-2.0
"""The native loader: streams of samples in, batches out (csrc/core/pipeline/loader.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from torch_dts._native._call import call, release, signed, tensor

STATEFUL_OPS = (
    "loader_open",
    "loader_start",
    "loader_append",
    "loader_finish",
    "loader_next",
    "loader_next_outlines",
    "loader_next_bytes",
    "loader_take_foreign",
    "loader_waiting",
    "loader_stats",
    "loader_stop",
    "loader_close",
    "cpus_for_threads",
)

# States that loader_next returns.
TIMEOUT, BATCH, END = 0, 1, 2

# What batches hold of each sample: `form` of loader_open, and of which loader_next.
IMAGES, OUTLINES, BYTES = 0, 1, 2


class LoaderStats(NamedTuple):
    """Totals since the loader was opened; times in nanoseconds, of all threads together.

    Attributes:
        num_samples, num_batches: Done, delivered.
        num_foreign: Samples left to Python.
        work_ns: Workers decoding and transforming.
        wait_for_data_ns: Workers waiting for bytes.
        wait_for_room_ns: Workers waiting for a batch that may be filled: the consumer is behind.
        consumer_wait_ns: loader_next waiting for a batch.
        bytes_read, read_ns, blocks_read: Of the reader threads.
        num_spliced: Samples of which libjpeg decoded only the restart segments under the crop.
        num_own: Samples that our own decoder decoded.
    """

    num_samples: int
    num_batches: int
    num_foreign: int
    work_ns: int
    wait_for_data_ns: int
    wait_for_room_ns: int
    consumer_wait_ns: int
    bytes_read: int
    read_ns: int
    blocks_read: int
    num_spliced: int
    num_own: int


def loader_open(
    source: int,
    plan: str,
    num_workers: int,
    prefetch_batches: int = 2,
    reproducible: bool = True,
    cpus: Sequence[int] = (),
    reader_threads: int = 1,
    check_blocks: bool = True,
    buffers: int = -1,
    form: int = IMAGES,
    device: int = -1,
    pci_bus_id: str = "",
) -> int:
    """A loader with threads of its own, idle until loader_start.

    Args:
        source: Where samples come from; it may be closed before the loader is.
        plan: What is done to a sample, as text (csrc/core/pipeline/sample_plan.h, view_plans.h).
        num_workers: Decoding threads; 0: the thread that calls loader_next.
        prefetch_batches: In work or ready beside the one delivered.
        reproducible: False: a free worker takes the next sample.
        cpus: What each worker is bound to; empty: to none.
        reader_threads: At least 1.
        check_blocks: CRC-32 of blocks that are read whole.
        buffers: Handle of buffers_open; -1: memory of its own.
        form: IMAGES; OUTLINES: samples are not decoded, batches come from loader_next_outlines; BYTES:
            samples as they are stored, from loader_next_bytes; the plan is not looked at.
        device: Number of the CUDA device that batches go to: their memory is page-locked; -1: of none.
            load_cuda was called before.
        pci_bus_id: Where the device is; their memory is near to it. "": not known.
    """
    return int(
        call(
            "loader_open",
            source,
            plan,
            num_workers,
            prefetch_batches,
            reproducible,
            torch.tensor(cpus, dtype=torch.int64, device="cpu"),
            reader_threads,
            check_blocks,
            buffers,
            form,
            device,
            pci_bus_id,
        )
    )


def loader_start(loader: int, plan: str, seed: int, epoch: int) -> None:
    """Ends the present stream and begins another; plan "": the one before."""
    call("loader_start", loader, plan, signed(seed), epoch)


def loader_append(
    loader: int,
    samples: Tensor,
    occurrences: Tensor,
    batch_sizes: Tensor,
    unit_sizes: Tensor,
    unit_num_blocks: Tensor,
    blocks: Tensor,
) -> None:
    """More of the stream. All int64.

    Args:
        samples: [k], in stream order.
        occurrences: [k], or [0]: all 0.
        batch_sizes: [b]; may run behind or ahead of the samples until loader_finish.
        unit_sizes: [u], how many of `samples` are read together; sums to k.
        unit_num_blocks: [u], how many of `blocks` hold the unit's samples; 0: read singly.
        blocks: Block numbers of all units.
    """
    call(
        "loader_append",
        loader,
        samples,
        occurrences,
        batch_sizes,
        unit_sizes,
        unit_num_blocks,
        blocks,
    )


def loader_finish(loader: int) -> None:
    """Nothing more will be appended."""
    call("loader_finish", loader)


def loader_next(loader: int, timeout_ms: int) -> tuple[int, list[Tensor], Tensor, Tensor, Tensor, Tensor]:
    """State (TIMEOUT, BATCH, END), images [n, C, H, W] of each view, labels, indices, slots left to Python.

    The images, labels and indices are the loader's memory, used again when they are gone. Last comes
    all of it, uint8 [b] (csrc/core/pipeline/transfer_station.h): labels int64 [n], indices int64
    [n], where erasing is deferred boxes int64 [views, n, 4]; from the next multiple of 256 on the
    images of each view, which begin at such multiples, too.
    """
    state, images, labels, indices, foreign_slots, memory = call("loader_next", loader, timeout_ms)
    return int(state), list(images), labels, indices, foreign_slots, memory


def loader_next_outlines(loader: int, timeout_ms: int) -> tuple[int, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """As loader_next, with what is to be done to each sample in the place of the images.

    Returns:
        The state; outlines, uint8 ``[n, 88]`` (csrc/core/pipeline/sample_outline.h), which
            `torch_dts._native._outline` reads; labels, indices, slots without an outline; a tensor
            that keeps the bytes of the samples where the outlines say.
    """
    state, outlines, labels, indices, slots, held = call("loader_next_outlines", loader, timeout_ms)
    return int(state), outlines, labels, indices, slots, held


def loader_next_bytes(loader: int, timeout_ms: int) -> tuple[int, list[Tensor], Tensor, Tensor, Tensor]:
    """As loader_next, with the samples as they are stored.

    Returns:
        The state; the samples, uint8 ``[size]``, of pixels ``[H, W, C]`` or, of one channel, ``[H, W]``;
            labels, indices, slots of samples that could not be read, which are empty. Each of these
            tensors keeps the memory of all of them.
    """
    state, samples, labels, indices, slots = call("loader_next_bytes", loader, timeout_ms)
    return int(state), list(samples), labels, indices, slots


def loader_take_foreign(loader: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What was found for Python since the last call, also in batches not delivered yet.

    Returns:
        info, int64 [k, 7]: batch number, slot, sample, index, occurrence, position in
        DECODE_STATUS, 1 for a file that can't be read; the bytes: arena, offsets, sizes.
    """
    info, arena, offsets, sizes = call("loader_take_foreign", loader)
    return info, arena, offsets, sizes


def loader_waiting(loader: int) -> int:
    """Units appended and not read yet."""
    return int(call("loader_waiting", loader))


def loader_stats(loader: int) -> LoaderStats:
    return LoaderStats(*tensor(call("loader_stats", loader)).tolist())


def loader_stop(loader: int) -> None:
    """Ends the stream; delivered batches stay good."""
    release("loader_stop", loader)


def loader_close(loader: int) -> None:
    """Ends its threads."""
    release("loader_close", loader)


def cpus_for_threads(pci_bus_id: str = "") -> list[int]:
    """The CPUs this process may use, in the order in which a growing number of threads should take them.

    Args:
        pci_bus_id: Of a device: only the CPUs of its NUMA node, where there are some.
    """
    cpus: list[int] = tensor(call("cpus_for_threads", pci_bus_id)).tolist()
    return cpus
