# SPDX-License-Identifier: Apache-2.0
"""The argument ``backend`` of a loader, and what it comes to."""

from __future__ import annotations

from typing import Literal

Backend = Literal["auto", "cpu", "dali"]
BACKENDS = ("auto", "cpu", "dali")


def chosen_backend(backend: Backend) -> Literal["cpu", "dali"]:
    """What ``backend="auto"`` stands for: the decoder whose pixels are Pillow's own."""
    return "cpu" if backend == "auto" else backend
