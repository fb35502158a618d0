# SPDX-License-Identifier: Apache-2.0
"""The argument ``device`` of a loader, and what a CUDA device needs of it."""

from __future__ import annotations

from typing import Any

import torch

from torch_dts import _native
from torch_dts.loader._cuda_calls import CudaCalls, StageCalls

Device = torch.device | str | int


def check_device(device: Any) -> torch.device | None:
    """A loader's `device`: None for the CPU; the number of a CUDA device may be open.

    Raises:
        TypeError: It is no device.
        ValueError: torch does not know it, or it is neither a CPU nor CUDA.
        RuntimeError: CUDA does not run here; with what to do.
    """
    if device is None:
        return None
    if isinstance(device, bool) or not isinstance(device, Device):
        raise TypeError(f"device is {device!r}, expected a torch.device, its name, its number or None")
    try:
        found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    except RuntimeError as error:  # torch's words don't say where it came from
        words = (str(error).splitlines() or [""])[0]
        raise ValueError(f"device is {device!r}, which torch does not know: {words}") from None
    if found.type == "cpu":
        return None
    if found.type != "cuda":
        raise ValueError(f"device is {device!r}, expected the CPU or a CUDA device")
    check_cuda(found)
    return found


def check_padding(pad_channels: Any, is_on_cpu: bool) -> None:
    """Raises ValueError for a `pad_channels` that a loader can't do."""
    if pad_channels is None:
        return
    if type(pad_channels) is not int or pad_channels != 4:
        raise ValueError(f"pad_channels is {pad_channels!r}, expected None or 4")
    if is_on_cpu:
        raise ValueError("pad_channels=4 is for CUDA devices: give device as well, or leave it out")


def check_cuda(device: torch.device) -> None:
    """Checks that a CUDA device can be used.

    Raises:
        RuntimeError: It can't, and why.
    """
    problem = _native.cuda_problem()
    if not problem and not torch.cuda.is_available():
        problem = (
            "torch finds no CUDA device: there is none, its driver is missing or too old, or "
            "CUDA_VISIBLE_DEVICES hides it"
        )
    if not problem and device.index is not None and device.index >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        problem = f"there are {count} CUDA devices, expected a number below {count}"
    if problem:
        raise RuntimeError(f"device is '{device}', but {problem}")


def numbered(device: torch.device) -> torch.device:
    """The device with its number: "cuda" is the one that is torch's current device now."""
    return device if device.index is not None else torch.device("cuda", torch.cuda.current_device())


def pci_bus_id(device: torch.device) -> str:
    """Where a device is, as the kernel names it; "" where CUDA does not say."""
    try:
        return _native.cuda_pci_bus_id(numbered(device).index)
    except RuntimeError:  # no reason not to train
        return ""


def calls_for(device: torch.device) -> StageCalls:
    """How to ask a device."""
    return CudaCalls(numbered(device))
