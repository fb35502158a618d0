# SPDX-License-Identifier: Apache-2.0
"""The native module: each op of ``torch.ops.torch_dts`` as a function with types.

Tensors are int64 or uint8, contiguous, on the CPU, unless said otherwise. All ops release the
GIL. The one place where the core's errors become Python's: IoError -> OSError with errno and
file name, CorruptFile -> CorruptFileError.
"""

from torch_dts._native import _file, _image, _loader, _order, _pixel, _plan, _source, _transcode, _write
from torch_dts._native._call import translate_error
from torch_dts._native._file import (
    check_blocks,
    crc32,
    crc32_backend,
    file_block_table,
    file_check_unchanged,
    file_close,
    file_crc,
    file_describe,
    file_head,
    file_labels,
    file_open,
    file_sample_table,
    file_section,
    index_samples,
    read_blocks,
    read_samples,
)
from torch_dts._native._image import (
    DECODE_STATUS,
    decode_crop_resize,
    fused_normalize,
    jpeg_library,
    probe_files,
    scan_samples,
)
from torch_dts._native._loader import (
    LoaderStats,
    loader_append,
    loader_close,
    loader_finish,
    loader_next,
    loader_open,
    loader_start,
    loader_stats,
    loader_stop,
    loader_take_foreign,
    loader_waiting,
)
from torch_dts._native._order import (
    EPOCH_BOARD_WORDS,
    block_order,
    claim_epoch,
    pack_samples,
    packing_bound,
    rank_runs,
    sample_order,
    set_next_epoch,
)
from torch_dts._native._pixel import (
    pixel_writer_abort,
    pixel_writer_finish,
    pixel_writer_open,
    pixel_writer_write,
    read_pixels,
)
from torch_dts._native._plan import choose_seed, run_plan
from torch_dts._native._source import (
    SourceInfo,
    buffers_close,
    buffers_open,
    source_close,
    source_dts,
    source_files,
    source_info,
    source_join,
    source_keep,
    source_pixels,
    source_read,
    source_samples,
)
from torch_dts._native._transcode import (
    AUTO_RESTART_INTERVAL,
    NO_RESTART_MARKERS,
    TRANSCODE_STATUS,
    export_jpegs,
    transcode_jpegs,
)
from torch_dts._native._write import (
    finish_block,
    read_files_into,
    writer_abort,
    writer_add_section,
    writer_finish,
    writer_open,
    writer_write_block,
)

# Every op is in exactly one of the two (a test checks it). Tensor ops are pure functions
# with a fake kernel, usable under torch.compile; the others hold handles, touch files or
# shared memory, or return Python numbers, and are not to be traced.
TENSOR_OPS = (*_order.TENSOR_OPS, *_image.TENSOR_OPS, *_plan.TENSOR_OPS, *_transcode.TENSOR_OPS)
STATEFUL_OPS = (
    *_file.STATEFUL_OPS,
    *_order.STATEFUL_OPS,
    *_image.STATEFUL_OPS,
    *_source.STATEFUL_OPS,
    *_pixel.STATEFUL_OPS,
    *_loader.STATEFUL_OPS,
    *_write.STATEFUL_OPS,
)

__all__ = [
    "AUTO_RESTART_INTERVAL",
    "DECODE_STATUS",
    "EPOCH_BOARD_WORDS",
    "NO_RESTART_MARKERS",
    "STATEFUL_OPS",
    "TENSOR_OPS",
    "TRANSCODE_STATUS",
    "LoaderStats",
    "SourceInfo",
    "block_order",
    "buffers_close",
    "buffers_open",
    "check_blocks",
    "choose_seed",
    "claim_epoch",
    "crc32",
    "crc32_backend",
    "decode_crop_resize",
    "export_jpegs",
    "file_block_table",
    "file_check_unchanged",
    "file_close",
    "file_crc",
    "file_describe",
    "file_head",
    "file_labels",
    "file_open",
    "file_sample_table",
    "file_section",
    "finish_block",
    "fused_normalize",
    "index_samples",
    "jpeg_library",
    "loader_append",
    "loader_close",
    "loader_finish",
    "loader_next",
    "loader_open",
    "loader_start",
    "loader_stats",
    "loader_stop",
    "loader_take_foreign",
    "loader_waiting",
    "pack_samples",
    "packing_bound",
    "pixel_writer_abort",
    "pixel_writer_finish",
    "pixel_writer_open",
    "pixel_writer_write",
    "probe_files",
    "rank_runs",
    "read_blocks",
    "read_files_into",
    "read_pixels",
    "read_samples",
    "run_plan",
    "sample_order",
    "scan_samples",
    "set_next_epoch",
    "source_close",
    "source_dts",
    "source_files",
    "source_info",
    "source_join",
    "source_keep",
    "source_pixels",
    "source_read",
    "source_samples",
    "transcode_jpegs",
    "translate_error",
    "writer_abort",
    "writer_add_section",
    "writer_finish",
    "writer_open",
    "writer_write_block",
]
