# SPDX-License-Identifier: Apache-2.0
"""A worker process that exports images with Pillow; `_pillow_process.py` is its other end.

Run as a script, so that it starts in a tenth of a second and loads Pillow only.

    in:  u32 length, JSON {path, files, limits}              out: u32 length, JSON {pillow}
    in:  u32 level, u32 max_size, u32 is_raw, u32 count,
         count u64 sizes, bytes                              out: count (u32 ok, u64 size), bytes

An image that fails gives ok 0 and a reason in place of its bytes. The end of the input ends it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
import warnings
from typing import Any, BinaryIO


def main() -> None:
    """Serves requests until stdin ends."""
    source = os.fdopen(os.dup(0), "rb")
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    hello = json.loads(read_exact(source, *struct.unpack("<I", read_exact(source, 4))))
    levels, raw = load_levels(hello), load_file("raw", hello["raw"])
    answer = json.dumps({"pillow": levels.Image.__version__}).encode()
    target.write(struct.pack("<I", len(answer)) + answer)
    target.flush()
    while head := source.read(16):
        level, max_size, is_raw, count = struct.unpack("<IIII", head)
        sizes = struct.unpack(f"<{count}Q", read_exact(source, 8 * count))
        results = [
            export(levels, raw if is_raw else None, read_exact(source, size), level, max_size)
            for size in sizes
        ]
        target.write(b"".join(struct.pack("<IQ", ok, len(data)) for ok, data in results))
        for _, data in results:
            target.write(data)
        target.flush()


def load_levels(hello: dict[str, Any]) -> Any:
    """The module with `export_image`, with the parent's import path and Pillow's limits set."""
    sys.path[:] = hello["path"]
    levels = load_file("levels", hello["levels"])
    from PIL import ImageFile

    levels.Image.MAX_IMAGE_PIXELS = hello["max_image_pixels"]
    ImageFile.LOAD_TRUNCATED_IMAGES = hello["load_truncated_images"]
    warnings.simplefilter("ignore")
    return levels


def load_file(name: str, path: str) -> Any:
    """A Python file as a module by itself, without the package around it."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def export(levels: Any, raw: Any, data: bytes, level: int, max_size: int) -> tuple[int, bytes]:
    """(1, JPEG, or pixels where `raw` is the module for them) or (0, reason)."""
    try:
        if raw is None:
            return 1, levels.export_image(data, level, max_size)
        return 1, raw.raw_sample(levels.export_pixels(data, level, max_size, is_raw=True))
    except MemoryError:
        raise
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged files
        return 0, f"{type(error).__name__}: {error}".encode("utf-8", "replace")


def read_exact(source: BinaryIO, size: int) -> bytes:
    """`size` bytes; EOFError where the input ends before."""
    data = source.read(size)
    if len(data) != size:
        raise EOFError(f"{len(data)} of {size} bytes")
    return data


if __name__ == "__main__":
    main()
