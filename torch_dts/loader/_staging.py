# SPDX-License-Identifier: Apache-2.0
"""The stages of a loader: which batches go to which device, and how its epochs use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from torch_dts.loader import _cuda_device
from torch_dts.loader._cuda_stage import Stage
from torch_dts.loader._delivery import Delivery
from torch_dts.loader._engine import EngineOptions
from torch_dts.loader._pinning import cpus_near
from torch_dts.loader._static_buffers import StaticBuffers
from torch_dts.transforms._plan import Plan, check_decode
from torch_dts.transforms._split import Tail, split_plans
from torch_dts.transforms._views import encode_views

if TYPE_CHECKING:
    from torch_dts.loader._data_loader import DataLoader


class Split(NamedTuple):
    """What native threads run for a stage, and what is left to it.

    Attributes:
        plan: As text.
        tails: Of each view.
    """

    plan: str
    tails: Sequence[Tail]


class Staging:
    """Stages and static buffers of one loader, kept from epoch to epoch."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, torch.device], Stage] = {}
        self._static: dict[int, StaticBuffers] = {}  # of each place among the devices

    def stages(self, loader: DataLoader) -> list[Stage | None]:
        """The stage of each device that the loader feeds; None: batches stay on the CPU.

        Raises:
            RuntimeError: CUDA does not run here.
        """
        devices: Sequence[Any] = [loader.device] if loader.devices is None else loader.devices
        stages: list[Stage | None] = []
        for place, device in enumerate(devices):
            found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device or "cpu")
            if found.type != "cuda":
                stages.append(None)
                continue
            if loader.devices is not None:
                _cuda_device.check_cuda(found)
            found = _cuda_device.numbered(found)
            if (place, found) not in self._stages:
                pads, static = loader.pad_channels or 0, loader.static_buffers
                self._stages[place, found] = Stage(_cuda_device.calls_for(found), pads, static)
            stages.append(self._stages[place, found])
        return stages

    def static(self, loader: DataLoader, pins_memory: bool, place: int = 0) -> StaticBuffers | None:
        """The tensors that all batches for a device on the CPU come in, where the loader wants that.

        Args:
            loader: Whose batches they are.
            pins_memory: See StaticBuffers.
            place: The device's, in the loader's `devices`.
        """
        if not loader.static_buffers or loader.device is not None:
            return None
        return self._static.setdefault(place, StaticBuffers(pins_memory))

    def finisher(self, loader: DataLoader) -> Callable[[Any], Any] | None:
        """What becomes of the batches that Python makes; None: nothing.

        Raises:
            ValueError: They can't be padded.
        """
        if loader.pad_channels:
            raise ValueError(
                "pad_channels=4 needs a data set and a transform that native code reads: leave it out"
            )
        stage = None if loader.device is None else self.stages(loader)[0]
        if stage is not None:
            stage.begin(())
            return stage.finish
        static = self.static(loader, loader.pin_memory and torch.accelerator.is_available())
        return None if static is None else static.write

    def close(self) -> None:
        """Waits for the devices, and lets go of what was held for them."""
        for stage in self._stages.values():
            stage.close()
        self._stages.clear()


def split_for(
    loader: DataLoader, plans: Sequence[Plan], delivery: Delivery, options: EngineOptions
) -> Split | None:
    """How the work is shared with a stage; None: batches are made on the CPU and copied.

    Raises:
        ValueError: `pad_channels` needs a stage that makes the values.
    """
    parts = None
    if options.dali is None and delivery.is_plain:
        parts = split_plans(plans, loader.dtype, loader.memory_format)
    if parts is not None and (not loader.pad_channels or all(tail.channels == 3 for tail in parts[1])):
        plan = encode_views(
            parts[0],
            torch.uint8,
            torch.channels_last,
            loader.repeat,
            loader.decoder,
            check_decode(loader.decode),
        )
        return Split(plan, parts[1] * loader.repeat)
    if loader.pad_channels:
        raise ValueError(
            "pad_channels=4 needs backend='cpu', torch's own collate_fn, batches, and a transform that gives "
            "floats of three channels and erases by values: leave pad_channels out"
        )
    return None


def near_device(
    options: EngineOptions, stage: Stage | None, num_all_workers: int, first: int, step: int
) -> EngineOptions:
    """The options of an engine that works for a stage: its memory, and its threads, beside the device.

    Args:
        options: As they are for the CPU.
        stage: None: for the CPU.
        num_all_workers: Of all engines.
        first, step: The engine's workers are first, first + step, ... of them.
    """
    if stage is None or options.dali is not None or stage.device.type != "cuda":
        return options
    bus_id = _cuda_device.pci_bus_id(stage.device)
    cpus = cpus_near(bus_id, num_all_workers)[first::step] if options.cpus else ()
    return options._replace(device=stage.device.index, pci_bus_id=bus_id, cpus=cpus)
