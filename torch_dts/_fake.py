# SPDX-License-Identifier: Apache-2.0
"""Fake kernels of the tensor ops: result shapes and dtypes without running them.

They let torch.compile and torch.export trace code that calls the ops.
"""

from __future__ import annotations

import torch
from torch import SymInt, Tensor

import torch_dts._native  # noqa: F401  (the ops must be registered first)


def _int64(*shape: int | SymInt) -> Tensor:
    return torch.empty(shape, dtype=torch.int64)


def _block_order(num_blocks: int, seed: int, epoch: int) -> Tensor:
    return _int64(num_blocks)


def _sample_order(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int, rank: int
) -> Tensor:
    # the number of samples is in the values of block_sizes
    return _int64(torch.library.get_ctx().new_dynamic_size())


def _rank_runs(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int, rank: int
) -> Tensor:
    return _int64(torch.library.get_ctx().new_dynamic_size(), 4)


def _scan_samples(arena: Tensor, offsets: Tensor, sizes: Tensor) -> Tensor:
    return _int64(offsets.shape[0], 4)


def _pixel_sums(arena: Tensor, offsets: Tensor, sizes: Tensor, shapes: Tensor, max_pixels: int) -> Tensor:
    return _int64(offsets.shape[0], 8)


def _decode_crop_resize(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    boxes: Tensor,
    height: int,
    width: int,
    interpolation: str,
    channels: int,
) -> tuple[Tensor, Tensor]:
    count = offsets.shape[0]
    return torch.empty((count, height, width, channels), dtype=torch.uint8), _int64(count)


def _fused_normalize(
    images: Tensor,
    flip: Tensor | None,
    mean: Tensor,
    std: Tensor,
    dtype: torch.dtype,
    channels_last: bool,
    boxes: Tensor | None = None,
    values: Tensor | None = None,
    scale: int = 1,
    pad_channels: int = 0,
) -> Tensor:
    count, height, width, channels = images.shape
    channels = pad_channels or channels
    if channels_last:
        return images.new_empty((count, height, width, channels), dtype=dtype).permute(0, 3, 1, 2)
    return images.new_empty((count, channels, height, width), dtype=dtype)


_PLAN_DTYPES = (torch.uint8, torch.float32, torch.float16, torch.bfloat16)


def _run_plan(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    shapes: Tensor,
    plan: str,
    indices: Tensor,
    occurrences: Tensor,
    seed: int,
    epoch: int,
    view: int,
) -> tuple[Tensor, Tensor]:
    count = offsets.shape[0]
    return _images(plan, count), _int64(count)


def _run_views(
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
    count = offsets.shape[0]
    return [_images(plan, count) for plan in ("\n" + plans).split("\nview\n")], _int64(count)


def _images(plan: str, count: int | SymInt) -> Tensor:
    # the line `output height=.. width=.. channels=.. dtype=.. layout=..` of the plan
    output = next(line for line in plan.splitlines() if line.startswith("output "))
    keys = dict(word.split("=") for word in output.split()[1:])
    height, width, channels, dtype, layout = (
        int(keys[name]) for name in ("height", "width", "channels", "dtype", "layout")
    )
    if layout == 1:
        return torch.empty((count, height, width, channels), dtype=_PLAN_DTYPES[dtype]).permute(0, 3, 1, 2)
    return torch.empty((count, channels, height, width), dtype=_PLAN_DTYPES[dtype])


def _choose_seed(indices: Tensor, occurrences: Tensor, seed: int, epoch: int, view: int) -> Tensor:
    return _int64(indices.shape[0])


def _encoded_results(count: int | SymInt, num_facts: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = torch.library.get_ctx().new_dynamic_size()
    return torch.empty(total, dtype=torch.uint8), _int64(count), _int64(count), _int64(count, num_facts)


def _transcode_jpegs(
    arena: Tensor, offsets: Tensor, sizes: Tensor, restart_interval: int, keep_metadata: bool, grain: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _encoded_results(offsets.shape[0], 3)


def _export_jpegs(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    level: int,
    restart_interval: int,
    pass_order: int,
    max_pixels: int,
    grain: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _encoded_results(offsets.shape[0], 3)


torch.library.register_fake("torch_dts::export_jpegs", _export_jpegs)
torch.library.register_fake("torch_dts::transcode_jpegs", _transcode_jpegs)
torch.library.register_fake("torch_dts::run_plan", _run_plan)
torch.library.register_fake("torch_dts::run_views", _run_views)
torch.library.register_fake("torch_dts::choose_seed", _choose_seed)
torch.library.register_fake("torch_dts::block_order", _block_order)
torch.library.register_fake("torch_dts::sample_order", _sample_order)
torch.library.register_fake("torch_dts::rank_runs", _rank_runs)
torch.library.register_fake("torch_dts::scan_samples", _scan_samples)
torch.library.register_fake("torch_dts::pixel_sums", _pixel_sums)
torch.library.register_fake("torch_dts::decode_crop_resize", _decode_crop_resize)
torch.library.register_fake("torch_dts::fused_normalize", _fused_normalize)
