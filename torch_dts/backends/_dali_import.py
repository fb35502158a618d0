# SPDX-License-Identifier: Apache-2.0
"""Importing DALI, late, and what to install where it is missing."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
from functools import cache
from typing import Any, NamedTuple

from torch_dts._exit import the_exit

_INSTALL = (
    "install it with 'pip install torch-dts[dali-cuda130]' (nvidia-dali-cuda130, for torch built for "
    "CUDA 13 or for the CPU alone) or 'pip install torch-dts[dali]' (nvidia-dali-cuda120, for torch built "
    "for CUDA 12)"
)


class Dali(NamedTuple):
    """DALI's modules.

    Attributes:
        fn, types, tensors: ``nvidia.dali.fn``, ``nvidia.dali.types`` and ``nvidia.dali.tensors``.
        pipeline: ``nvidia.dali.Pipeline``.
    """

    fn: Any
    types: Any
    tensors: Any
    pipeline: Any


def require_dali() -> None:
    """Looks whether DALI is installed, without importing it.

    Raises:
        ImportError: It isn't; the text says what to install.
    """
    try:
        is_there = importlib.util.find_spec("nvidia.dali") is not None
    except ModuleNotFoundError:  # nothing of NVIDIA's is installed
        is_there = False
    if not is_there:
        raise ImportError(f"backend='dali' needs NVIDIA DALI, which is not installed: {_INSTALL}")


@cache
def import_dali() -> Dali:
    """DALI's modules; the first call takes about a second.

    Raises:
        ImportError: DALI is missing, or can't be loaded.
    """
    require_dali()
    try:
        dali = Dali(
            importlib.import_module("nvidia.dali.fn"),
            importlib.import_module("nvidia.dali.types"),
            importlib.import_module("nvidia.dali.tensors"),
            importlib.import_module("nvidia.dali").Pipeline,
        )
        # DALI tears its pipelines down when the interpreter ends. What is registered last is
        # called first: loaders end before that.
        atexit.unregister(the_exit.begin)
        atexit.register(the_exit.begin)
        return dali
    except (ImportError, OSError) as error:
        raise ImportError(
            f"backend='dali': DALI is installed, but it can't be loaded ({error}); {_INSTALL}"
        ) from error
