# SPDX-License-Identifier: Apache-2.0
"""What differs between versions of Pillow and shows in pixels, and its limit of their number."""

from __future__ import annotations

import re

import PIL
from PIL import Image


def resize_pass_order() -> int:
    """Which of its two passes the installed Pillow's resize does first (csrc/core/image/resample.h)."""
    found = re.match(r"(\d+)\.(\d+)", PIL.__version__)
    version = (int(found[1]), int(found[2])) if found else (13, 0)
    return 0 if version < (12, 2) else 1 if version < (13, 0) else 2


def max_image_pixels() -> int:
    """Pixels above which Pillow warns, and above twice as many refuses, as set now; -1: never."""
    limit = Image.MAX_IMAGE_PIXELS
    return -1 if limit is None else max(1, int(limit))
