# SPDX-License-Identifier: Apache-2.0
"""Samples by a plan: decoded, transformed and normalised in one call, and the seeds of Python code."""

from __future__ import annotations

from torch import Tensor

from torch_dts._native._call import call, signed, tensor

TENSOR_OPS = (
    "choose_seed",
    "run_plan",
    "run_views",
)


def run_plan(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    shapes: Tensor,
    plan: str,
    indices: Tensor,
    occurrences: Tensor,
    seed: int,
    epoch: int,
    view: int = 0,
) -> tuple[Tensor, Tensor]:
    """Does a plan to samples in memory, on torch's threads.

    Args:
        arena: uint8, holds the samples.
        offsets, sizes: int64 [n], where they lie, in bytes.
        shapes: int64 [n, 3], height, width and channels of pixels (rows without gaps), or
            zeros for encoded images.
        plan: The operations as text (csrc/core/pipeline/sample_plan.h).
        indices: int64 [n], the samples' source indices, below 2^40. They, `occurrences`,
            `seed`, `epoch` and `view` decide every random choice (docs/format.md section 5).
        occurrences: int64 [n], how often an index came before in this epoch; [0]: never.
        seed: Taken modulo 2^64.
        epoch: 0 to 2^32 - 1.
        view: 0 to 255.

    Returns:
        [n, C, H, W] in the plan's dtype and memory order, and int64 [n], a position in
        DECODE_STATUS. What is not OK is zeros and Python's to do.

    Raises:
        ValueError: A plan that can't be read, wrong dtypes, lengths, shapes or numbers.
        IndexError: A sample outside of the arena.
    """
    images, status = call(
        "run_plan",
        arena,
        offsets,
        sizes,
        shapes,
        plan,
        indices,
        occurrences,
        signed(seed),
        epoch,
        view,
    )
    return images, status


def run_views(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    shapes: Tensor,
    plans: str,
    indices: Tensor,
    occurrences: Tensor,
    seed: int,
    epoch: int,
) -> tuple[list[Tensor], Tensor]:
    """As `run_plan` for several views of each sample, which is decoded once.

    Args:
        plans: A plan for each view (csrc/core/pipeline/view_plans.h); views count from 0.

    Returns:
        [n, C, H, W] of each view, and int64 [n], a position in DECODE_STATUS. All
        views of a sample that is not OK are zeros.
    """
    images, status = call(
        "run_views", arena, offsets, sizes, shapes, plans, indices, occurrences, signed(seed), epoch
    )
    return list(images), status


def choose_seed(indices: Tensor, occurrences: Tensor, seed: int, epoch: int, view: int = 0) -> Tensor:
    """Seeds for Python code about samples: int64 [n], 0 to 2^63 - 1; arguments as in run_plan."""
    return tensor(call("choose_seed", indices, occurrences, signed(seed), epoch, view))
