# SPDX-License-Identifier: Apache-2.0
"""Writing a picture to a file that appears when it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence

from PIL import Image

from torch_dts._paths import display

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP", ".tiff": "TIFF"}


def check_image_target(path: str, overwrite: bool, sources: Sequence[str]) -> str:
    """Checks, before any work, where a picture is to be written; "~" is expanded.

    Args:
        path: As given by the user.
        sources: Files that must not be replaced.

    Returns:
        The path.

    Raises:
        ValueError: The ending names no format; it is one of `sources`, or no regular file.
        FileExistsError: It exists and overwrite is False.
        OSError: There is no such folder.
    """
    target = os.path.expanduser(path)
    _format_of(target)
    folder = os.path.dirname(target) or os.curdir
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder for the picture", display(folder))
    try:
        state = os.stat(target)
    except FileNotFoundError:
        if os.path.islink(target):
            raise ValueError(f"{display(target)} is a link to nowhere and is left alone") from None
        return target
    for source in sources:
        if os.path.samestat(state, os.stat(source)):
            raise ValueError(f"the picture would overwrite {display(source)}, which it shows")
    if not stat.S_ISREG(state.st_mode):
        raise ValueError(f"{display(target)} is not a regular file and is left alone")
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "exists; --overwrite replaces it", display(target))
    return target


def write_image(image: Image.Image, target: str) -> None:
    """Writes the picture, in the format of the ending; whatever happens, nothing half-written stays.

    Raises:
        OSError: The disk is full or refuses.
        ValueError: The picture is too large for the format.
    """
    descriptor, partial = tempfile.mkstemp(
        prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target) or os.curdir
    )
    # Not only Exception: Ctrl-C must leave nothing behind either.
    try:
        with os.fdopen(descriptor, "wb") as file:
            image.save(file, _format_of(target))
        # mkstemp lets nobody else read it.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def _format_of(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _FORMATS:
        raise ValueError(
            f"{display(path)} ends in {display(ending)!r}, expected the ending of a picture: "
            + ", ".join(_FORMATS)
        )
    return _FORMATS[ending]
