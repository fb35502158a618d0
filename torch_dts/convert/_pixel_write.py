# SPDX-License-Identifier: Apache-2.0
"""Writes a pixel set as a .dts file."""

from __future__ import annotations

import contextlib
import json

from torch_dts import _native
from torch_dts._progress import Progress
from torch_dts._version import __version__
from torch_dts.convert._arguments import Options
from torch_dts.convert._metadata import encode_classes
from torch_dts.convert._pixel_sets import PixelSet
from torch_dts.convert._stats import PixelStats


def refuse_block_arguments(options: Options, block_size: object) -> None:
    """Raises ValueError for arguments that a pixel file has no use for; `block_size`: as given."""
    for name, value, is_given in (
        ("block_size", block_size, block_size is not None),
        ("num_volumes", options.num_volumes, options.num_volumes > 1),
    ):
        if is_given:
            what = "has no blocks" if name == "block_size" else "is one file"
            raise ValueError(
                f"{name}={value} has no meaning for a pixel file, which {what}: leave it out, or pass "
                "encoding='png' to store the images in blocks"
            )
    is_recoded = options.level or options.restart_interval is not None or options.raw.max_size
    if is_recoded or options.resume or options.compat:
        raise ValueError(
            "level, max_size, restart_interval, resume and compat have no meaning for a pixel file, "
            "whose pixels are kept as they are: leave them out"
        )


def write_pixel_set(
    target: str,
    pixels: PixelSet,
    *,
    kind: str,
    is_val: bool,
    overwrite: bool,
    progress: bool | None,
    has_stats: bool = False,
) -> None:
    """Writes the file; it appears under its name when it is complete.

    Args:
        kind: Type of the source, for the file's INFO.
        is_val: What the header says that the set is for.
        has_stats: Whether the header says mean and std of the pixels.

    Raises:
        FileExistsError: `target` exists and `overwrite` is False.
        OSError: The file can't be written.
    """
    height, width, channels = pixels.shape
    writer = _native.pixel_writer_open(
        target,
        overwrite=overwrite,
        dataset_type=pixels.dataset_type,
        is_training=not is_val,
        num_classes=len(pixels.classes),
        num_samples=pixels.labels.numel(),
        height=height,
        width=width,
        channels=channels,
    )
    stats = PixelStats() if has_stats else None
    # Not only Exception: Ctrl-C must leave nothing behind either.
    try:
        with Progress("writing", pixels.num_bytes, progress, is_bytes=True) as bar:
            for piece in pixels.pieces():
                _native.pixel_writer_write(writer, piece)
                if stats is not None:
                    stats.add_pixels(piece, channels)
                bar.add(piece.numel())
        if stats is not None:
            _native.pixel_writer_set_normalization(writer, *stats.finish())
        info = encode_info(pixels.name, kind, pixels.labels.numel())
        _native.pixel_writer_finish(writer, pixels.labels, info, encode_classes(pixels.classes))
    except BaseException:
        # Unknown by now when Ctrl-C came just after the file was finished: then it stays, whole.
        with contextlib.suppress(ValueError):
            _native.pixel_writer_abort(writer)
        raise


def encode_info(name: str, kind: str, num_samples: int) -> bytes:
    """INFO of a pixel file: what shaped the result, nothing that differs between two runs."""
    info = {
        "writer": f"torch_dts {__version__}",
        "level": 0,
        "bytes_kept": True,
        "encoding": "pixels",
        "encoder": None,
        "restart_interval": None,
        "name": name,
        "source": {"kind": kind, "num_samples": num_samples, "num_skipped": 0, "num_encoded": 0},
        "order": "source",
    }
    return json.dumps(info, sort_keys=True, separators=(",", ":")).encode()
