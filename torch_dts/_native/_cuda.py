# SPDX-License-Identifier: Apache-2.0
"""The CUDA module, which is loaded when something on a GPU is first asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import torch

from torch_dts._native._call import call

STATEFUL_OPS = ("cuda_pci_bus_id", "cuda_lock_memory", "cuda_unlock_memory")

_MODULE = "torch_dts._C_cuda"


def is_cuda_built() -> bool:
    """Whether there is a module of CUDA kernels; it is not loaded."""
    return importlib.util.find_spec(_MODULE) is not None


def cuda_problem() -> str:
    """Why CUDA tensors can't be worked on here, and what to do about it; "" where they can."""
    if torch.version.cuda is None:
        return (
            f"the installed torch ({torch.__version__}) has no CUDA: install a build of torch with CUDA, "
            "then build torch_dts anew"
        )
    if _MODULE in sys.modules:
        return ""
    if not is_cuda_built():
        return (
            "torch_dts was built without its CUDA kernels: build it again where nvcc of CUDA "
            f"{torch.version.cuda.split('.')[0]} is found (CUDA_HOME; TORCH_DTS_CUDA=1 says what is missing)"
        )
    try:
        importlib.import_module(_MODULE)
    except ImportError as error:
        return f"torch_dts's CUDA kernels could not be loaded ({error}): build it anew beside this torch"
    return ""


def cuda_pci_bus_id(device: int) -> str:
    """Where a CUDA device is, e.g. "0000:3b:00.0"; its number counts those that are visible.

    Raises:
        RuntimeError: There is no such device.
    """
    load_cuda()
    return str(call("cuda_pci_bus_id", device))


def load_cuda() -> None:
    """Makes the CUDA kernels of the ops known.

    Raises:
        RuntimeError: There are none, or they don't fit to this torch; with what to do.
    """
    problem = cuda_problem()
    if problem:
        raise RuntimeError(problem)
