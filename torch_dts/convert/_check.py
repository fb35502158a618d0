# SPDX-License-Identifier: Apache-2.0
"""Looks at every sample before anything is written: sizes, image sizes, what is bad."""

from __future__ import annotations

import errno
import io
import os
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, NamedTuple

import torch
from PIL import Image
from torch import Tensor

from torch_dts import _native
from torch_dts._image_errors import image_reason
from torch_dts._parallel import map_in_order
from torch_dts._paths import display
from torch_dts._progress import Progress
from torch_dts._raw import raw_shape
from torch_dts.convert._levels import mode_reason
from torch_dts.convert._report import BadSample
from torch_dts.convert._samples import OUR_TROUBLE, Samples

_CHUNK = {"header": 512, "decode": 32, "none": 4096}


class _Look(NamedTuple):
    """What a look at an image found."""

    area: int = 0
    is_deep: bool = False
    """More than 8 bits a value: what is above 255 becomes 255 in RGB."""


_Looker = Callable[[IO[bytes]], _Look]


@dataclass
class Checked:
    """What the check found."""

    sizes: Tensor
    """int64 [n] bytes of each sample, -1 where it can't be read."""
    max_area: int = 0
    """Largest width * height seen."""
    num_deep: int = 0
    """Images of more than 8 bits a value."""
    bad: list[BadSample] = field(default_factory=list)
    """In source order."""


@dataclass
class _Chunk:
    """One task's result: samples `start` on."""

    start: int
    sizes: list[int] | Tensor
    max_area: int = 0
    num_deep: int = 0
    bad: list[BadSample] = field(default_factory=list)


def check_samples(
    samples: Samples,
    mode: str,
    num_workers: int,
    progress: bool | None,
    image_modes: frozenset[str] | None = None,
) -> Checked:
    """Checks all samples.

    Args:
        mode: "header": the first bytes must be those of an image that PIL opens;
            "decode": the image must decode to RGB as torchvision's loader does it;
            "none": the file must be there.
        num_workers: Threads.
        image_modes: Pillow's modes that are fine; None: all.

    Raises:
        OSError: Trouble that is not a sample's own, such as too many open files.
    """
    run = {"header": _check_headers, "decode": _check_each, "none": _check_each}[mode]
    look = None if mode == "none" else _make_looker(image_modes, decodes=mode == "decode")
    step = _CHUNK[mode]
    checked = Checked(torch.full((len(samples),), -1, dtype=torch.int64))
    Image.init()  # not left to the threads: loading PIL's plugins is not thread-safe

    with Progress("checking", len(samples), progress) as bar, warnings.catch_warnings():
        # PIL warns of odd metadata, and of images above half of its size limit.
        warnings.simplefilter("ignore")
        for start, chunk in map_in_order(
            lambda start: run(samples, start, min(start + step, len(samples)), look),
            range(0, len(samples), step),
            num_workers,
        ):
            sizes = torch.as_tensor(chunk.sizes, dtype=torch.int64)
            checked.sizes[start : start + sizes.numel()] = sizes
            checked.max_area = max(checked.max_area, chunk.max_area)
            checked.num_deep += chunk.num_deep
            checked.bad += chunk.bad
            bar.add(sizes.numel())
    return checked


def _check_headers(samples: Samples, start: int, stop: int, look: _Looker | None) -> _Chunk:
    if samples.archives is not None:
        rows = samples.archives.probe(start, stop)
    elif not all(samples.files[start:stop]):
        return _check_each(samples, start, stop, look)
    else:
        rows = _native.probe_files(samples.files[start:stop])
    kind, sizes, width, height, components = rows.unbind(1)
    area = width * height
    limit = Image.MAX_IMAGE_PIXELS
    # What is no plain JPEG that PIL is sure to open is PIL's decision.
    fine = (kind == 1) & ((components == 1) | (components == 3) | (components == 4))
    if limit is not None:
        fine &= area <= 2 * limit
    chunk = _Chunk(start, torch.where(kind >= 0, sizes, -1), int(torch.where(fine, area, 0).max()))
    for at in (~fine).nonzero().flatten().tolist():
        one = _check_each(samples, start + at, start + at + 1, look)
        chunk.sizes[at] = one.sizes[0]
        chunk.max_area = max(chunk.max_area, one.max_area)
        chunk.num_deep += one.num_deep
        chunk.bad += one.bad
    return chunk


def _check_each(samples: Samples, start: int, stop: int, look: _Looker | None) -> _Chunk:
    """One sample after the other. `look` raises for a bad image."""
    sizes: list[int] = []
    chunk = _Chunk(start, sizes)
    for i in range(start, stop):
        size, reason = -1, samples.failed.get(i, "")
        if not reason:
            size, reason, found = _check_one(samples, i, look)
            chunk.max_area = max(chunk.max_area, found.area)
            chunk.num_deep += found.is_deep
        sizes.append(size)
        if reason:
            chunk.bad.append(BadSample(samples.path_of(i), i, reason))
    return chunk


def _check_one(samples: Samples, i: int, look: _Looker | None) -> tuple[int, str, _Look]:
    """Size (-1: unreadable), what is wrong ("": nothing) and what was seen of sample i."""
    path = samples.files[i]
    if not path and look is None:
        return samples.size(i), "", _Look()
    if not path:
        data = samples.read(i)
        shape = raw_shape(data) if samples.may_hold_raw else None
        if shape is not None:
            return len(data), "", _Look(shape.height * shape.width)
        return len(data), *_look_at(io.BytesIO(data), len(data), look)
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # opening a FIFO would wait for ever
            return -1, "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file", _Look()
        if look is None:
            return found.st_size, "", _Look()
        with open(path, "rb") as file:
            return found.st_size, *_look_at(file, found.st_size, look)
    except OSError as error:
        if error.errno in OUR_TROUBLE:
            raise
        return -1, _os_reason(path, error), _Look()


def _look_at(file: IO[bytes], size: int, look: _Looker | None) -> tuple[str, _Look]:
    """What is wrong with the image ("": nothing), and what was seen."""
    if look is None:
        return "", _Look()
    if size == 0:
        return "empty (0 bytes)", _Look()
    try:
        return "", look(file)
    except Exception as error:  # PIL's plugins raise nearly anything on damaged files
        if isinstance(error, OSError) and error.errno in OUR_TROUBLE:
            raise
        file.seek(0)
        return image_reason(error, file.read(12)), _Look()


def _make_looker(image_modes: frozenset[str] | None, decodes: bool) -> _Looker:
    """Opens an image, and decodes it if asked for."""

    def look(file: IO[bytes]) -> _Look:
        with Image.open(file) as image:
            if image_modes is not None and image.mode not in image_modes:
                raise OSError(mode_reason(image.mode))
            # Pillow's modes I;16, I;16B, I and F; all others have 8 bits or fewer.
            seen = _Look(image.width * image.height, image.mode[0] in "IF")
            if decodes:
                image.convert("RGB")
            return seen

    return look


def _os_reason(path: str, error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.ENOENT and os.path.islink(path):
        return f"{reason}: a symlink to {display(os.readlink(path))!r}"
    return reason
