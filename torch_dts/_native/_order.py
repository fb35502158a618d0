# SPDX-License-Identifier: Apache-2.0
"""Packing, shuffles, ranks and epochs."""

from __future__ import annotations

from torch import Tensor

from torch_dts._native._call import call, signed, tensor

TENSOR_OPS = (
    "block_order",
    "sample_order",
    "rank_runs",
)
STATEFUL_OPS = (
    "pack_samples",
    "packing_bound",
    "claim_epoch",
    "set_next_epoch",
    "epoch_board_words",
)


def block_order(num_blocks: int, seed: int, epoch: int) -> Tensor:
    """Level 2: [num_blocks], the block order of an epoch."""
    return tensor(call("block_order", num_blocks, signed(seed), epoch))


def sample_order(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int = 1, rank: int = 0
) -> Tensor:
    """Stored indices a rank delivers, in order (no filling); shuffle_window 0 means "all"."""
    return tensor(call("sample_order", block_sizes, signed(seed), epoch, shuffle_window, num_replicas, rank))


def rank_runs(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int = 1, rank: int = 0
) -> Tensor:
    """[k, 4]: block id, first stored sample, number of samples, shuffle group of each run of a rank."""
    return tensor(call("rank_runs", block_sizes, signed(seed), epoch, shuffle_window, num_replicas, rank))


def pack_samples(
    sizes: Tensor,
    *,
    block_size: int = 16 << 20,
    block_header_size: int = 0,
    min_block_header_size: int = 4096,
    shuffled: bool = True,
    seed: int = 42,
) -> tuple[Tensor, Tensor, int]:
    """Sample number by stored index [n], samples of each block [num_blocks], block_header_size."""
    order, block_counts, header_size = call(
        "pack_samples", sizes, block_size, block_header_size, min_block_header_size, shuffled, signed(seed)
    )
    return order, block_counts, int(header_size)


def packing_bound(sizes: Tensor, block_size: int, block_header_size: int) -> int:
    """Fewest blocks any packing could have."""
    return int(call("packing_bound", sizes, block_size, block_header_size))


EPOCH_BOARD_WORDS = int(call("epoch_board_words"))


def claim_epoch(board: Tensor, instance: int, iteration: int, worker: int, seed: int) -> tuple[int, int]:
    """Epoch and seed of an iteration (csrc/core/order/epoch_board.h)."""
    epoch, seed = call("claim_epoch", board, instance, iteration, worker, signed(seed))
    return int(epoch), int(seed)


def set_next_epoch(board: Tensor, epoch: int) -> None:
    call("set_next_epoch", board, epoch)
