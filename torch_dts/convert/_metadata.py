# SPDX-License-Identifier: Apache-2.0
"""Content of the sections that conversion writes (docs/format.md, section 6).

INFO JSON | CLSS class names | LABL labels by source index | ORDR source index by
stored index | PATH relative paths by source index
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torch_dts._version import __version__

PATHS_PER_CHUNK = 65_536
# Section flag: the stored bytes are one zlib stream.
SECTION_ZLIB = 1
_ZLIB_LEVEL = 6


def encode_info(
    *,
    kind: str,
    num_listed: int,
    num_skipped: int,
    num_encoded: int,
    bytes_kept: bool,
    order: str,
    seed: int,
    check: str,
    encoding: str = "jpeg",
    level: int = 0,
    restart_interval: str | int | None = None,
    metadata: str = "needed",
    encoder: str | None = None,
    kept_original: Mapping[str, int] | None = None,
    compat: bool = False,
    raw: Mapping[str, int | float] | None = None,
) -> bytes:
    """INFO of a file of blocks: what shaped the result, nothing that differs between two runs.

    Args:
        num_encoded: Samples of the file that were PIL images and became PNG.
        encoding: As `torch_dts.convert` got it.
        bytes_kept: Every sample has the bytes of its original file.
        encoder: What made the bytes, with its version; None: they are the source's.
        compat: Order and packing are those of the format's first exporter, or as near as can be.
        raw: max_size, raw_fraction and raw_max_pixels, those that were given.
        kept_original: Samples that kept their bytes though others were encoded anew, by reason.
    """
    info: dict[str, Any] = {
        "writer": f"torch_dts {__version__}",
        "level": level,
        "bytes_kept": bytes_kept,
        "encoding": encoding,
        "encoder": encoder,
        "restart_interval": restart_interval,
        "source": {
            "kind": kind,
            "num_samples": num_listed,
            "num_skipped": num_skipped,
            "num_encoded": num_encoded,
        },
        "order": order,
        "seed": seed,
        "check": check,
    }
    info.update(raw or {})
    if encoder is not None and level == 0:
        info["metadata"] = metadata
        info["kept_original"] = dict(kept_original or {})
    if compat:
        info["compat"] = True
    return json.dumps(info, sort_keys=True, separators=(",", ":")).encode()


def add_set(info: bytes, identity: str) -> bytes:
    """INFO of a volume: that of the set, and the set's id."""
    return json.dumps({**json.loads(info), "set": identity}, sort_keys=True, separators=(",", ":")).encode()


def encode_classes(classes: Sequence[str]) -> bytes:
    """CLSS: u32 count, then per class u16 length and that many file-system bytes."""
    parts = [struct.pack("<I", len(classes))]
    for name in classes:
        data = os.fsencode(name)
        parts.append(struct.pack("<H", len(data)) + data)
    return b"".join(parts)


def encode_labels(labels: Tensor) -> tuple[bytes, int]:
    """LABL: i32 a sample, as one zlib stream. Returns the stream and its raw bytes."""
    raw = _int32_bytes(labels)
    return zlib.compress(raw, _ZLIB_LEVEL), len(raw)


def encode_order(order: Tensor) -> bytes:
    """ORDR: u32 source index a stored sample (at most 2**30 samples)."""
    return _int32_bytes(order)


def encode_paths(names: Sequence[str]) -> bytes:
    """PATH: u32 end of each chunk's stream, then one zlib stream per 65 536 paths."""
    streams = []
    for start in range(0, len(names), PATHS_PER_CHUNK):
        joined = "\0".join(names[start : start + PATHS_PER_CHUNK]) + "\0"
        streams.append(zlib.compress(os.fsencode(joined), _ZLIB_LEVEL))
    ends = []
    end = 0
    for stream in streams:
        end += len(stream)
        ends.append(end)
    if end >= 1 << 32:
        raise ValueError(f"the paths of {len(names)} samples take {end} bytes, at most {(1 << 32) - 1} fit")
    return struct.pack(f"<{len(ends)}I", *ends) + b"".join(streams)


def _int32_bytes(values: Tensor) -> bytes:
    """Little-endian 32-bit words."""
    words = values.to(torch.int32).contiguous().numpy()
    return words.tobytes() if sys.byteorder == "little" else words.byteswap().tobytes()
