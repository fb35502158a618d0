# SPDX-License-Identifier: Apache-2.0
"""What a loader says of itself: its arguments beyond torch's as attributes, and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import torch

from torch_dts.backends._choice import Backend, chosen_backend
from torch_dts.datasets._shares import Uneven
from torch_dts.datasets._stream import ShuffleWindow
from torch_dts.file._arguments import Verify, check_callable
from torch_dts.loader._arguments import LoaderDecode, OnError, Options, refuse_for_bytes
from torch_dts.loader._batch_plan import LastBatch
from torch_dts.loader._cuda_device import check_device
from torch_dts.loader._datasets import with_transform
from torch_dts.loader._devices import Device, check_devices
from torch_dts.loader._elastic import OrderKind
from torch_dts.loader._memory import Mode
from torch_dts.transforms._plan import Decoder

_FIXED = frozenset(field.name for field in fields(Options)) | {"shuffle", "share_buffers_with"}


class LoaderAttributes:
    """The arguments of a loader, which DataLoader explains."""

    dataset: Any
    batch_size: int | None
    num_workers: int
    transform: Callable[[Any], Any] | None
    seed: int | None
    mode: Mode
    shuffle_window: ShuffleWindow | None
    reproducible: bool
    decode: LoaderDecode
    dtype: torch.dtype | None
    memory_format: torch.memory_format | None
    return_index: bool
    on_error: OnError
    verify: Verify
    num_replicas: int | None
    rank: int | None
    distributed: bool
    uneven: Uneven
    last_batch: LastBatch
    order: OrderKind
    return_mask: bool | None
    views: int
    repeat: int
    device: torch.device | None
    devices: Sequence[Device] | None
    pad_channels: int | None
    static_buffers: bool
    backend: Backend
    reader_threads: int | None
    pin_threads: bool
    decoder: Decoder
    _is_complete = False

    def __setattr__(self, name: str, value: Any) -> None:
        """As any attribute's, but an argument beyond torch's stays as it was given.

        Most are used up when the loader is made, others are checked there: a change would be lost
        without a word. torch refuses its `batch_size` and the like in the same way.

        Raises:
            ValueError: It is such an argument.
        """
        if self._is_complete and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized: "
                + ("set_transform() changes it" if name == "transform" else "make another loader")
            )
        super().__setattr__(name, value)

    def _take(self, options: Options) -> None:
        """Makes attributes of the options."""
        for field in fields(options):
            setattr(self, field.name, getattr(options, field.name))
        self.device = check_device(options.device)
        self.devices = check_devices(options.devices)

    def set_transform(self, transform: Callable[[Any], Any] | None) -> None:
        """From the next ``iter()`` on this transform is used (progressive resizing).

        Args:
            transform: None: the dataset's own.

        Raises:
            TypeError: It can't be called.
            ValueError: The dataset has no attribute ``transform``; ``decode="none"`` uses none.
        """
        check_callable("transform", transform)
        if self.decode == "none":
            refuse_for_bytes(Options(transform=transform))
        if transform is not None:
            with_transform(self.dataset, transform)
        self.__dict__["transform"] = transform

    def effective_dataset(self) -> Any:
        """The dataset with the loader's transform."""
        return self.dataset if self.transform is None else with_transform(self.dataset, self.transform)

    def check_worker_number_rationality(self) -> None:
        """Nothing to warn of: more threads than CPUs do no harm, unlike torch's processes."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({type(self.dataset).__name__} of {_length(self.dataset)}, "
            f"batch_size={self.batch_size}, num_workers={self.num_workers}, "
            f"backend={chosen_backend(self)!r}{self._where()}{self._how()})"
        )

    def _where(self) -> str:
        return "" if self.device is None else f", device='{self.device}'"

    def _how(self) -> str:
        return "" if self.decode == "exact" else f", decode={self.decode!r}"


def _length(dataset: Any) -> str:
    try:
        return f"{len(dataset)} samples"
    except TypeError:
        return "any number of samples"
