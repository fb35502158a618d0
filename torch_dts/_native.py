# SPDX-License-Identifier: Apache-2.0
"""Loads the native module and wraps each op of ``torch.ops.torch_dts`` with types.

Tensors are int64 or uint8, contiguous, on the CPU. All ops release the GIL. The one
place where the core's errors become Python's: IoError -> OSError with errno and file
name, CorruptFile -> CorruptFileError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torch_dts._errors import CorruptFileError
from torch_dts._paths import display, escape, join_paths, unescape

try:
    import torch_dts._C  # noqa: F401  (importing it registers the ops)
except ImportError as error:
    raise ImportError(
        f"torch_dts: the native module could not be loaded ({error}). Likely causes: the package was not "
        "built (run 'pip install --no-build-isolation .' in the source tree), Python runs in the source "
        "tree while the package is installed elsewhere, torch is older than 2.11, or libjpeg-turbo's "
        "shared library is missing (Debian: apt-get install libjpeg62-turbo)."
    ) from error

_ops = torch.ops.torch_dts

# Every op is in exactly one of the two (a test checks it). Tensor ops are pure functions
# with a fake kernel, usable under torch.compile; the others hold handles, touch files or
# shared memory, or return Python numbers, and are not to be traced.
TENSOR_OPS = (
    "block_order",
    "sample_order",
    "rank_runs",
    "scan_samples",
    "decode_crop_resize",
    "fused_normalize",
)
STATEFUL_OPS = (
    "pack_samples",
    "packing_bound",
    "crc32",
    "file_open",
    "file_close",
    "file_describe",
    "file_head",
    "file_section",
    "file_block_table",
    "file_sample_table",
    "file_labels",
    "file_check_unchanged",
    "read_blocks",
    "index_samples",
    "read_samples",
    "check_blocks",
    "file_crc",
    "probe_files",
    "finish_block",
    "read_files_into",
    "writer_open",
    "writer_write_block",
    "writer_add_section",
    "writer_finish",
    "writer_abort",
    "claim_epoch",
    "set_next_epoch",
    "epoch_board_words",
    "crc32_backend",
    "jpeg_library",
)

Path = str | os.PathLike[str]


def translate_error(error: RuntimeError) -> Exception:
    """The Python exception for a native error; the error itself when it is none of ours."""
    kind, _, rest = str(error).partition("|")
    if kind not in ("torch_dts.IoError", "torch_dts.CorruptFile"):
        return error
    number, escaped, text = rest.split("|", 2)
    path = unescape(escaped)
    # torch may append its own call stack to the text
    text = text.split("\n", 1)[0]
    if kind == "torch_dts.CorruptFile":
        return CorruptFileError(path, None if int(number) < 0 else int(number), text)
    return OSError(int(number), f"{os.strerror(int(number))}: {text}", display(path))


def _call(name: str, *args: Any) -> Any:
    try:
        return getattr(_ops, name).default(*args)
    except RuntimeError as error:
        translated = translate_error(error)
        if translated is error:
            raise
    raise translated


def _signed(word: int) -> int:
    """Any int as a signed 64-bit word (seeds are taken modulo 2^64)."""
    word %= 1 << 64
    return word - (1 << 64) if word >> 63 else word


def file_open(path: Path, ignore_sections: bool = False) -> int:
    return int(_call("file_open", escape(path), ignore_sections))


def file_close(handle: int) -> None:
    _call("file_close", handle)


def file_describe(handle: int) -> dict[str, Any]:
    """header (a dict by field), sections (a list of dicts), file_bytes, index_room."""
    described: dict[str, Any] = json.loads(_call("file_describe", handle))
    return described


def file_head(handle: int) -> Tensor:
    """uint8: the 144 header bytes, then the section table's (none: 144 bytes only)."""
    return _tensor(_call("file_head", handle))


def file_section(handle: int, tag: str) -> Tensor | None:
    """uint8: a section's raw bytes, CRC checked; None when the file has none of that tag."""
    try:
        return _tensor(_call("file_section", handle, tag))
    except IndexError:
        return None


def file_block_table(handle: int) -> tuple[Tensor, Tensor]:
    """num_samples [num_blocks], crc32 [num_blocks] (-1: not known)."""
    num_samples, crc32s = _call("file_block_table", handle)
    return num_samples, crc32s


def file_sample_table(handle: int) -> tuple[Tensor, Tensor, Tensor]:
    """By stored index: offset in the file, size in bytes, source index; each [num_samples]."""
    offsets, sizes, source_index = _call("file_sample_table", handle)
    return offsets, sizes, source_index


def file_labels(handle: int) -> Tensor:
    """[num_samples] by source index."""
    return _tensor(_call("file_labels", handle))


def file_check_unchanged(handle: int) -> None:
    _call("file_check_unchanged", handle)


def read_blocks(handle: int, block_ids: Tensor, out: Tensor, check: bool = True) -> None:
    """Fills `out` (uint8, len(block_ids) * block_size; CPU, pinned or CUDA) with whole blocks."""
    _call("read_blocks", handle, block_ids, out, check)


def index_samples(handle: int, arena: Tensor, block_ids: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Block id, offset in the arena, size and label of each sample of the blocks in `arena`."""
    block, offsets, sizes, labels = _call("index_samples", handle, arena, block_ids)
    return block, offsets, sizes, labels


def read_samples(handle: int, stored_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A new arena (uint8) with the samples, and the offset and size of each, in the order asked."""
    arena, offsets, sizes = _call("read_samples", handle, stored_ids)
    return arena, offsets, sizes


def check_blocks(handle: int, block_ids: Tensor) -> tuple[Tensor, list[str]]:
    """CRC-32 of each block as it is on the disk, and what is wrong with it ("": nothing)."""
    crc32s, problems = _call("check_blocks", handle, block_ids)
    return crc32s, problems.split("\n")[:-1]


def file_crc(handle: int, block_crcs: Tensor) -> int:
    """CRC-32 of [header_bytes, end of file) from the blocks' CRCs and what lies behind them."""
    return int(_call("file_crc", handle, block_crcs))


def crc32(data: Tensor) -> int:
    """zlib's CRC-32 of a uint8 tensor."""
    return int(_call("crc32", data))


def crc32_backend() -> str:
    return str(_call("crc32_backend"))


def jpeg_library() -> str:
    return str(_call("jpeg_library"))


def block_order(num_blocks: int, seed: int, epoch: int) -> Tensor:
    """Level 2: [num_blocks], the block order of an epoch."""
    return _tensor(_call("block_order", num_blocks, _signed(seed), epoch))


def sample_order(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int = 1, rank: int = 0
) -> Tensor:
    """Stored indices a rank delivers, in order (no filling); shuffle_window 0 means "all"."""
    return _tensor(
        _call("sample_order", block_sizes, _signed(seed), epoch, shuffle_window, num_replicas, rank)
    )


def rank_runs(
    block_sizes: Tensor, seed: int, epoch: int, shuffle_window: int, num_replicas: int = 1, rank: int = 0
) -> Tensor:
    """[k, 4]: block id, first stored sample, number of samples, shuffle group of each run of a rank."""
    return _tensor(_call("rank_runs", block_sizes, _signed(seed), epoch, shuffle_window, num_replicas, rank))


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
    order, block_counts, header_size = _call(
        "pack_samples", sizes, block_size, block_header_size, min_block_header_size, shuffled, _signed(seed)
    )
    return order, block_counts, int(header_size)


def packing_bound(sizes: Tensor, block_size: int, block_header_size: int) -> int:
    """Fewest blocks any packing could have."""
    return int(_call("packing_bound", sizes, block_size, block_header_size))


EPOCH_BOARD_WORDS = int(_call("epoch_board_words"))


def claim_epoch(board: Tensor, instance: int, iteration: int, worker: int, seed: int) -> tuple[int, int]:
    """Epoch and seed of an iteration (csrc/core/order/epoch_board.h)."""
    epoch, seed = _call("claim_epoch", board, instance, iteration, worker, _signed(seed))
    return int(epoch), int(seed)


def set_next_epoch(board: Tensor, epoch: int) -> None:
    _call("set_next_epoch", board, epoch)


def probe_files(paths: Sequence[Path]) -> Tensor:
    """[n, 5]: kind (1 JPEG, 0 not understood, -errno unreadable), bytes, width, height, components."""
    return _tensor(_call("probe_files", join_paths(paths)))


def scan_samples(arena: Tensor, offsets: Tensor, sizes: Tensor) -> Tensor:
    """[n, 4]: kind (1 JPEG, 0 other), width, height, complete (1: an EOI ends the last scan)."""
    return _tensor(_call("scan_samples", arena, offsets, sizes))


# What decode_crop_resize says of a sample (csrc/core/jpeg/decode.h); for all but OK its
# pixels are zero and Pillow is to be asked.
DECODE_STATUS = ("ok", "no JPEG", "not decoded natively", "incomplete", "damaged")


def decode_crop_resize(
    arena: Tensor,
    offsets: Tensor,
    sizes: Tensor,
    boxes: Tensor,
    height: int,
    width: int,
    interpolation: str = "bilinear",
    channels: int = 3,
) -> tuple[Tensor, Tensor]:
    """Decodes JPEGs in memory, each cropped and resized, on torch's threads.

    Pixels equal Pillow 13's: ``open().convert("RGB").crop().resize()``, of which a window is
    taken.

    Args:
        arena: uint8, holds the encoded samples.
        offsets, sizes: int64 [n], where they lie.
        boxes: int64 [n, 8]: crop (top, left, height, width) in the image, height and width
            it is resized to, top and left of the window of the result.
        height, width: Of the window, for all.
        interpolation: nearest, box, bilinear, hamming, bicubic or lanczos.
        channels: 3, or 1 for gray JPEGs alone.

    Returns:
        uint8 [n, height, width, channels], and int64 [n], a position in DECODE_STATUS.
    """
    images, status = _call(
        "decode_crop_resize", arena, offsets, sizes, boxes, height, width, interpolation, channels
    )
    return images, status


def fused_normalize(
    images: Tensor,
    flip: Tensor,
    mean: Tensor,
    std: Tensor,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = False,
) -> Tensor:
    """Flip, ToTensor and Normalize in one pass: (x / 255 - mean) / std.

    Args:
        images: uint8 [n, H, W, C], C 1 or 3.
        flip: bool [n], left and right exchanged.
        mean, std: float32, C or 1 values; both empty: no Normalize.
        dtype: float32, float16, bfloat16, or uint8 (the pixels as they are).
        channels_last: Memory order of the result.

    Returns:
        [n, C, H, W]. float32 equals torch's own; the 16-bit types are that, rounded.
    """
    return _tensor(_call("fused_normalize", images, flip, mean, std, dtype, channels_last))


def finish_block(
    arena: Tensor, level: int, block_id: int, block_header_size: int, sizes: Tensor, labels: Tensor
) -> int:
    """Writes the index into a block whose samples are in place, zeros the gaps; the block's CRC-32."""
    return int(_call("finish_block", arena, level, block_id, block_header_size, sizes, labels))


def read_files_into(paths: Sequence[Path], offsets: Tensor, sizes: Tensor, arena: Tensor) -> None:
    """Reads whole files to their places; CorruptFileError when one has another size by now."""
    _call("read_files_into", join_paths(paths), offsets, sizes, arena)


def writer_open(
    path: Path,
    *,
    overwrite: bool,
    level: int,
    is_training: int,
    num_classes: int,
    num_blocks: int,
    block_size: int,
    block_header_size: int,
) -> int:
    """A writer handle; the file is `<path>.partial` until writer_finish."""
    return int(
        _call(
            "writer_open",
            escape(path),
            overwrite,
            level,
            is_training,
            num_classes,
            num_blocks,
            block_size,
            block_header_size,
        )
    )


def writer_write_block(writer: int, block_id: int, arena: Tensor, crc: int, sizes: Tensor) -> None:
    """Thread-safe; blocks in any order, each once."""
    _call("writer_write_block", writer, block_id, arena, crc, sizes)


def writer_add_section(
    writer: int, tag: str, payload: bytes | Tensor, flags: int = 0, raw_bytes: int | None = None
) -> None:
    if not isinstance(payload, Tensor):
        payload = torch.from_numpy(np.frombuffer(bytearray(payload), dtype=np.uint8))
    _call(
        "writer_add_section", writer, tag, payload, flags, payload.numel() if raw_bytes is None else raw_bytes
    )


def writer_finish(writer: int, max_pic_area: int, source_bytes: int) -> None:
    _call("writer_finish", writer, max_pic_area, source_bytes)


def writer_abort(writer: int) -> None:
    """Removes the partial file."""
    _call("writer_abort", writer)


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor from a native op, got {type(value).__name__}")
    return value
